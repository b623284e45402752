//! The macros that a module declares itself with, and the logging macros.

/// Declares a module that is an HTTP filter.
///
/// The first argument is a [`ProgramInitFunction`](crate::ProgramInitFunction), the second a
/// [`NewHttpFilterConfigFunction`](crate::NewHttpFilterConfigFunction).
///
/// ```
/// use envoy_proxy_dynamic_modules_rust_sdk::*;
///
/// declare_init_functions!(init, new_config);
///
/// fn init() -> bool {
///     true
/// }
///
/// fn new_config<EC: EnvoyHttpFilterConfig, EHF: EnvoyHttpFilter>(
///     _envoy_filter_config: &mut EC,
///     _name: &str,
///     _config: &[u8],
/// ) -> Option<Box<dyn HttpFilterConfig<EHF>>> {
///     Some(Box::new(Config))
/// }
///
/// struct Config;
///
/// impl<EHF: EnvoyHttpFilter> HttpFilterConfig<EHF> for Config {}
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! declare_init_functions {
    ($f:ident, $new_http_filter_config_fn:expr) => {
        $crate::declare_all_init_functions!($f, http: $new_http_filter_config_fn);
    };
}

/// Declares a module that is a bootstrap extension.
///
/// The first argument is a [`ProgramInitFunction`](crate::ProgramInitFunction), the second a
/// [`NewBootstrapExtensionConfigFunction`](crate::NewBootstrapExtensionConfigFunction).
#[macro_export]
macro_rules! declare_bootstrap_init_functions {
    ($f:ident, $new_bootstrap_extension_config_fn:expr) => {
        $crate::declare_all_init_functions!($f, bootstrap: $new_bootstrap_extension_config_fn);
    };
}

/// Declares a module that is several things at once: `http: …`, `bootstrap: …`.
///
/// ```
/// # use envoy_proxy_dynamic_modules_rust_sdk::*;
/// declare_all_init_functions!(init, http: new_http_config, bootstrap: new_bootstrap_config);
/// # fn init() -> bool { true }
/// # fn new_http_config<EC: EnvoyHttpFilterConfig, EHF: EnvoyHttpFilter>(
/// #     _: &mut EC, _: &str, _: &[u8],
/// # ) -> Option<Box<dyn HttpFilterConfig<EHF>>> { None }
/// # fn new_bootstrap_config(
/// #     _: &mut dyn EnvoyBootstrapExtensionConfig, _: &str, _: &[u8],
/// # ) -> Option<Box<dyn BootstrapExtensionConfig>> { None }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! declare_all_init_functions {
    ($f:ident, $($kind:ident : $factory:expr),+ $(,)?) => {
        /// Called by Envoy when it has loaded the module; answers the ABI's version.
        #[unsafe(no_mangle)]
        pub extern "C" fn envoy_dynamic_module_on_program_init() -> *const ::std::os::raw::c_char {
            $crate::program_init(|| {
                $($crate::declare_all_init_functions!(@register $kind : $factory);)+
                $f()
            })
        }
    };
    (@register http : $factory:expr) => {
        // A second load of the same module finds its own factory: that is fine.
        let _ = $crate::NEW_HTTP_FILTER_CONFIG_FUNCTION.set($factory);
    };
    (@register bootstrap : $factory:expr) => {
        let _ = $crate::NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION.set($factory);
    };
}

/// Logs to Envoy's log, component `dynamic_modules`; formats only if the level is on.
#[macro_export]
macro_rules! envoy_log {
    ($level:expr, $($arg:tt)*) => {{
        let level = $level;
        if $crate::log_enabled(level) {
            $crate::log(level, &::std::format!($($arg)*));
        }
    }};
}

/// Logs at level trace, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_trace {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Trace, $($arg)*)
    };
}

/// Logs at level debug, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_debug {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Debug, $($arg)*)
    };
}

/// Logs at level info, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_info {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Info, $($arg)*)
    };
}

/// Logs at level warning, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_warn {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Warn, $($arg)*)
    };
}

/// Logs at level error, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_error {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Error, $($arg)*)
    };
}

/// Logs at level critical, like [`envoy_log!`].
#[macro_export]
macro_rules! envoy_log_critical {
    ($($arg:tt)*) => {
        $crate::envoy_log!($crate::abi::envoy_dynamic_module_type_log_level::Critical, $($arg)*)
    };
}
