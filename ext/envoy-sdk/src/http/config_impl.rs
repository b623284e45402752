//! Envoy's side of a filter configuration, over the C ABI; on the main thread.

use super::{EnvoyHttpFilterConfig, EnvoyHttpFilterConfigScheduler};
use crate::abi::{self, envoy_dynamic_module_type_metrics_result as MetricsResult, module_buffer};
use crate::convert::with_texts;
use crate::{EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId, EnvoyHistogramVecId};
use std::os::raw::c_void;

/// Envoy's side of a filter configuration; handed to the factory of the module's side.
pub struct EnvoyHttpFilterConfigImpl {
    raw_ptr: abi::envoy_dynamic_module_type_http_filter_config_envoy_ptr,
}

impl EnvoyHttpFilterConfigImpl {
    pub(crate) fn new(raw_ptr: abi::envoy_dynamic_module_type_http_filter_config_envoy_ptr) -> Self {
        Self { raw_ptr }
    }

    fn define(&mut self, define: abi::Definer, name: &str, labels: &[&str]) -> Result<usize, MetricsResult> {
        // SAFETY: the configuration is being made, on the main thread, so Envoy's side exists.
        unsafe { define_metric(define, self.raw_ptr, name, labels) }
    }
}

/// Defines a statistic and answers its number.
///
/// # Safety
///
/// `owner` is a live object of Envoy's of the kind that `define` is for, on the main thread.
pub(crate) unsafe fn define_metric(
    define: abi::Definer,
    owner: *mut c_void,
    name: &str,
    labels: &[&str],
) -> Result<usize, MetricsResult> {
    let mut id = 0;
    let result = with_texts(labels, |labels, size| {
        // SAFETY: the caller vouches for the owner; the texts are read during the call only.
        unsafe { define(owner, module_buffer(name.as_bytes()), labels, size, &mut id) }
    });
    Result::from(MetricsResult::from_number(result)).map(|()| id)
}

impl EnvoyHttpFilterConfig for EnvoyHttpFilterConfigImpl {
    fn define_counter(&mut self, name: &str) -> Result<EnvoyCounterId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_counter;
        self.define(define, name, &[]).map(EnvoyCounterId)
    }

    fn define_counter_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyCounterVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_counter;
        self.define(define, name, labels).map(EnvoyCounterVecId)
    }

    fn define_gauge(&mut self, name: &str) -> Result<EnvoyGaugeId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_gauge;
        self.define(define, name, &[]).map(EnvoyGaugeId)
    }

    fn define_gauge_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyGaugeVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_gauge;
        self.define(define, name, labels).map(EnvoyGaugeVecId)
    }

    fn define_histogram(&mut self, name: &str) -> Result<EnvoyHistogramId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_histogram;
        self.define(define, name, &[]).map(EnvoyHistogramId)
    }

    fn define_histogram_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyHistogramVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_http_filter_config_define_histogram;
        self.define(define, name, labels).map(EnvoyHistogramVecId)
    }

    fn new_scheduler(&self) -> Box<dyn EnvoyHttpFilterConfigScheduler> {
        // SAFETY: the configuration is being made, on the main thread, so Envoy's side exists.
        let raw = unsafe { abi::envoy_dynamic_module_callback_http_filter_config_scheduler_new(self.raw_ptr) };
        Box::new(ConfigScheduler { raw })
    }
}

struct ConfigScheduler {
    raw: abi::envoy_dynamic_module_type_http_filter_config_scheduler_module_ptr,
}

// SAFETY: Envoy's scheduler may be committed and deleted on any thread.
unsafe impl Send for ConfigScheduler {}
// SAFETY: commits may run at the same time; the deletion needs the scheduler for itself.
unsafe impl Sync for ConfigScheduler {}

impl EnvoyHttpFilterConfigScheduler for ConfigScheduler {
    fn commit(&self, event_id: u64) {
        if !self.raw.is_null() {
            // SAFETY: the scheduler is ours until `drop`.
            unsafe {
                abi::envoy_dynamic_module_callback_http_filter_config_scheduler_commit(self.raw, event_id);
            }
        }
    }
}

impl Drop for ConfigScheduler {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the last use of the scheduler, and no commit runs: this is the only reference.
            unsafe {
                abi::envoy_dynamic_module_callback_http_filter_config_scheduler_delete(self.raw);
            }
        }
    }
}
