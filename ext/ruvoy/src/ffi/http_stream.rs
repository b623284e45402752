//! Streams to clusters that a filter started, by the SDK's methods that are marked unsafe. Worker.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter, abi::envoy_dynamic_module_type_http_callout_init_result as InitResult,
};

/// What a stream begins with.
pub struct Opening<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// `:method`, `:path`, `host` and all other fields.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// The body, or its beginning.
    pub body: &'a [u8],
    /// Whether that is all.
    pub end_stream: bool,
    /// From the request's end to the answer's; 0 is no limit.
    pub timeout_ms: u64,
}

/// A stream that the filter which holds this has started. Its handle leaves this type only to be compared.
#[derive(Debug)]
pub struct HttpStream(u64);

impl HttpStream {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// Envoy's, and no event of the stream will come.
    pub fn start<EHF: EnvoyHttpFilter>(envoy: &mut EHF, opening: &Opening) -> Result<Self, InitResult> {
        let Opening { cluster, fields, body, end_stream, timeout_ms } = *opening;
        match envoy.start_http_stream(cluster, fields, Some(body), end_stream, timeout_ms) {
            (InitResult::Success, handle) => Ok(Self(handle)),
            (error, _) => Err(error),
        }
    }

    /// Whether an event's handle is this stream's.
    pub fn is(&self, handle: u64) -> bool {
        self.0 == handle
    }

    /// Sends a piece of the request's body, or its end.
    pub fn send<EHF: EnvoyHttpFilter>(&self, envoy: &mut EHF, data: &[u8], end_stream: bool) {
        // SAFETY: the handle comes from `start` on the same filter, for a filter keeps its streams to
        // itself; one that has ended is refused by Envoy, which looks it up.
        unsafe { envoy.send_http_stream_data(self.0, data, end_stream) };
    }

    /// Resets the stream.
    pub fn reset<EHF: EnvoyHttpFilter>(self, envoy: &mut EHF) {
        // SAFETY: as in `send`.
        unsafe { envoy.reset_http_stream(self.0) };
    }
}
