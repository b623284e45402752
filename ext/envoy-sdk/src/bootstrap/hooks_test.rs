//! The hooks of bootstrap extensions against the stand-ins.

use super::hooks::*;
use super::*;
use crate::abi::envoy_dynamic_module_type_envoy_buffer as EnvoyBuf;
use crate::{stand_in, EnvoyGaugeId, NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION};
use std::os::raw::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const ENVOY: *mut c_void = std::ptr::dangling_mut::<u8>().cast();

struct Config(EnvoyGaugeId);

impl BootstrapExtensionConfig for Config {
    fn new_bootstrap_extension(&self, _envoy: &mut dyn EnvoyBootstrapExtension) -> Box<dyn BootstrapExtension> {
        Box::new(Extension)
    }

    fn on_scheduled(&self, envoy: &mut dyn EnvoyBootstrapExtensionConfig, event_id: u64) {
        assert_eq!(event_id, 4);
        envoy.set_gauge(self.0, 1).expect("set");
        envoy.signal_init_complete();
    }

    fn on_timer_fired(&self, _envoy: &mut dyn EnvoyBootstrapExtensionConfig, timer: &dyn EnvoyBootstrapExtensionTimer) {
        timer.enable(Duration::from_millis(5));
        panic!("late");
    }
}

/// Keeps the completion of its first shutdown, panics at the second.
struct Extension;

thread_local! {
    static KEPT: std::cell::RefCell<Option<CompletionCallback>> = const { std::cell::RefCell::new(None) };
}

impl BootstrapExtension for Extension {
    fn on_shutdown(&mut self, _envoy: &mut dyn EnvoyBootstrapExtension, completion: CompletionCallback) {
        assert!(KEPT.with_borrow(Option::is_none), "a second shutdown");
        KEPT.set(Some(completion));
    }
}

fn new_config(
    envoy: &mut dyn EnvoyBootstrapExtensionConfig,
    name: &str,
    config: &[u8],
) -> Option<Box<dyn BootstrapExtensionConfig>> {
    match config {
        b"panic" => panic!("no"),
        b"refuse" => None,
        _ => {
            assert_eq!((name, config), ("name", &b"config"[..]));
            let gauge = envoy.define_gauge("ready").expect("defined");
            drop(envoy.new_timer());
            envoy.new_scheduler().commit(4);
            Some(Box::new(Config(gauge)))
        }
    }
}

fn make(config: &'static str) -> *const c_void {
    NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION.get_or_init(|| new_config);
    let buffer = |text: &'static str| EnvoyBuf { ptr: text.as_ptr().cast(), length: text.len() };
    // SAFETY: the buffers are static.
    unsafe { envoy_dynamic_module_on_bootstrap_extension_config_new(ENVOY, buffer("name"), buffer(config)) }
}

unsafe extern "C" fn count(context: *mut c_void) {
    // SAFETY: the tests pass a counter.
    unsafe { &*context.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_refused_configuration_is_null() {
    assert!(make("refuse").is_null());
    assert!(make("panic").is_null());
    let logged = stand_in::take_logged();
    assert_eq!(logged[0].1, "the module panicked in bootstrap_extension_config_new: no");
}

#[test]
fn a_configuration_hears_of_its_events() {
    let config = make("config");
    let calls = stand_in::take_calls();
    let names: Vec<&str> = calls.iter().map(|call| call.rsplit("bootstrap_extension_").next().unwrap_or("")).collect();
    let expected = [
        "config_define_gauge",
        "timer_new",
        "timer_delete",
        "config_scheduler_new",
        "config_scheduler_commit",
        "config_scheduler_delete",
    ];
    assert_eq!(names, expected);
    // SAFETY: the configuration is alive until its destruction.
    unsafe {
        envoy_dynamic_module_on_bootstrap_extension_config_scheduled(ENVOY, config, 4);
        envoy_dynamic_module_on_bootstrap_extension_timer_fired(ENVOY, config, ENVOY);
        envoy_dynamic_module_on_bootstrap_extension_config_destroy(config);
    }
    let calls = stand_in::take_calls();
    assert!(calls[0].ends_with("_set_gauge"), "{calls:?}");
    assert!(calls[1].ends_with("_signal_init_complete"), "{calls:?}");
    assert!(calls[2].ends_with("_timer_enable"), "{calls:?}");
    let logged = stand_in::take_logged();
    assert_eq!(logged[0].1, "the module panicked in bootstrap_extension_timer_fired: late");
}

#[test]
fn the_completion_is_told_exactly_once_on_every_path() {
    let told = AtomicUsize::new(0);
    let context = (&raw const told).cast_mut().cast::<c_void>();
    let config = make("config");
    // SAFETY: configuration and extension are alive until their destruction, the counter longer.
    unsafe {
        let extension = envoy_dynamic_module_on_bootstrap_extension_new(config, ENVOY);
        envoy_dynamic_module_on_bootstrap_extension_server_initialized(ENVOY, extension);
        envoy_dynamic_module_on_bootstrap_extension_worker_thread_initialized(ENVOY, extension);
        envoy_dynamic_module_on_bootstrap_extension_drain_started(ENVOY, extension);
        envoy_dynamic_module_on_bootstrap_extension_shutdown(ENVOY, extension, Some(count), context);
        assert_eq!(told.load(Ordering::Relaxed), 0);
        // The method panics while the first completion is kept.
        envoy_dynamic_module_on_bootstrap_extension_shutdown(ENVOY, extension, Some(count), context);
        assert_eq!(told.load(Ordering::Relaxed), 1);
        KEPT.take().expect("kept").done();
        assert_eq!(told.load(Ordering::Relaxed), 2);
        // The lock that the panic poisoned does not get in the way.
        envoy_dynamic_module_on_bootstrap_extension_shutdown(ENVOY, extension, Some(count), context);
        KEPT.set(None);
        assert_eq!(told.load(Ordering::Relaxed), 3);
        envoy_dynamic_module_on_bootstrap_extension_shutdown(ENVOY, null(), Some(count), context);
        assert_eq!(told.load(Ordering::Relaxed), 4);
        envoy_dynamic_module_on_bootstrap_extension_destroy(extension);
        envoy_dynamic_module_on_bootstrap_extension_config_destroy(config);
    }
}
