//! The functions that Envoy calls for bootstrap extensions. It insists on all of them, so those that
//! this crate has no use for are here and do nothing. None lets a panic out.

use super::envoy_impl::{ConfigImpl, ExtensionImpl, Timer};
use super::{BootstrapExtension, BootstrapExtensionConfig, CompletionCallback, EnvoyBootstrapExtension};
use crate::abi::{
    self, envoy_dynamic_module_type_envoy_buffer as EnvoyBuf,
    envoy_dynamic_module_type_envoy_http_header as EnvoyHeader,
};
use crate::convert::{bytes, text};
use crate::server::caught;
use crate::NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION;
use std::os::raw::c_void;
use std::sync::{Mutex, PoisonError};

type EnvoyConfig = abi::envoy_dynamic_module_type_bootstrap_extension_config_envoy_ptr;
type ModuleConfig = abi::envoy_dynamic_module_type_bootstrap_extension_config_module_ptr;
type EnvoyExtension = abi::envoy_dynamic_module_type_bootstrap_extension_envoy_ptr;
type ModuleExtension = abi::envoy_dynamic_module_type_bootstrap_extension_module_ptr;
type Config = Box<dyn BootstrapExtensionConfig>;
// Workers announce themselves at the same time; the lock gives each its turn with the extension.
type Extension = Mutex<Box<dyn BootstrapExtension>>;

// SAFETY of this file: Envoy calls each hook as its header says, with objects that it got here and
// has not destroyed, and with buffers that stay readable until the hook returns.

/// Makes the module's side of a configuration; null refuses it.
///
/// # Safety
///
/// For Envoy, with its own pointers and readable buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_config_new(
    envoy: EnvoyConfig,
    name: EnvoyBuf,
    config: EnvoyBuf,
) -> ModuleConfig {
    let made = caught("bootstrap_extension_config_new", || {
        let new = NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION.get()?;
        // SAFETY: Envoy's buffers are readable during the hook.
        let (name, config) = unsafe { (text(name), bytes(config)) };
        new(&mut ConfigImpl::new(envoy), &name, config)
    });
    match made.flatten() {
        Some(config) => Box::into_raw(Box::<Config>::new(config)).cast(),
        None => std::ptr::null(),
    }
}

/// Drops the module's side of a configuration.
///
/// # Safety
///
/// For Envoy, once, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_config_destroy(config: ModuleConfig) {
    if !config.is_null() {
        // SAFETY: made by `config_new`, and this is its last use.
        let config = unsafe { Box::from_raw(config.cast::<Config>().cast_mut()) };
        caught("bootstrap_extension_config_destroy", || drop(config));
    }
}

/// Makes the extension.
///
/// # Safety
///
/// For Envoy, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_new(
    config: ModuleConfig,
    envoy: EnvoyExtension,
) -> ModuleExtension {
    // SAFETY: made by `config_new`, alive during the hook.
    let config = unsafe { &*config.cast::<Config>() };
    let made = caught("bootstrap_extension_new", || config.new_bootstrap_extension(&mut ExtensionImpl::new(envoy)));
    match made {
        Some(extension) => Box::into_raw(Box::<Extension>::new(Mutex::new(extension))).cast(),
        None => std::ptr::null(),
    }
}

/// Drops the extension.
///
/// # Safety
///
/// For Envoy, once, with what `bootstrap_extension_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_destroy(extension: ModuleExtension) {
    if !extension.is_null() {
        // SAFETY: made by `bootstrap_extension_new`, and this is its last use.
        let extension = unsafe { Box::from_raw(extension.cast::<Extension>().cast_mut()) };
        caught("bootstrap_extension_destroy", || drop(extension));
    }
}

/// The server is up.
///
/// # Safety
///
/// For Envoy, with what `bootstrap_extension_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_server_initialized(
    envoy: EnvoyExtension,
    extension: ModuleExtension,
) {
    // SAFETY: an extension of ours, or null.
    unsafe {
        with(extension, envoy, "server_initialized", |extension, envoy| {
            extension.on_server_initialized(envoy);
        });
    }
}

/// A worker starts, on its thread.
///
/// # Safety
///
/// For Envoy, with what `bootstrap_extension_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_worker_thread_initialized(
    envoy: EnvoyExtension,
    extension: ModuleExtension,
) {
    // SAFETY: an extension of ours, or null.
    unsafe {
        with(extension, envoy, "worker_thread_initialized", |extension, envoy| {
            extension.on_worker_thread_initialized(envoy);
        });
    }
}

/// Envoy drains its listeners.
///
/// # Safety
///
/// For Envoy, with what `bootstrap_extension_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_drain_started(
    envoy: EnvoyExtension,
    extension: ModuleExtension,
) {
    // SAFETY: an extension of ours, or null.
    unsafe {
        with(extension, envoy, "drain_started", |extension, envoy| {
            extension.on_drain_started(envoy);
        });
    }
}

/// Envoy is about to exit and waits for `callback`.
///
/// # Safety
///
/// For Envoy, with what `bootstrap_extension_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_shutdown(
    envoy: EnvoyExtension,
    extension: ModuleExtension,
    callback: abi::envoy_dynamic_module_type_event_cb,
    context: *mut c_void,
) {
    // Dropped on every other path, which tells Envoy too.
    let completion = CompletionCallback::new(callback, context);
    // SAFETY: an extension of ours, or null.
    unsafe {
        with(extension, envoy, "shutdown", |extension, envoy| {
            extension.on_shutdown(envoy, completion);
        });
    }
}

/// Delivers an event of the configuration's scheduler.
///
/// # Safety
///
/// For Envoy, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_config_scheduled(
    envoy: EnvoyConfig,
    config: ModuleConfig,
    event_id: u64,
) {
    // SAFETY: made by `config_new`, alive during the hook, or null.
    if let Some(config) = unsafe { config.cast::<Config>().as_ref() } {
        caught("bootstrap_extension_config_scheduled", || {
            config.on_scheduled(&mut ConfigImpl::new(envoy), event_id);
        });
    }
}

/// A timer fired.
///
/// # Safety
///
/// For Envoy, with what `config_new` answered and a live timer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_bootstrap_extension_timer_fired(
    envoy: EnvoyConfig,
    config: ModuleConfig,
    timer: abi::envoy_dynamic_module_type_bootstrap_extension_timer_module_ptr,
) {
    // SAFETY: made by `config_new`, alive during the hook, or null.
    if let Some(config) = unsafe { config.cast::<Config>().as_ref() } {
        caught("bootstrap_extension_timer_fired", || {
            config.on_timer_fired(&mut ConfigImpl::new(envoy), &Timer::new(timer));
        });
    }
}

/// Not used: no file is watched.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_file_changed(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _path: EnvoyBuf,
    _events: u32,
) {
}

/// Not used: cluster events are not asked for.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_cluster_add_or_update(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _name: EnvoyBuf,
) {
}

/// Not used: cluster events are not asked for.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_cluster_removal(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _name: EnvoyBuf,
) {
}

/// Not used: listener events are not asked for.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_listener_add_or_update(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _name: EnvoyBuf,
) {
}

/// Not used: listener events are not asked for.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_listener_removal(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _name: EnvoyBuf,
) {
}

/// Not used: no callout is made.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_http_callout_done(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _id: u64,
    _result: u32,
    _headers: *mut EnvoyHeader,
    _headers_size: usize,
    _chunks: *mut EnvoyBuf,
    _chunks_size: usize,
) {
}

/// Not used: no endpoint is registered, so whatever is asked for is not found.
#[unsafe(no_mangle)]
pub extern "C" fn envoy_dynamic_module_on_bootstrap_extension_admin_request(
    _envoy: EnvoyConfig,
    _config: ModuleConfig,
    _method: EnvoyBuf,
    _path: EnvoyBuf,
    _body: EnvoyBuf,
) -> u32 {
    404
}

// SAFETY for callers: `extension` comes from `bootstrap_extension_new` and is alive, or is null.
unsafe fn with(
    extension: ModuleExtension,
    envoy: EnvoyExtension,
    hook: &str,
    method: impl FnOnce(&mut dyn BootstrapExtension, &mut dyn EnvoyBootstrapExtension),
) {
    // SAFETY: the caller vouches for it.
    if let Some(extension) = unsafe { extension.cast::<Extension>().as_ref() } {
        caught(hook, || {
            let mut extension = extension.lock().unwrap_or_else(PoisonError::into_inner);
            method(extension.as_mut(), &mut ExtensionImpl::new(envoy));
        });
    }
}
