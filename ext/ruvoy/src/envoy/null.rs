//! The filter `ruvoy_null`: answers every request inline, without Ruby.
//!
//! It is the ceiling that benchmarks measure against: what one worker can do with a module that does
//! nothing. Its configuration is the body that it answers with.

use std::sync::Arc;

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter, HttpFilter, HttpFilterConfig,
    abi::envoy_dynamic_module_type_on_http_filter_request_headers_status as HeadersStatus,
};

/// The name that a filter configuration asks for it by.
pub const NAME: &str = "ruvoy_null";

/// The body of every answer.
pub struct NullFilterConfig(Arc<[u8]>);

impl NullFilterConfig {
    /// Answers with `body`.
    pub fn new(body: &[u8]) -> Self {
        Self(Arc::from(body))
    }
}

impl<EHF: EnvoyHttpFilter> HttpFilterConfig<EHF> for NullFilterConfig {
    fn new_http_filter(&self, _envoy: &mut EHF) -> Box<dyn HttpFilter<EHF>> {
        Box::new(NullFilter(Arc::clone(&self.0)))
    }
}

struct NullFilter(Arc<[u8]>);

impl<EHF: EnvoyHttpFilter> HttpFilter<EHF> for NullFilter {
    fn on_request_headers(&mut self, envoy_filter: &mut EHF, _end_of_stream: bool) -> HeadersStatus {
        let length = self.0.len().to_string();
        let headers: [(&str, &[u8]); 3] =
            [(":status", b"200"), ("content-type", b"text/plain"), ("content-length", length.as_bytes())];
        envoy_filter.send_response_headers(&headers, self.0.is_empty());
        if !self.0.is_empty() {
            envoy_filter.send_response_data(&self.0, true);
        }
        HeadersStatus::StopIteration
    }
}
