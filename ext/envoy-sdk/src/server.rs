//! What a module asks of the server as a whole: its log, its mode, its concurrency; and the load
//! of the module itself.

use crate::abi;
use std::any::Any;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// How many workers the server runs.
///
/// # Safety
///
/// To be called on the main thread.
pub unsafe fn get_server_concurrency() -> u32 {
    // SAFETY: the caller is on the main thread, the one condition.
    unsafe { abi::envoy_dynamic_module_callback_get_concurrency() }
}

/// Whether the server only checks its configuration (`--mode validate`).
///
/// # Safety
///
/// To be called on the main thread.
pub unsafe fn is_validation_mode() -> bool {
    // SAFETY: the caller is on the main thread, the one condition.
    unsafe { abi::envoy_dynamic_module_callback_is_validation_mode() }
}

/// Whether Envoy logs `level`; from any thread. For [`envoy_log!`](crate::envoy_log).
#[doc(hidden)]
pub fn log_enabled(level: abi::envoy_dynamic_module_type_log_level) -> bool {
    // SAFETY: takes a plain value, from any thread.
    unsafe { abi::envoy_dynamic_module_callback_log_enabled(level) }
}

/// Logs `message` to Envoy's log; from any thread. For [`envoy_log!`](crate::envoy_log).
#[doc(hidden)]
pub fn log(level: abi::envoy_dynamic_module_type_log_level, message: &str) {
    // SAFETY: Envoy reads the message during the call only, from any thread.
    unsafe { abi::envoy_dynamic_module_callback_log(level, abi::module_buffer(message.as_bytes())) }
}

/// What the `declare_…` macros expand to: runs `init`, answers the ABI's version or null.
#[doc(hidden)]
pub fn program_init(init: impl FnOnce() -> bool) -> *const c_char {
    match caught("program_init", init) {
        Some(true) => abi::envoy_dynamic_modules_abi_version.as_ptr().cast(),
        _ => std::ptr::null(),
    }
}

/// Runs `body`; a panic is logged under the name of the `hook` and becomes `None`.
pub(crate) fn caught<T>(hook: &str, body: impl FnOnce() -> T) -> Option<T> {
    // What a panic may leave half done is never looked at again: its owner counts as poisoned.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => Some(value),
        Err(payload) => {
            log_panic(hook, payload);
            None
        }
    }
}

fn log_panic(hook: &str, payload: Box<dyn Any + Send>) {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => text,
        None => payload.downcast_ref::<String>().map_or("a value that is no text", String::as_str),
    };
    log(abi::envoy_dynamic_module_type_log_level::Error, &format!("the module panicked in {hook}: {text}"));
    // A payload may panic when it is dropped; nothing of that kind may reach Envoy.
    std::mem::forget(payload);
}
