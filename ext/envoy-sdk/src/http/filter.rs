//! What a module implements: the filter's configuration and the filter of one stream.

use super::EnvoyHttpFilter;
use crate::{abi, EnvoyBuffer};

/// The module's side of a filter configuration; dropped when Envoy destroys the configuration.
///
/// Worker threads share it, hence `Sync`.
pub trait HttpFilterConfig<EHF: EnvoyHttpFilter>: Sync {
    /// Makes the filter of a new stream, on the worker thread of that stream.
    ///
    /// # Panics
    ///
    /// The default panics: a configuration without filters is a mistake. The stream gets a 500.
    fn new_http_filter(&self, _envoy: &mut EHF) -> Box<dyn HttpFilter<EHF>> {
        panic!("new_http_filter is not implemented");
    }

    /// An event that was committed with the configuration's scheduler; on the main thread.
    fn on_scheduled(&self, _event_id: u64) {}
}

/// The module's side of one stream. All methods run on the worker thread that made the filter.
///
/// No method runs while another one of the same filter does. What Envoy reports meanwhile is
/// delivered in order as soon as the method has returned, and the filter is dropped only then.
/// After a panic in a method no other method is called; the filter is dropped with its stream, so
/// what must happen on every path belongs in `Drop`.
pub trait HttpFilter<EHF: EnvoyHttpFilter> {
    /// The request's headers arrived; `end_of_stream` means that no body follows.
    fn on_request_headers(
        &mut self,
        _envoy_filter: &mut EHF,
        _end_of_stream: bool,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_request_headers_status {
        abi::envoy_dynamic_module_type_on_http_filter_request_headers_status::Continue
    }

    /// A piece of the request's body arrived.
    fn on_request_body(
        &mut self,
        _envoy_filter: &mut EHF,
        _end_of_stream: bool,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_request_body_status {
        abi::envoy_dynamic_module_type_on_http_filter_request_body_status::Continue
    }

    /// The request's trailers arrived; no body call had `end_of_stream` then.
    fn on_request_trailers(
        &mut self,
        _envoy_filter: &mut EHF,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_request_trailers_status {
        abi::envoy_dynamic_module_type_on_http_filter_request_trailers_status::Continue
    }

    /// The headers of a response that this filter did not send pass by.
    fn on_response_headers(
        &mut self,
        _envoy_filter: &mut EHF,
        _end_of_stream: bool,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_response_headers_status {
        abi::envoy_dynamic_module_type_on_http_filter_response_headers_status::Continue
    }

    /// A piece of the body of such a response passes by.
    fn on_response_body(
        &mut self,
        _envoy_filter: &mut EHF,
        _end_of_stream: bool,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_response_body_status {
        abi::envoy_dynamic_module_type_on_http_filter_response_body_status::Continue
    }

    /// The trailers of such a response pass by.
    fn on_response_trailers(
        &mut self,
        _envoy_filter: &mut EHF,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_response_trailers_status {
        abi::envoy_dynamic_module_type_on_http_filter_response_trailers_status::Continue
    }

    /// The stream ended, however it did. Comes once, possibly without any request hook before it.
    ///
    /// Of Envoy's side statistics can be relied on; the rest may be gone already and then answers
    /// nothing.
    fn on_stream_complete(&mut self, _envoy_filter: &mut EHF) {}

    /// A callout of this filter ended.
    fn on_http_callout_done(
        &mut self,
        _envoy_filter: &mut EHF,
        _callout_id: u64,
        _result: abi::envoy_dynamic_module_type_http_callout_result,
        _response_headers: Option<&[(EnvoyBuffer, EnvoyBuffer)]>,
        _response_body: Option<&[EnvoyBuffer]>,
    ) {
    }

    /// The response headers of an HTTP stream of this filter arrived.
    fn on_http_stream_headers(
        &mut self,
        _envoy_filter: &mut EHF,
        _stream_handle: u64,
        _response_headers: &[(EnvoyBuffer, EnvoyBuffer)],
        _end_stream: bool,
    ) {
    }

    /// A piece of the response body of an HTTP stream of this filter arrived.
    fn on_http_stream_data(
        &mut self,
        _envoy_filter: &mut EHF,
        _stream_handle: u64,
        _response_data: &[EnvoyBuffer],
        _end_stream: bool,
    ) {
    }

    /// The response trailers of an HTTP stream of this filter arrived.
    fn on_http_stream_trailers(
        &mut self,
        _envoy_filter: &mut EHF,
        _stream_handle: u64,
        _response_trailers: &[(EnvoyBuffer, EnvoyBuffer)],
    ) {
    }

    /// An HTTP stream of this filter ended well; its handle is no longer valid.
    fn on_http_stream_complete(&mut self, _envoy_filter: &mut EHF, _stream_handle: u64) {}

    /// An HTTP stream of this filter failed or was cancelled; its handle is no longer valid.
    fn on_http_stream_reset(
        &mut self,
        _envoy_filter: &mut EHF,
        _stream_handle: u64,
        _reset_reason: abi::envoy_dynamic_module_type_http_stream_reset_reason,
    ) {
    }

    /// An event that was committed with a scheduler of this filter.
    fn on_scheduled(&mut self, _envoy_filter: &mut EHF, _event_id: u64) {}

    /// The client reads too slowly: stop sending. May come several times, see the next method.
    ///
    /// Comes after the method that sent too much has returned, see
    /// [`has_deferred_hooks`](crate::has_deferred_hooks), or in the stream's next turn of the event
    /// loop.
    fn on_downstream_above_write_buffer_high_watermark(&mut self, _envoy_filter: &mut EHF) {}

    /// The client caught up: one of the "above" calls is taken back. Go on when all of them are.
    fn on_downstream_below_write_buffer_low_watermark(&mut self, _envoy_filter: &mut EHF) {}

    /// Envoy answers this request itself, for instance with a timeout or a 413.
    ///
    /// Not called for the responses that this filter sends. The reply cannot be changed from here,
    /// except by the answer; headers can be added in [`Self::on_response_headers`].
    fn on_local_reply(
        &mut self,
        _envoy_filter: &mut EHF,
        _response_code: u32,
        _details: EnvoyBuffer,
        _reset_imminent: bool,
    ) -> abi::envoy_dynamic_module_type_on_http_filter_local_reply_status {
        abi::envoy_dynamic_module_type_on_http_filter_local_reply_status::Continue
    }
}
