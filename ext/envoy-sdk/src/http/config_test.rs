//! The hooks of filter configurations, and loading, against the stand-ins.

use super::hooks::*;
use super::*;
use crate::abi::envoy_dynamic_module_type_envoy_buffer as EnvoyBuf;
use crate::{stand_in, EnvoyCounterId, EnvoyGaugeId, NEW_HTTP_FILTER_CONFIG_FUNCTION};
use std::ffi::CStr;
use std::os::raw::c_void;

const ENVOY: *mut c_void = std::ptr::dangling_mut::<u8>().cast();

struct Config {
    counter: EnvoyCounterId,
    gauge: EnvoyGaugeId,
}

impl<EHF: EnvoyHttpFilter> HttpFilterConfig<EHF> for Config {
    fn on_scheduled(&self, event_id: u64) {
        let done = with_config_metrics(|metrics| {
            metrics.increment_counter(self.counter, 1).expect("counted");
            metrics.set_gauge(self.gauge, event_id).expect("set");
        });
        done.expect("inside a hook");
    }
}

fn new_config<EC: EnvoyHttpFilterConfig, EHF: EnvoyHttpFilter>(
    envoy: &mut EC,
    name: &str,
    config: &[u8],
) -> Option<Box<dyn HttpFilterConfig<EHF>>> {
    assert_eq!(name, "na\u{fffd}me");
    match config {
        b"panic" => panic!("no"),
        b"" => None,
        _ => {
            let counter = envoy.define_counter("counter").expect("defined");
            envoy.define_counter_vec("vec", &["a", "b"]).expect("defined");
            let gauge = envoy.define_gauge("gauge").expect("defined");
            envoy.new_scheduler().commit(1);
            Some(Box::new(Config { counter, gauge }))
        }
    }
}

fn make(config: &'static [u8]) -> *const c_void {
    NEW_HTTP_FILTER_CONFIG_FUNCTION.get_or_init(|| new_config);
    let buffer = |bytes: &'static [u8]| EnvoyBuf { ptr: bytes.as_ptr().cast(), length: bytes.len() };
    // SAFETY: the buffers are static.
    unsafe { envoy_dynamic_module_on_http_filter_config_new(ENVOY, buffer(b"na\xffme"), buffer(config)) }
}

#[test]
fn a_refused_configuration_is_null() {
    assert!(make(b"").is_null());
    assert!(make(b"panic").is_null());
    assert_eq!(stand_in::take_logged()[0].1, "the module panicked in http_filter_config_new: no");
}

#[test]
fn a_configuration_records_its_statistics_inside_its_hooks_only() {
    let config = make(b"config");
    assert!(!config.is_null());
    stand_in::take_calls();
    assert!(with_config_metrics(|_| ()).is_none());
    // SAFETY: the configuration is alive until its destruction.
    unsafe {
        envoy_dynamic_module_on_http_filter_config_scheduled(ENVOY, config, 3);
        envoy_dynamic_module_on_http_filter_config_destroy(config);
    }
    let expected = [
        "envoy_dynamic_module_callback_http_filter_config_increment_counter",
        "envoy_dynamic_module_callback_http_filter_config_set_gauge",
    ];
    assert_eq!(stand_in::take_calls(), expected);
    assert!(with_config_metrics(|_| ()).is_none());
}

#[test]
fn loading_answers_the_version_or_null() {
    let version = crate::program_init(|| true);
    // SAFETY: the version is a static C string.
    assert_eq!(unsafe { CStr::from_ptr(version) }, c"v0.1.0");
    assert!(crate::program_init(|| false).is_null());
    assert!(crate::program_init(|| panic!("no")).is_null());
    assert_eq!(stand_in::take_logged()[0].1, "the module panicked in program_init: no");
}
