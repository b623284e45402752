//! HTTP filters: what a module implements, what Envoy offers, and the hooks in between.

mod config_impl;
mod config_metrics;
#[cfg(test)]
mod config_test;
mod envoy;
mod filter;
mod filter_impl;
mod hooks;
mod stream;
#[cfg(test)]
mod stream_test;

pub use config_impl::EnvoyHttpFilterConfigImpl;
pub use config_metrics::{with_config_metrics, ConfigMetrics};
pub use envoy::*;
pub use filter::*;
pub use filter_impl::EnvoyHttpFilterImpl;
pub use stream::has_deferred_hooks;

pub(crate) use config_impl::define_metric;
pub(crate) use config_metrics::record_metric;
