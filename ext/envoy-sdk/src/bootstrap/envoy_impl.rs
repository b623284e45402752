//! Envoy's side of a bootstrap extension, over the C ABI; on the main thread unless it says otherwise.

use super::{
    EnvoyBootstrapExtension, EnvoyBootstrapExtensionConfig, EnvoyBootstrapExtensionConfigScheduler,
    EnvoyBootstrapExtensionTimer,
};
use crate::abi::{self, envoy_dynamic_module_type_metrics_result as MetricsResult, module_buffer};
use crate::http::{define_metric, record_metric};
use crate::{EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId, EnvoyHistogramVecId};
use std::os::raw::c_void;
use std::time::Duration;

pub(super) struct ConfigImpl {
    raw: abi::envoy_dynamic_module_type_bootstrap_extension_config_envoy_ptr,
}

// SAFETY of all calls here: the object exists inside a hook only, so Envoy's side is alive and the
// thread is the main one.
impl ConfigImpl {
    pub(super) fn new(raw: abi::envoy_dynamic_module_type_bootstrap_extension_config_envoy_ptr) -> Self {
        Self { raw }
    }

    fn define(&mut self, define: abi::Definer, name: &str, labels: &[&str]) -> Result<usize, MetricsResult> {
        // SAFETY: see above.
        unsafe { define_metric(define, self.raw, name, labels) }
    }

    fn record(&self, record: abi::Recorder, measure: (usize, u64), labels: &[&str]) -> Result<(), MetricsResult> {
        // SAFETY: see above.
        unsafe { record_metric(record, self.raw, measure, labels) }
    }
}

impl EnvoyBootstrapExtensionConfig for ConfigImpl {
    fn new_scheduler(&self) -> Box<dyn EnvoyBootstrapExtensionConfigScheduler> {
        // SAFETY: see above.
        let raw = unsafe { abi::envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_new(self.raw) };
        Box::new(Scheduler { raw })
    }

    fn signal_init_complete(&self) {
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_config_signal_init_complete(self.raw);
        }
    }

    fn new_timer(&self) -> Box<dyn EnvoyBootstrapExtensionTimer> {
        // SAFETY: see above.
        let raw = unsafe { abi::envoy_dynamic_module_callback_bootstrap_extension_timer_new(self.raw) };
        Box::new(OwnedTimer(Timer { raw }))
    }

    fn define_counter(&mut self, name: &str) -> Result<EnvoyCounterId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_counter;
        self.define(define, name, &[]).map(EnvoyCounterId)
    }

    fn define_counter_vec<'a>(
        &mut self,
        name: &str,
        label_names: &[&'a str],
    ) -> Result<EnvoyCounterVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_counter;
        self.define(define, name, label_names).map(EnvoyCounterVecId)
    }

    fn define_gauge(&mut self, name: &str) -> Result<EnvoyGaugeId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_gauge;
        self.define(define, name, &[]).map(EnvoyGaugeId)
    }

    fn define_gauge_vec<'a>(&mut self, name: &str, label_names: &[&'a str]) -> Result<EnvoyGaugeVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_gauge;
        self.define(define, name, label_names).map(EnvoyGaugeVecId)
    }

    fn define_histogram(&mut self, name: &str) -> Result<EnvoyHistogramId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_histogram;
        self.define(define, name, &[]).map(EnvoyHistogramId)
    }

    fn define_histogram_vec<'a>(
        &mut self,
        name: &str,
        label_names: &[&'a str],
    ) -> Result<EnvoyHistogramVecId, MetricsResult> {
        let define = abi::envoy_dynamic_module_callback_bootstrap_extension_config_define_histogram;
        self.define(define, name, label_names).map(EnvoyHistogramVecId)
    }

    fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_increment_counter;
        self.record(record, (id.0, value), &[])
    }

    fn increment_counter_vec<'a>(
        &self,
        id: EnvoyCounterVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_increment_counter;
        self.record(record, (id.0, value), label_values)
    }

    fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_set_gauge;
        self.record(record, (id.0, value), &[])
    }

    fn set_gauge_vec<'a>(
        &self,
        id: EnvoyGaugeVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_set_gauge;
        self.record(record, (id.0, value), label_values)
    }

    fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_increment_gauge;
        self.record(record, (id.0, value), &[])
    }

    fn increase_gauge_vec<'a>(
        &self,
        id: EnvoyGaugeVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_increment_gauge;
        self.record(record, (id.0, value), label_values)
    }

    fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_decrement_gauge;
        self.record(record, (id.0, value), &[])
    }

    fn decrease_gauge_vec<'a>(
        &self,
        id: EnvoyGaugeVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_decrement_gauge;
        self.record(record, (id.0, value), label_values)
    }

    fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_record_histogram_value;
        self.record(record, (id.0, value), &[])
    }

    fn record_histogram_value_vec<'a>(
        &self,
        id: EnvoyHistogramVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_bootstrap_extension_config_record_histogram_value;
        self.record(record, (id.0, value), label_values)
    }
}

pub(super) struct ExtensionImpl {
    raw: abi::envoy_dynamic_module_type_bootstrap_extension_envoy_ptr,
}

impl ExtensionImpl {
    pub(super) fn new(raw: abi::envoy_dynamic_module_type_bootstrap_extension_envoy_ptr) -> Self {
        Self { raw }
    }
}

impl EnvoyBootstrapExtension for ExtensionImpl {
    fn get_counter_value(&self, name: &str) -> Option<u64> {
        let mut value = 0;
        // SAFETY: the object exists inside a hook only, so Envoy's side is alive.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_get_counter_value(
                self.raw,
                module_buffer(name.as_bytes()),
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn get_gauge_value(&self, name: &str) -> Option<u64> {
        let mut value = 0;
        // SAFETY: as above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_get_gauge_value(
                self.raw,
                module_buffer(name.as_bytes()),
                &mut value,
            )
        };
        found.then_some(value)
    }
}

struct Scheduler {
    raw: *mut c_void,
}

// SAFETY: Envoy's scheduler may be committed and deleted on any thread.
unsafe impl Send for Scheduler {}
// SAFETY: commits may run at the same time; the deletion needs the scheduler for itself.
unsafe impl Sync for Scheduler {}

impl EnvoyBootstrapExtensionConfigScheduler for Scheduler {
    fn commit(&self, event_id: u64) {
        // SAFETY: the scheduler is ours until `drop`.
        unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_commit(self.raw, event_id);
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: the last use of the scheduler, and no commit runs: this is the only reference.
        unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_delete(self.raw);
        }
    }
}

/// A timer that somebody else owns.
pub(super) struct Timer {
    raw: abi::envoy_dynamic_module_type_bootstrap_extension_timer_module_ptr,
}

// SAFETY: the pointer is Envoy's; the trait's contract keeps its use on the main thread.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Timer {
    pub(super) fn new(raw: abi::envoy_dynamic_module_type_bootstrap_extension_timer_module_ptr) -> Self {
        Self { raw }
    }
}

// SAFETY of the calls: the timer lives as long as its owner, and this is the main thread.
impl EnvoyBootstrapExtensionTimer for Timer {
    fn id(&self) -> usize {
        self.raw as usize
    }

    fn enable(&self, delay: Duration) {
        let milliseconds = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_bootstrap_extension_timer_enable(self.raw, milliseconds);
        }
    }

    fn disable(&self) {
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_bootstrap_extension_timer_disable(self.raw) };
    }

    fn enabled(&self) -> bool {
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_bootstrap_extension_timer_enabled(self.raw) }
    }
}

/// A timer that is deleted with its handle.
struct OwnedTimer(Timer);

impl EnvoyBootstrapExtensionTimer for OwnedTimer {
    fn id(&self) -> usize {
        self.0.id()
    }

    fn enable(&self, delay: Duration) {
        self.0.enable(delay);
    }

    fn disable(&self) {
        self.0.disable();
    }

    fn enabled(&self) -> bool {
        self.0.enabled()
    }
}

impl Drop for OwnedTimer {
    fn drop(&mut self) {
        // SAFETY: the last use of the timer, on the main thread.
        unsafe { abi::envoy_dynamic_module_callback_bootstrap_extension_timer_delete(self.0.raw) };
    }
}
