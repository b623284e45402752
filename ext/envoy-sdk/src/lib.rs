//! Envoy's dynamic module ABI v0.1.0, safely: HTTP filters and bootstrap extensions.
//!
//! Names and signatures are those of Envoy's own Rust SDK for the part that is here, so that the
//! public crate can take the place of this one. What that crate lacks is [`has_deferred_hooks`] and
//! [`with_config_metrics`]; what it leaves to each filter is done here once:
//!
//! - Every function that Envoy calls catches panics. A panic answers 500, or resets the stream if
//!   its response has started, and the filter is not called again.
//! - A filter's methods never nest, although Envoy's hooks do, and a filter is dropped only when
//!   none of its methods runs, although Envoy destroys streams inside calls: see [`HttpFilter`].
//! - A call for a stream that is gone, or whose response has ended, does nothing.
//!
//! `unsafe` lives in [`abi`] and in the modules around it; a filter needs none, except that the
//! public SDK marks [`EnvoyHttpFilter::send_http_stream_data`] and its neighbours so.

#![allow(
    clippy::too_many_arguments,
    clippy::needless_lifetimes,
    reason = "the signatures are those of the public SDK and of the C ABI"
)]
#![deny(missing_docs)]

pub mod abi;
pub mod bootstrap;
pub mod buffer;
mod convert;
pub mod http;
mod macros;
#[cfg(any(test, feature = "mock"))]
pub mod mock;
#[cfg(test)]
mod mock_test;
mod server;
#[cfg(any(test, feature = "mock"))]
mod stand_in;

pub use bootstrap::*;
pub use buffer::*;
pub use http::*;
#[cfg(any(test, feature = "mock"))]
pub use mock::{MockEnvoyHttpFilter, MockEnvoyHttpFilterConfig};
pub use server::*;

use std::sync::OnceLock;

/// What a module does when it is loaded, on the main thread; `false` refuses the module.
pub type ProgramInitFunction = fn() -> bool;

/// Makes a filter configuration from its name and bytes; `None` makes Envoy refuse it.
pub type NewHttpFilterConfigFunction<EC, EHF> =
    fn(envoy_filter_config: &mut EC, name: &str, config: &[u8]) -> Option<Box<dyn HttpFilterConfig<EHF>>>;

/// Makes a bootstrap extension's configuration; `None` makes Envoy refuse it.
pub type NewBootstrapExtensionConfigFunction = fn(
    envoy_extension_config: &mut dyn EnvoyBootstrapExtensionConfig,
    name: &str,
    config: &[u8],
) -> Option<Box<dyn BootstrapExtensionConfig>>;

/// The module's filter factory; set by the `declare_…` macros.
pub static NEW_HTTP_FILTER_CONFIG_FUNCTION: OnceLock<
    NewHttpFilterConfigFunction<EnvoyHttpFilterConfigImpl, EnvoyHttpFilterImpl>,
> = OnceLock::new();

/// The module's bootstrap extension factory; set by the `declare_…` macros.
pub static NEW_BOOTSTRAP_EXTENSION_CONFIG_FUNCTION: OnceLock<NewBootstrapExtensionConfigFunction> = OnceLock::new();

macro_rules! metric_ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub struct $name(pub(crate) usize);
        )+
    };
}

metric_ids! {
    /// Names a counter of a configuration.
    EnvoyCounterId;
    /// Names a counter with labels.
    EnvoyCounterVecId;
    /// Names a gauge.
    EnvoyGaugeId;
    /// Names a gauge with labels.
    EnvoyGaugeVecId;
    /// Names a histogram.
    EnvoyHistogramId;
    /// Names a histogram with labels.
    EnvoyHistogramVecId;
}
