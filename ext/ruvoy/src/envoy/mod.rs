//! The Envoy side: the module's entry points, its filter configuration and its filters.
//!
//! Configurations live on the main thread, filters each on the worker of its stream. Nothing here
//! calls Ruby or blocks, but for the one wait of a configuration for its application to load.

mod bell;
mod egress;
mod extension;
mod filter;
mod ingress;
pub mod local_reply;
pub mod log;
mod metadata;
mod metrics;
mod null;
mod offers;
#[cfg(all(test, not(loom)))]
mod tests;
mod upstream;

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter, EnvoyHttpFilterConfig, HttpFilter, HttpFilterConfig, declare_all_init_functions,
};

use self::{filter::RackFilter, metrics::Metrics, null::NullFilterConfig, offers::Offers};
use crate::{
    config::Config,
    exchange::{Arc, Exchange, Limits},
    ruby,
};

declare_all_init_functions!(program_init, http: new_http_filter_config, bootstrap: extension::new_extension_config);

fn program_init() -> bool {
    ruby::vm::prepare_process();
    true
}

fn new_http_filter_config<EC: EnvoyHttpFilterConfig, EHF: EnvoyHttpFilter>(
    envoy_filter_config: &mut EC,
    name: &str,
    bytes: &[u8],
) -> Option<Box<dyn HttpFilterConfig<EHF>>> {
    if name == null::NAME {
        return Some(Box::new(NullFilterConfig::new(bytes)));
    }
    match RackFilterConfig::new(envoy_filter_config, bytes) {
        Ok(config) => Some(Box::new(config)),
        Err(why) => {
            log::write(log::Level::Error, &why);
            None
        }
    }
}

/// A filter configuration whose application is loaded.
struct RackFilterConfig {
    exchange: Arc<Exchange>,
    limits: Limits,
    metrics: Metrics,
    offers: Option<Arc<Offers>>,
}

impl RackFilterConfig {
    fn new<EC: EnvoyHttpFilterConfig>(envoy: &mut EC, bytes: &[u8]) -> Result<Self, String> {
        let config = Config::parse(bytes, &|name| std::env::var(name).ok()).map_err(|error| error.to_string())?;
        let exchange = ruby::vm::boot(&config)?;
        let metrics = Metrics::define(envoy).map_err(|error| format!("statistics cannot be defined: {error:?}"))?;
        Ok(Self { exchange, limits: config.limits, metrics, offers: Offers::new(&config) })
    }
}

impl<EHF: EnvoyHttpFilter> HttpFilterConfig<EHF> for RackFilterConfig {
    fn new_http_filter(&self, _envoy: &mut EHF) -> Box<dyn HttpFilter<EHF>> {
        Box::new(RackFilter::new(Arc::clone(&self.exchange), self.limits, self.metrics, self.offers.clone()))
    }
}
