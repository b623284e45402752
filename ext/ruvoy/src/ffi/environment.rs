//! Changes the process's environment.

/// Sets an environment variable. To be called when the module is loaded: Envoy's threads, which
/// could read the environment at the same time, do not run yet.
pub fn set(name: &str, value: &str) {
    // SAFETY: by this function's contract no other thread reads the environment meanwhile.
    unsafe { std::env::set_var(name, value) }
}
