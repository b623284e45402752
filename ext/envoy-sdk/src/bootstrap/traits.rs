//! What a bootstrap extension implements and what Envoy offers it. All of it on the main thread
//! unless a method says otherwise.

use crate::abi::{self, envoy_dynamic_module_type_metrics_result as MetricsResult};
use crate::{EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId, EnvoyHistogramVecId};
use std::os::raw::c_void;
use std::time::Duration;

/// The module's side of a bootstrap extension's configuration.
pub trait BootstrapExtensionConfig: Send + Sync {
    /// Makes the extension.
    fn new_bootstrap_extension(&self, envoy_extension: &mut dyn EnvoyBootstrapExtension)
        -> Box<dyn BootstrapExtension>;

    /// An event that was committed with the configuration's scheduler.
    fn on_scheduled(&self, _envoy_extension_config: &mut dyn EnvoyBootstrapExtensionConfig, _event_id: u64) {}

    /// A timer of [`EnvoyBootstrapExtensionConfig::new_timer`] fired; it may be enabled again.
    fn on_timer_fired(
        &self,
        _envoy_extension_config: &mut dyn EnvoyBootstrapExtensionConfig,
        _timer: &dyn EnvoyBootstrapExtensionTimer,
    ) {
    }
}

/// The module's side of a bootstrap extension.
pub trait BootstrapExtension: Send + Sync {
    /// The server is up; its listeners open once every extension has signalled.
    fn on_server_initialized(&mut self, _envoy_extension: &mut dyn EnvoyBootstrapExtension) {}

    /// A worker starts; on that worker's thread.
    ///
    /// Workers start one after the other, so `&mut self` is sound: the hook layer serialises them.
    fn on_worker_thread_initialized(&mut self, _envoy_extension: &mut dyn EnvoyBootstrapExtension) {}

    /// Envoy drains its listeners; not called for SIGTERM.
    fn on_drain_started(&mut self, _envoy_extension: &mut dyn EnvoyBootstrapExtension) {}

    /// Envoy is about to exit and waits for `completion`.
    fn on_shutdown(&mut self, _envoy_extension: &mut dyn EnvoyBootstrapExtension, completion: CompletionCallback) {
        completion.done();
    }
}

/// Envoy's side of a bootstrap extension's configuration.
///
/// # Errors
///
/// Statistics: `Frozen` when defined too late, `MetricNotFound` for a foreign identifier,
/// `InvalidLabels` for a wrong number of labels.
pub trait EnvoyBootstrapExtensionConfig {
    /// A scheduler whose events arrive at [`BootstrapExtensionConfig::on_scheduled`].
    fn new_scheduler(&self) -> Box<dyn EnvoyBootstrapExtensionConfigScheduler>;

    /// Lets the listeners open; Envoy waits for it. To be called exactly once.
    fn signal_init_complete(&self);

    /// A timer, not yet enabled, that fires at [`BootstrapExtensionConfig::on_timer_fired`].
    fn new_timer(&self) -> Box<dyn EnvoyBootstrapExtensionTimer>;

    /// Defines a counter.
    fn define_counter(&mut self, name: &str) -> Result<EnvoyCounterId, MetricsResult>;

    /// Defines a counter with labels.
    fn define_counter_vec<'a>(
        &mut self,
        name: &str,
        label_names: &[&'a str],
    ) -> Result<EnvoyCounterVecId, MetricsResult>;

    /// Defines a gauge.
    fn define_gauge(&mut self, name: &str) -> Result<EnvoyGaugeId, MetricsResult>;

    /// Defines a gauge with labels.
    fn define_gauge_vec<'a>(&mut self, name: &str, label_names: &[&'a str]) -> Result<EnvoyGaugeVecId, MetricsResult>;

    /// Defines a histogram.
    fn define_histogram(&mut self, name: &str) -> Result<EnvoyHistogramId, MetricsResult>;

    /// Defines a histogram with labels.
    fn define_histogram_vec<'a>(
        &mut self,
        name: &str,
        label_names: &[&'a str],
    ) -> Result<EnvoyHistogramVecId, MetricsResult>;

    /// Adds to a counter.
    fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult>;

    /// Adds to a counter with labels.
    fn increment_counter_vec<'a>(
        &self,
        id: EnvoyCounterVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;

    /// Sets a gauge.
    fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Sets a gauge with labels.
    fn set_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, label_values: &[&'a str], value: u64)
        -> Result<(), MetricsResult>;

    /// Adds to a gauge.
    fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Adds to a gauge with labels.
    fn increase_gauge_vec<'a>(
        &self,
        id: EnvoyGaugeVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;

    /// Subtracts from a gauge.
    fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Subtracts from a gauge with labels.
    fn decrease_gauge_vec<'a>(
        &self,
        id: EnvoyGaugeVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;

    /// Records a value in a histogram.
    fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult>;

    /// Records a value in a histogram with labels.
    fn record_histogram_value_vec<'a>(
        &self,
        id: EnvoyHistogramVecId,
        label_values: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;
}

/// Envoy's side of a bootstrap extension.
pub trait EnvoyBootstrapExtension {
    /// The value of a counter of the server.
    fn get_counter_value(&self, name: &str) -> Option<u64>;

    /// The value of a gauge of the server.
    fn get_gauge_value(&self, name: &str) -> Option<u64>;
}

/// Brings events of a bootstrap extension's configuration to the main thread, from any thread.
pub trait EnvoyBootstrapExtensionConfigScheduler: Send + Sync {
    /// Makes [`BootstrapExtensionConfig::on_scheduled`] run with `event_id` on the main thread.
    fn commit(&self, event_id: u64);
}

impl EnvoyBootstrapExtensionConfigScheduler for Box<dyn EnvoyBootstrapExtensionConfigScheduler> {
    fn commit(&self, event_id: u64) {
        (**self).commit(event_id);
    }
}

/// A timer of the main thread; to be used and dropped there.
pub trait EnvoyBootstrapExtensionTimer: Send + Sync {
    /// Tells this timer from others; constant for its life.
    fn id(&self) -> usize;

    /// Makes the timer fire after `delay`, counted in whole milliseconds, and not before.
    fn enable(&self, delay: Duration);

    /// Keeps the timer from firing.
    fn disable(&self);

    /// Whether the timer is going to fire.
    fn enabled(&self) -> bool;
}

impl EnvoyBootstrapExtensionTimer for Box<dyn EnvoyBootstrapExtensionTimer> {
    fn id(&self) -> usize {
        (**self).id()
    }

    fn enable(&self, delay: Duration) {
        (**self).enable(delay);
    }

    fn disable(&self) {
        (**self).disable();
    }

    fn enabled(&self) -> bool {
        (**self).enabled()
    }
}

/// Tells Envoy that the shutdown work is done: exactly once, by [`Self::done`] or by being dropped.
pub struct CompletionCallback {
    callback: abi::envoy_dynamic_module_type_event_cb,
    context: *mut c_void,
}

// SAFETY: Envoy takes the call from any thread; nothing else is done with the context.
unsafe impl Send for CompletionCallback {}
// SAFETY: a shared reference offers no method.
unsafe impl Sync for CompletionCallback {}

impl CompletionCallback {
    pub(crate) fn new(callback: abi::envoy_dynamic_module_type_event_cb, context: *mut c_void) -> Self {
        Self { callback, context }
    }

    /// The work is done.
    pub fn done(self) {
        drop(self);
    }
}

impl Drop for CompletionCallback {
    fn drop(&mut self) {
        if let Some(callback) = self.callback.take() {
            // SAFETY: Envoy gave both for exactly one call, and `take` makes this the only one.
            unsafe { callback(self.context) };
        }
    }
}
