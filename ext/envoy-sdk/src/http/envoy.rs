//! What Envoy offers a module: the traits of its filter configuration, its filter of one stream,
//! schedulers and spans.

use crate::abi::{
    envoy_dynamic_module_type_attribute_id as AttributeId,
    envoy_dynamic_module_type_http_callout_init_result as InitResult,
    envoy_dynamic_module_type_http_filter_stream_reset_reason as ResetReason,
    envoy_dynamic_module_type_metadata_source as MetadataSource,
    envoy_dynamic_module_type_metrics_result as MetricsResult,
};
use crate::{
    EnvoyBuffer, EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId,
    EnvoyHistogramVecId, EnvoyMutBuffer,
};

/// Envoy's side of a filter configuration.
///
/// # Errors
///
/// Statistics can be defined only while the configuration is being made: `Frozen` afterwards.
/// `InvalidLabels` for labels that Envoy cannot take.
pub trait EnvoyHttpFilterConfig {
    /// Defines a counter.
    fn define_counter(&mut self, name: &str) -> Result<EnvoyCounterId, MetricsResult>;

    /// Defines a counter with labels.
    fn define_counter_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyCounterVecId, MetricsResult>;

    /// Defines a gauge.
    fn define_gauge(&mut self, name: &str) -> Result<EnvoyGaugeId, MetricsResult>;

    /// Defines a gauge with labels.
    fn define_gauge_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyGaugeVecId, MetricsResult>;

    /// Defines a histogram.
    fn define_histogram(&mut self, name: &str) -> Result<EnvoyHistogramId, MetricsResult>;

    /// Defines a histogram with labels.
    fn define_histogram_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyHistogramVecId, MetricsResult>;

    /// A scheduler whose events arrive on the main thread, at
    /// [`HttpFilterConfig::on_scheduled`](super::HttpFilterConfig::on_scheduled).
    fn new_scheduler(&self) -> Box<dyn EnvoyHttpFilterConfigScheduler>;
}

/// Envoy's side of one stream; usable only inside the hooks of that stream's filter.
///
/// Once the stream is gone every call is harmless: it does nothing and answers `None`, `false`,
/// zero or an empty list. Body views are empty as soon as the response has ended.
///
/// # Errors
///
/// Statistics: `MetricNotFound` for an identifier of another configuration, `InvalidLabels` for a
/// wrong number of labels.
pub trait EnvoyHttpFilter {
    /// The first value of a request header.
    fn get_request_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>>;

    /// All values of a request header.
    fn get_request_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>>;

    /// All request headers.
    fn get_request_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)>;

    /// Replaces a request header; whether that worked.
    fn set_request_header(&mut self, key: &str, value: &[u8]) -> bool;

    /// Adds a request header; whether that worked.
    fn add_request_header(&mut self, key: &str, value: &[u8]) -> bool;

    /// Removes a request header; whether that worked.
    fn remove_request_header(&mut self, key: &str) -> bool;

    /// The first value of a request trailer.
    fn get_request_trailer_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>>;

    /// All values of a request trailer.
    fn get_request_trailer_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>>;

    /// All request trailers.
    fn get_request_trailers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)>;

    /// The first value of a response header.
    fn get_response_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>>;

    /// All values of a response header.
    fn get_response_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>>;

    /// All response headers.
    fn get_response_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)>;

    /// Replaces a response header; whether that worked.
    fn set_response_header(&mut self, key: &str, value: &[u8]) -> bool;

    /// Adds a response header; whether that worked.
    fn add_response_header(&mut self, key: &str, value: &[u8]) -> bool;

    /// Removes a response header; whether that worked.
    fn remove_response_header(&mut self, key: &str) -> bool;

    /// Sends a complete response. Envoy sets content-length, and content-type if there is none.
    fn send_response<'a>(
        &mut self,
        status_code: u32,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        details: Option<&'a str>,
    );

    /// Sends the headers of a response, `:status` among them.
    fn send_response_headers<'a>(&mut self, headers: &'a [(&'a str, &'a [u8])], end_stream: bool);

    /// Sends a piece of the response's body; it is copied.
    fn send_response_data<'a>(&mut self, body: &'a [u8], end_stream: bool);

    /// Sends the response's trailers, which end it.
    fn send_response_trailers<'a>(&mut self, trailers: &'a [(&'a str, &'a [u8])]);

    /// Marks the stream in access logs with a short word without spaces.
    fn add_custom_flag(&mut self, flag: &str);

    /// A number of the metadata.
    fn get_metadata_number(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<f64>;

    /// Sets a number in the stream's dynamic metadata.
    fn set_dynamic_metadata_number(&mut self, namespace: &str, key: &str, value: f64);

    /// A string of the metadata.
    fn get_metadata_string<'a>(&'a self, source: MetadataSource, namespace: &str, key: &str)
        -> Option<EnvoyBuffer<'a>>;

    /// Sets a string in the stream's dynamic metadata.
    fn set_dynamic_metadata_string(&mut self, namespace: &str, key: &str, value: &str);

    /// A boolean of the metadata.
    fn get_metadata_bool(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<bool>;

    /// Sets a boolean in the stream's dynamic metadata.
    fn set_dynamic_metadata_bool(&mut self, namespace: &str, key: &str, value: bool);

    /// The keys of a namespace of the metadata; `None` if it has none.
    fn get_metadata_keys<'a>(&'a self, source: MetadataSource, namespace: &str) -> Option<Vec<EnvoyBuffer<'a>>>;

    /// The namespaces of the metadata; `None` if there are none.
    fn get_metadata_namespaces<'a>(&'a self, source: MetadataSource) -> Option<Vec<EnvoyBuffer<'a>>>;

    /// How many elements a list of the metadata has.
    fn get_metadata_list_size(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<usize>;

    /// A number in a list of the metadata.
    fn get_metadata_list_number(&self, source: MetadataSource, namespace: &str, key: &str, index: usize)
        -> Option<f64>;

    /// A string in a list of the metadata.
    fn get_metadata_list_string<'a>(
        &'a self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
        index: usize,
    ) -> Option<EnvoyBuffer<'a>>;

    /// A boolean in a list of the metadata.
    fn get_metadata_list_bool(&self, source: MetadataSource, namespace: &str, key: &str, index: usize) -> Option<bool>;

    /// The piece of request body that this very
    /// [`on_request_body`](super::HttpFilter::on_request_body) is about.
    fn get_received_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>>;

    /// What Envoy holds of the request body, without the piece just received.
    fn get_buffered_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>>;

    /// The bytes of [`Self::get_received_request_body`].
    fn get_received_request_body_size(&mut self) -> usize;

    /// The bytes of [`Self::get_buffered_request_body`].
    fn get_buffered_request_body_size(&mut self) -> usize;

    /// Removes bytes from the front of the piece just received; whether there was one.
    fn drain_received_request_body(&mut self, number_of_bytes: usize) -> bool;

    /// Removes bytes from the front of what Envoy holds; whether there was a body.
    fn drain_buffered_request_body(&mut self, number_of_bytes: usize) -> bool;

    /// Whether the piece just received is what an earlier filter had buffered.
    fn received_buffered_request_body(&mut self) -> bool;

    /// Makes Envoy choose the route anew.
    fn clear_route_cache(&mut self);

    /// An attribute that is a string.
    fn get_attribute_string<'a>(&'a self, attribute_id: AttributeId) -> Option<EnvoyBuffer<'a>>;

    /// An attribute that is an integer.
    fn get_attribute_int(&self, attribute_id: AttributeId) -> Option<i64>;

    /// An attribute that is a boolean.
    fn get_attribute_bool(&self, attribute_id: AttributeId) -> Option<bool>;

    /// Sends a request to a cluster and buffers the answer; the number names the callout.
    ///
    /// The headers need `:method`, `:path` and `host`. The answer arrives at
    /// [`on_http_callout_done`](super::HttpFilter::on_http_callout_done), always after the method
    /// that made the call has returned.
    fn send_http_callout<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64);

    /// Starts a request to a cluster whose answer arrives in pieces; the number is its handle.
    ///
    /// The headers need `:method`, `:path` and `host`. The pieces arrive at the
    /// `on_http_stream_…` methods, always after the method that made the call has returned.
    fn start_http_stream<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        end_stream: bool,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64);

    /// Sends a piece of the body of an HTTP stream; whether it was taken.
    ///
    /// # Safety
    ///
    /// `stream_handle` must come from [`Self::start_http_stream`] of the same filter. This
    /// implementation looks the handle up and answers `false` to any other; the marker keeps the
    /// public SDK's signature.
    unsafe fn send_http_stream_data(&mut self, stream_handle: u64, data: &[u8], end_stream: bool) -> bool;

    /// Sends the trailers of an HTTP stream, which end its request; whether they were taken.
    ///
    /// # Safety
    ///
    /// As for [`Self::send_http_stream_data`].
    unsafe fn send_http_stream_trailers<'a>(&mut self, stream_handle: u64, trailers: &'a [(&'a str, &'a [u8])])
        -> bool;

    /// Cancels an HTTP stream; [`on_http_stream_reset`](super::HttpFilter::on_http_stream_reset)
    /// follows.
    ///
    /// # Safety
    ///
    /// As for [`Self::send_http_stream_data`].
    unsafe fn reset_http_stream(&mut self, stream_handle: u64);

    /// Hands the request on to the next filter after it was stopped; never in a terminal filter.
    fn continue_decoding(&mut self);

    /// Hands the response on to the next filter after it was stopped.
    fn continue_encoding(&mut self);

    /// A scheduler whose events arrive at
    /// [`on_scheduled`](super::HttpFilter::on_scheduled) of this filter, on its worker.
    fn new_scheduler(&self) -> impl EnvoyHttpFilterScheduler + 'static;

    /// Adds to a counter.
    fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult>;

    /// Adds to a counter with labels.
    fn increment_counter_vec<'a>(
        &self,
        id: EnvoyCounterVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;

    /// Adds to a gauge.
    fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Adds to a gauge with labels.
    fn increase_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult>;

    /// Subtracts from a gauge.
    fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Subtracts from a gauge with labels.
    fn decrease_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult>;

    /// Sets a gauge.
    fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult>;

    /// Sets a gauge with labels.
    fn set_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult>;

    /// Records a value in a histogram.
    fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult>;

    /// Records a value in a histogram with labels.
    fn record_histogram_value_vec<'a>(
        &self,
        id: EnvoyHistogramVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult>;

    /// The index of this stream's worker.
    fn get_worker_index(&self) -> u32;

    /// How many bytes of a body Envoy holds before it stops reading; 0 is no limit.
    fn get_buffer_limit(&self) -> u64;

    /// Sets how many bytes of a body Envoy holds before it stops reading.
    fn set_buffer_limit(&mut self, limit: u64);

    /// The stream's tracing span; `None` when tracing is off.
    fn get_active_span<'a>(&'a self) -> Option<Box<dyn EnvoySpan + 'a>>;

    /// Resets the stream: HTTP/1 closes the connection, HTTP/2 sends RST_STREAM.
    fn reset_stream(&mut self, reason: ResetReason, details: &str);

    /// Closes the client's connection, after the streams in flight if `graceful`.
    fn send_go_away_and_close(&mut self, graceful: bool);
}

/// A tracing span of Envoy's. Its texts are copies.
pub trait EnvoySpan {
    /// Sets a tag.
    fn set_tag(&self, key: &str, value: &str);

    /// A baggage item.
    fn get_baggage(&self, key: &str) -> Option<String>;

    /// The identifier of the trace.
    fn get_trace_id(&self) -> Option<String>;

    /// The identifier of the span.
    fn get_span_id(&self) -> Option<String>;
}

/// Brings events to the worker of one stream, from any thread.
pub trait EnvoyHttpFilterScheduler: Send + Sync {
    /// Makes [`on_scheduled`](super::HttpFilter::on_scheduled) run with `event_id` on the
    /// stream's worker, unless the stream is gone by then.
    fn commit(&self, event_id: u64);
}

impl EnvoyHttpFilterScheduler for Box<dyn EnvoyHttpFilterScheduler> {
    fn commit(&self, event_id: u64) {
        (**self).commit(event_id);
    }
}

/// Brings events of one filter configuration to the main thread, from any thread.
pub trait EnvoyHttpFilterConfigScheduler: Send + Sync {
    /// Makes [`on_scheduled`](super::HttpFilterConfig::on_scheduled) run with `event_id` on the
    /// main thread, unless the configuration is gone by then.
    fn commit(&self, event_id: u64);
}

impl EnvoyHttpFilterConfigScheduler for Box<dyn EnvoyHttpFilterConfigScheduler> {
    fn commit(&self, event_id: u64) {
        (**self).commit(event_id);
    }
}
