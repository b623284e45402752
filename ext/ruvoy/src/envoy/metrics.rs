//! The statistics of requests, through Envoy's own sinks. Workers record; the main thread defines.
//!
//! Names are relative to the module's `metrics_namespace`.

use std::time::{Duration, Instant};

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyHistogramId, EnvoyHistogramVecId, EnvoyHttpFilter,
    EnvoyHttpFilterConfig, abi::envoy_dynamic_module_type_metrics_result as MetricsResult,
};

use crate::exchange::Stream;

/// The statistics of one filter configuration.
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    requests: EnvoyCounterId,
    rejected: EnvoyCounterVecId,
    responses: EnvoyCounterVecId,
    inflight: EnvoyGaugeId,
    duration_ms: EnvoyHistogramId,
    duration_us: EnvoyHistogramId,
    queue_us: EnvoyHistogramId,
    upstream_calls: EnvoyCounterVecId,
    upstream_duration_ms: EnvoyHistogramVecId,
}

/// How an admitted request ended: each ends in exactly one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The application's response was handed to Envoy whole.
    Completed,
    /// The application raised or broke Rack's contract, its body failed, or the request was too large.
    Failed,
    /// The client left, or Envoy ended the stream, before the response was complete.
    Cancelled,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Metrics {
    /// Defines them.
    ///
    /// # Errors
    ///
    /// Envoy's, where a statistic of that name cannot be.
    pub fn define<EC: EnvoyHttpFilterConfig>(envoy: &mut EC) -> Result<Self, MetricsResult> {
        Ok(Self {
            requests: envoy.define_counter("requests_total")?,
            rejected: envoy.define_counter_vec("rejected_total", &["reason"])?,
            responses: envoy.define_counter_vec("responses_total", &["outcome"])?,
            inflight: envoy.define_gauge("inflight_requests")?,
            duration_ms: envoy.define_histogram("duration_ms")?,
            duration_us: envoy.define_histogram("duration_us")?,
            queue_us: envoy.define_histogram("queue_us")?,
            upstream_calls: envoy.define_counter_vec("upstream_calls_total", &["cluster", "outcome"])?,
            upstream_duration_ms: envoy.define_histogram_vec("upstream_duration_ms", &["cluster"])?,
        })
    }

    /// A request was refused without Ruby hearing of it.
    pub fn reject<EHF: EnvoyHttpFilter>(&self, envoy: &EHF, reason: &str) {
        // The identifiers are this configuration's own, so that recording cannot fail; here and below.
        let _ = envoy.increment_counter_vec(self.rejected, &[reason], 1);
    }

    /// A request was admitted.
    pub fn admit<EHF: EnvoyHttpFilter>(&self, envoy: &EHF) {
        let _ = envoy.increment_counter(self.requests, 1);
        let _ = envoy.increase_gauge(self.inflight, 1);
    }

    /// An admitted request ended.
    pub fn end<EHF: EnvoyHttpFilter>(&self, envoy: &EHF, stream: &Stream, outcome: Outcome) {
        let micros = |instant: Instant| u64::try_from(instant.elapsed().as_micros()).unwrap_or(u64::MAX);
        let duration_us = micros(stream.arrived());
        let _ = envoy.increment_counter_vec(self.responses, &[outcome.name()], 1);
        let _ = envoy.decrease_gauge(self.inflight, 1);
        let _ = envoy.record_histogram_value(self.duration_us, duration_us);
        let _ = envoy.record_histogram_value(self.duration_ms, duration_us / 1000);
        if let Some(queue_us) = stream.queue_us() {
            let _ = envoy.record_histogram_value(self.queue_us, queue_us);
        }
    }
    /// An upstream call to a cluster ended after `duration`: the whole answer's, or the headers' of a stream.
    pub fn end_call<EHF: EnvoyHttpFilter>(&self, envoy: &EHF, (cluster, outcome): (&str, &str), duration: Duration) {
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let _ = envoy.increment_counter_vec(self.upstream_calls, &[cluster, outcome], 1);
        let _ = envoy.record_histogram_value_vec(self.upstream_duration_ms, &[cluster], duration_ms);
    }
}
