//! HTTP filters: what a module implements, what Envoy offers, and the hooks in between.

mod config_impl;
mod envoy;
mod filter;
mod filter_impl;
mod stream;

pub use config_impl::EnvoyHttpFilterConfigImpl;
pub use envoy::*;
pub use filter::*;
pub use filter_impl::EnvoyHttpFilterImpl;

pub(crate) use config_impl::define_metric;
