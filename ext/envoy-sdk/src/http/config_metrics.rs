//! Statistics of a filter configuration outside of any stream, which the public SDK lacks.

use crate::abi::{self, envoy_dynamic_module_type_metrics_result as MetricsResult};
use crate::convert::with_texts;
use crate::{EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId, EnvoyHistogramVecId};
use std::cell::Cell;

type EnvoyConfig = abi::envoy_dynamic_module_type_http_filter_config_envoy_ptr;

thread_local! {
    // The configuration whose hook is running on this thread.
    static CURRENT: Cell<EnvoyConfig> = const { Cell::new(std::ptr::null_mut()) };
}

/// Calls `body` with the statistics of the filter configuration whose hook is running: inside its
/// factory and inside [`HttpFilterConfig::on_scheduled`](crate::HttpFilterConfig::on_scheduled).
/// `None` anywhere else.
///
/// ```no_run
/// # use envoy_proxy_dynamic_modules_rust_sdk::*;
/// # fn example(gauge: EnvoyGaugeId) {
/// with_config_metrics(|metrics| metrics.set_gauge(gauge, 1));
/// # }
/// ```
pub fn with_config_metrics<R>(body: impl FnOnce(&ConfigMetrics) -> R) -> Option<R> {
    let envoy = CURRENT.get();
    (!envoy.is_null()).then(|| body(&ConfigMetrics { envoy }))
}

/// Runs a hook of `envoy`'s configuration; it must not panic.
pub(super) fn with_current_config<R>(envoy: EnvoyConfig, hook: impl FnOnce() -> R) -> R {
    let outer = CURRENT.replace(envoy);
    let result = hook();
    CURRENT.set(outer);
    result
}

/// The statistics of a filter configuration; see [`with_config_metrics`].
///
/// # Errors
///
/// `MetricNotFound` for an identifier of another configuration, `InvalidLabels` for a wrong number
/// of labels.
pub struct ConfigMetrics {
    envoy: EnvoyConfig,
}

impl ConfigMetrics {
    /// Adds to a counter.
    pub fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_increment_counter;
        self.record(record, id.0, &[], value)
    }

    /// Adds to a counter with labels.
    pub fn increment_counter_vec(
        &self,
        id: EnvoyCounterVecId,
        labels: &[&str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_increment_counter;
        self.record(record, id.0, labels, value)
    }

    /// Adds to a gauge.
    pub fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_increment_gauge;
        self.record(record, id.0, &[], value)
    }

    /// Subtracts from a gauge.
    pub fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_decrement_gauge;
        self.record(record, id.0, &[], value)
    }

    /// Sets a gauge.
    pub fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_set_gauge;
        self.record(record, id.0, &[], value)
    }

    /// Sets a gauge with labels.
    pub fn set_gauge_vec(&self, id: EnvoyGaugeVecId, labels: &[&str], value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_set_gauge;
        self.record(record, id.0, labels, value)
    }

    /// Records a value in a histogram.
    pub fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_record_histogram_value;
        self.record(record, id.0, &[], value)
    }

    /// Records a value in a histogram with labels.
    pub fn record_histogram_value_vec(
        &self,
        id: EnvoyHistogramVecId,
        labels: &[&str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_config_record_histogram_value;
        self.record(record, id.0, labels, value)
    }

    fn record(&self, record: abi::Recorder, id: usize, labels: &[&str], value: u64) -> Result<(), MetricsResult> {
        // SAFETY: this object exists only inside a hook of the configuration, which is alive then.
        unsafe { record_metric(record, self.envoy, (id, value), labels) }
    }
}

/// Records `value` for the statistic numbered `id`.
///
/// # Safety
///
/// `owner` is a live object of Envoy's of the kind that `record` is for, on a thread of Envoy's.
pub(crate) unsafe fn record_metric(
    record: abi::Recorder,
    owner: *mut std::os::raw::c_void,
    (id, value): (usize, u64),
    labels: &[&str],
) -> Result<(), MetricsResult> {
    let result = with_texts(labels, |labels, size| {
        // SAFETY: the caller vouches for the owner; the texts are read during the call only.
        unsafe { record(owner, id, labels, size, value) }
    });
    MetricsResult::from_number(result).into()
}
