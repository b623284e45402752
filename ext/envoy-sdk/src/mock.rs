//! A mock of Envoy's side, so that filters are unit-tested without Envoy. Behind the feature `mock`.
//!
//! Getters answer from public fields; what the filter does is recorded as [`Call`]s. Bodies really
//! drain. Nothing calls hooks back: a test does that itself.
//!
//! ```
//! use envoy_proxy_dynamic_modules_rust_sdk::{mock::Call, *};
//!
//! struct Hello;
//! impl<EHF: EnvoyHttpFilter> HttpFilter<EHF> for Hello {
//!     fn on_scheduled(&mut self, envoy: &mut EHF, _event_id: u64) {
//!         envoy.send_response_data(b"hello", true);
//!     }
//! }
//!
//! let mut envoy = MockEnvoyHttpFilter::default();
//! Hello.on_scheduled(&mut envoy, 1);
//! assert_eq!(envoy.calls(), [Call::SendResponseData { body: b"hello".to_vec(), end_stream: true }]);
//! ```

use crate::abi::{
    envoy_dynamic_module_type_attribute_id as AttributeId,
    envoy_dynamic_module_type_http_callout_init_result as InitResult,
    envoy_dynamic_module_type_http_filter_stream_reset_reason as ResetReason,
    envoy_dynamic_module_type_log_level as Level, envoy_dynamic_module_type_metadata_source as MetadataSource,
    envoy_dynamic_module_type_metrics_result as MetricsResult,
};
use crate::{
    stand_in, EnvoyBuffer, EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId,
    EnvoyHistogramVecId, EnvoyHttpFilter, EnvoyHttpFilterConfig, EnvoyHttpFilterConfigScheduler,
    EnvoyHttpFilterScheduler, EnvoyMutBuffer, EnvoySpan,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The lines that were logged on this thread since the last call.
pub fn take_logged() -> Vec<(Level, String)> {
    stand_in::take_logged()
}

/// Makes [`has_deferred_hooks`](crate::has_deferred_hooks) answer `deferred` on this thread.
pub fn set_deferred_hooks(deferred: bool) {
    stand_in::set_deferred_hooks(deferred);
}

/// Header fields in order.
pub type Headers = Vec<(String, Vec<u8>)>;

/// Something that a filter did.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are the arguments of the methods")]
pub enum Call {
    SetRequestHeader { key: String, value: Option<Vec<u8>> },
    AddRequestHeader { key: String, value: Vec<u8> },
    SetResponseHeader { key: String, value: Option<Vec<u8>> },
    AddResponseHeader { key: String, value: Vec<u8> },
    SendResponse { status: u32, headers: Headers, body: Vec<u8>, details: String },
    SendResponseHeaders { headers: Headers, end_stream: bool },
    SendResponseData { body: Vec<u8>, end_stream: bool },
    SendResponseTrailers { trailers: Headers },
    AddCustomFlag { flag: String },
    SetDynamicMetadata { namespace: String, key: String, value: Metadata },
    DrainReceived { bytes: usize },
    DrainBuffered { bytes: usize },
    ClearRouteCache,
    HttpCallout { id: u64, cluster: String, headers: Headers, body: Vec<u8>, timeout_ms: u64 },
    StartHttpStream { id: u64, cluster: String, headers: Headers, body: Vec<u8>, end_stream: bool, timeout_ms: u64 },
    SendHttpStreamData { id: u64, data: Vec<u8>, end_stream: bool },
    SendHttpStreamTrailers { id: u64, trailers: Headers },
    ResetHttpStream { id: u64 },
    ContinueDecoding,
    ContinueEncoding,
    SetBufferLimit { limit: u64 },
    ResetStream { reason: ResetReason, details: String },
    SendGoAwayAndClose { graceful: bool },
    Metric { operation: MetricOperation, id: usize, labels: Vec<String>, value: u64 },
}

/// What was done to a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the methods are")]
pub enum MetricOperation {
    IncrementCounter,
    IncreaseGauge,
    DecreaseGauge,
    SetGauge,
    RecordHistogram,
}

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the getters are")]
pub enum Attribute {
    String(Vec<u8>),
    Int(i64),
    Bool(bool),
}

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "named as the getters are")]
pub enum Metadata {
    Number(f64),
    String(Vec<u8>),
    Bool(bool),
    List(Vec<Metadata>),
}

/// The metadata of one source: namespaces of keys.
pub type Namespaces = BTreeMap<String, BTreeMap<String, Metadata>>;

/// What was committed to schedulers, in order, from all threads.
#[derive(Debug, Clone, Default)]
pub struct Commits(Arc<Mutex<Vec<u64>>>);

impl Commits {
    /// The events committed since the last call.
    pub fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, event_id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event_id);
    }
}

impl EnvoyHttpFilterScheduler for Commits {
    fn commit(&self, event_id: u64) {
        self.push(event_id);
    }
}

impl EnvoyHttpFilterConfigScheduler for Commits {
    fn commit(&self, event_id: u64) {
        self.push(event_id);
    }
}

/// A stream whose answers are its fields.
#[derive(Debug, Default)]
pub struct MockEnvoyHttpFilter {
    /// The request's headers.
    pub request_headers: Headers,
    /// The request's trailers.
    pub request_trailers: Headers,
    /// The headers of a response passing by.
    pub response_headers: Headers,
    /// The chunks that the current body hook is about.
    pub received_body: Option<Vec<Vec<u8>>>,
    /// The chunks that Envoy holds.
    pub buffered_body: Option<Vec<Vec<u8>>>,
    /// Whether the received chunks are what an earlier filter had buffered.
    pub received_buffered: bool,
    /// Attributes.
    pub attributes: HashMap<AttributeId, Attribute>,
    /// Metadata.
    pub metadata: HashMap<MetadataSource, Namespaces>,
    /// Bytes that Envoy holds of a body.
    pub buffer_limit: u64,
    /// The worker's index.
    pub worker_index: u32,
    /// The tracing span.
    pub span: Option<MockSpan>,
    /// How callouts and HTTP streams begin; `None` succeeds.
    pub callout_error: Option<InitResult>,
    /// Whether data and trailers of HTTP streams are refused.
    pub refuse_http_stream_data: bool,
    /// What was committed to the schedulers of this stream.
    pub commits: Commits,
    next_id: u64,
    calls: RefCell<Vec<Call>>,
}

/// A tracing span whose answers are its fields.
#[derive(Debug, Clone, Default)]
pub struct MockSpan {
    /// The identifier of the trace.
    pub trace_id: Option<String>,
    /// The identifier of the span.
    pub span_id: Option<String>,
    /// Baggage items.
    pub baggage: HashMap<String, String>,
    /// The tags that were set.
    pub tags: RefCell<Vec<(String, String)>>,
}

impl EnvoySpan for MockSpan {
    fn set_tag(&self, key: &str, value: &str) {
        self.tags.borrow_mut().push((key.into(), value.into()));
    }

    fn get_baggage(&self, key: &str) -> Option<String> {
        self.baggage.get(key).cloned()
    }

    fn get_trace_id(&self) -> Option<String> {
        self.trace_id.clone()
    }

    fn get_span_id(&self) -> Option<String> {
        self.span_id.clone()
    }
}

// The mock's spans are read through a reference.
impl EnvoySpan for &MockSpan {
    fn set_tag(&self, key: &str, value: &str) {
        (**self).set_tag(key, value);
    }

    fn get_baggage(&self, key: &str) -> Option<String> {
        (**self).get_baggage(key)
    }

    fn get_trace_id(&self) -> Option<String> {
        (**self).get_trace_id()
    }

    fn get_span_id(&self) -> Option<String> {
        (**self).get_span_id()
    }
}

impl MockEnvoyHttpFilter {
    /// What the filter did so far.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }

    /// What the filter did since the last call.
    pub fn take_calls(&self) -> Vec<Call> {
        self.calls.take()
    }

    /// The bytes of the response's body that were sent so far, however they were.
    pub fn sent_body(&self) -> Vec<u8> {
        let mut sent = Vec::new();
        for call in self.calls.borrow().iter() {
            if let Call::SendResponseData { body, .. } | Call::SendResponse { body, .. } = call {
                sent.extend_from_slice(body);
            }
        }
        sent
    }

    fn call(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }

    fn metric(&self, operation: MetricOperation, id: usize, labels: &[&str], value: u64) -> Result<(), MetricsResult> {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.call(Call::Metric { operation, id, labels, value });
        Ok(())
    }

    fn begin(&mut self) -> Result<u64, InitResult> {
        if let Some(error) = self.callout_error {
            return Err(error);
        }
        self.next_id += 1;
        Ok(self.next_id)
    }

    fn metadata_value(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<&Metadata> {
        self.metadata.get(&source)?.get(namespace)?.get(key)
    }

    fn list(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<&Vec<Metadata>> {
        match self.metadata_value(source, namespace, key)? {
            Metadata::List(list) => Some(list),
            _ => None,
        }
    }

    fn set_metadata(&mut self, namespace: &str, key: &str, value: Metadata) {
        let namespaces = self.metadata.entry(MetadataSource::Dynamic).or_default();
        namespaces.entry(namespace.into()).or_default().insert(key.into(), value.clone());
        self.call(Call::SetDynamicMetadata { namespace: namespace.into(), key: key.into(), value });
    }
}

fn owned(headers: &[(&str, &[u8])]) -> Headers {
    headers.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect()
}

fn values<'a>(headers: &'a Headers, key: &str) -> Vec<EnvoyBuffer<'a>> {
    let same = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(key));
    same.map(|(_, value)| value.as_slice().into()).collect()
}

fn views(headers: &Headers) -> Vec<(EnvoyBuffer<'_>, EnvoyBuffer<'_>)> {
    headers.iter().map(|(key, value)| (key.as_bytes().into(), value.as_slice().into())).collect()
}

fn chunks(body: &mut Option<Vec<Vec<u8>>>) -> Option<Vec<EnvoyMutBuffer<'_>>> {
    let view = |chunk: &mut Vec<u8>| {
        // SAFETY: the view borrows the mock mutably, so the chunk stays and nobody else touches it.
        unsafe { EnvoyMutBuffer::new_from_raw(chunk.as_mut_ptr(), chunk.len()) }
    };
    // As Envoy does: an empty body is no body.
    body.as_mut().filter(|body| !body.is_empty()).map(|body| body.iter_mut().map(view).collect())
}

fn size(body: &Option<Vec<Vec<u8>>>) -> usize {
    body.iter().flatten().map(Vec::len).sum()
}

fn drain(body: &mut Option<Vec<Vec<u8>>>, mut bytes: usize) -> bool {
    let Some(body) = body else { return false };
    while bytes > 0 && !body.is_empty() {
        let drained = bytes.min(body[0].len());
        body[0].drain(..drained);
        bytes -= drained;
        if body[0].is_empty() {
            body.remove(0);
        }
    }
    true
}

fn replace(headers: &mut Headers, key: &str, value: Option<&[u8]>) {
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(key));
    headers.extend(value.map(|value| (key.to_owned(), value.to_vec())));
}

impl EnvoyHttpFilter for MockEnvoyHttpFilter {
    fn get_request_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        values(&self.request_headers, key).first().copied()
    }

    fn get_request_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        values(&self.request_headers, key)
    }

    fn get_request_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        views(&self.request_headers)
    }

    fn set_request_header(&mut self, key: &str, value: &[u8]) -> bool {
        replace(&mut self.request_headers, key, Some(value));
        self.call(Call::SetRequestHeader { key: key.into(), value: Some(value.into()) });
        true
    }

    fn add_request_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.request_headers.push((key.into(), value.into()));
        self.call(Call::AddRequestHeader { key: key.into(), value: value.into() });
        true
    }

    fn remove_request_header(&mut self, key: &str) -> bool {
        replace(&mut self.request_headers, key, None);
        self.call(Call::SetRequestHeader { key: key.into(), value: None });
        true
    }

    fn get_request_trailer_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        values(&self.request_trailers, key).first().copied()
    }

    fn get_request_trailer_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        values(&self.request_trailers, key)
    }

    fn get_request_trailers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        views(&self.request_trailers)
    }

    fn get_response_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        values(&self.response_headers, key).first().copied()
    }

    fn get_response_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        values(&self.response_headers, key)
    }

    fn get_response_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        views(&self.response_headers)
    }

    fn set_response_header(&mut self, key: &str, value: &[u8]) -> bool {
        replace(&mut self.response_headers, key, Some(value));
        self.call(Call::SetResponseHeader { key: key.into(), value: Some(value.into()) });
        true
    }

    fn add_response_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.response_headers.push((key.into(), value.into()));
        self.call(Call::AddResponseHeader { key: key.into(), value: value.into() });
        true
    }

    fn remove_response_header(&mut self, key: &str) -> bool {
        replace(&mut self.response_headers, key, None);
        self.call(Call::SetResponseHeader { key: key.into(), value: None });
        true
    }

    fn send_response<'a>(
        &mut self,
        status_code: u32,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        details: Option<&'a str>,
    ) {
        self.call(Call::SendResponse {
            status: status_code,
            headers: owned(headers),
            body: body.unwrap_or_default().into(),
            details: details.unwrap_or_default().into(),
        });
    }

    fn send_response_headers<'a>(&mut self, headers: &'a [(&'a str, &'a [u8])], end_stream: bool) {
        self.call(Call::SendResponseHeaders { headers: owned(headers), end_stream });
    }

    fn send_response_data<'a>(&mut self, body: &'a [u8], end_stream: bool) {
        self.call(Call::SendResponseData { body: body.into(), end_stream });
    }

    fn send_response_trailers<'a>(&mut self, trailers: &'a [(&'a str, &'a [u8])]) {
        self.call(Call::SendResponseTrailers { trailers: owned(trailers) });
    }

    fn add_custom_flag(&mut self, flag: &str) {
        self.call(Call::AddCustomFlag { flag: flag.into() });
    }

    fn get_metadata_number(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<f64> {
        number(self.metadata_value(source, namespace, key)?)
    }

    fn set_dynamic_metadata_number(&mut self, namespace: &str, key: &str, value: f64) {
        self.set_metadata(namespace, key, Metadata::Number(value));
    }

    fn get_metadata_string<'a>(
        &'a self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
    ) -> Option<EnvoyBuffer<'a>> {
        string(self.metadata_value(source, namespace, key)?)
    }

    fn set_dynamic_metadata_string(&mut self, namespace: &str, key: &str, value: &str) {
        self.set_metadata(namespace, key, Metadata::String(value.into()));
    }

    fn get_metadata_bool(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<bool> {
        boolean(self.metadata_value(source, namespace, key)?)
    }

    fn set_dynamic_metadata_bool(&mut self, namespace: &str, key: &str, value: bool) {
        self.set_metadata(namespace, key, Metadata::Bool(value));
    }

    fn get_metadata_keys<'a>(&'a self, source: MetadataSource, namespace: &str) -> Option<Vec<EnvoyBuffer<'a>>> {
        let keys = self.metadata.get(&source)?.get(namespace)?.keys();
        Some(keys.map(|key| key.as_bytes().into()).collect())
    }

    fn get_metadata_namespaces<'a>(&'a self, source: MetadataSource) -> Option<Vec<EnvoyBuffer<'a>>> {
        let namespaces = self.metadata.get(&source)?.keys();
        Some(namespaces.map(|namespace| namespace.as_bytes().into()).collect())
    }

    fn get_metadata_list_size(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<usize> {
        self.list(source, namespace, key).map(Vec::len)
    }

    fn get_metadata_list_number(
        &self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
        index: usize,
    ) -> Option<f64> {
        number(self.list(source, namespace, key)?.get(index)?)
    }

    fn get_metadata_list_string<'a>(
        &'a self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
        index: usize,
    ) -> Option<EnvoyBuffer<'a>> {
        string(self.list(source, namespace, key)?.get(index)?)
    }

    fn get_metadata_list_bool(&self, source: MetadataSource, namespace: &str, key: &str, index: usize) -> Option<bool> {
        boolean(self.list(source, namespace, key)?.get(index)?)
    }

    fn get_received_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>> {
        chunks(&mut self.received_body)
    }

    fn get_buffered_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>> {
        chunks(&mut self.buffered_body)
    }

    fn get_received_request_body_size(&mut self) -> usize {
        size(&self.received_body)
    }

    fn get_buffered_request_body_size(&mut self) -> usize {
        size(&self.buffered_body)
    }

    fn drain_received_request_body(&mut self, number_of_bytes: usize) -> bool {
        self.call(Call::DrainReceived { bytes: number_of_bytes });
        drain(&mut self.received_body, number_of_bytes)
    }

    fn drain_buffered_request_body(&mut self, number_of_bytes: usize) -> bool {
        self.call(Call::DrainBuffered { bytes: number_of_bytes });
        drain(&mut self.buffered_body, number_of_bytes)
    }

    fn received_buffered_request_body(&mut self) -> bool {
        self.received_buffered
    }

    fn clear_route_cache(&mut self) {
        self.call(Call::ClearRouteCache);
    }

    fn get_attribute_string<'a>(&'a self, attribute_id: AttributeId) -> Option<EnvoyBuffer<'a>> {
        match self.attributes.get(&attribute_id)? {
            Attribute::String(value) => Some(value.as_slice().into()),
            _ => None,
        }
    }

    fn get_attribute_int(&self, attribute_id: AttributeId) -> Option<i64> {
        match self.attributes.get(&attribute_id)? {
            Attribute::Int(value) => Some(*value),
            _ => None,
        }
    }

    fn get_attribute_bool(&self, attribute_id: AttributeId) -> Option<bool> {
        match self.attributes.get(&attribute_id)? {
            Attribute::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn send_http_callout<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64) {
        match self.begin() {
            Err(error) => (error, 0),
            Ok(id) => {
                self.call(Call::HttpCallout {
                    id,
                    cluster: cluster_name.into(),
                    headers: owned(headers),
                    body: body.unwrap_or_default().into(),
                    timeout_ms: timeout_milliseconds,
                });
                (InitResult::Success, id)
            }
        }
    }

    fn start_http_stream<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        end_stream: bool,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64) {
        match self.begin() {
            Err(error) => (error, 0),
            Ok(id) => {
                self.call(Call::StartHttpStream {
                    id,
                    cluster: cluster_name.into(),
                    headers: owned(headers),
                    body: body.unwrap_or_default().into(),
                    end_stream,
                    timeout_ms: timeout_milliseconds,
                });
                (InitResult::Success, id)
            }
        }
    }

    unsafe fn send_http_stream_data(&mut self, stream_handle: u64, data: &[u8], end_stream: bool) -> bool {
        self.call(Call::SendHttpStreamData { id: stream_handle, data: data.into(), end_stream });
        !self.refuse_http_stream_data
    }

    unsafe fn send_http_stream_trailers<'a>(
        &mut self,
        stream_handle: u64,
        trailers: &'a [(&'a str, &'a [u8])],
    ) -> bool {
        self.call(Call::SendHttpStreamTrailers { id: stream_handle, trailers: owned(trailers) });
        !self.refuse_http_stream_data
    }

    unsafe fn reset_http_stream(&mut self, stream_handle: u64) {
        self.call(Call::ResetHttpStream { id: stream_handle });
    }

    fn continue_decoding(&mut self) {
        self.call(Call::ContinueDecoding);
    }

    fn continue_encoding(&mut self) {
        self.call(Call::ContinueEncoding);
    }

    fn new_scheduler(&self) -> impl EnvoyHttpFilterScheduler + 'static {
        self.commits.clone()
    }

    fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::IncrementCounter, id.0, &[], value)
    }

    fn increment_counter_vec<'a>(
        &self,
        id: EnvoyCounterVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::IncrementCounter, id.0, labels, value)
    }

    fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::IncreaseGauge, id.0, &[], value)
    }

    fn increase_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::IncreaseGauge, id.0, labels, value)
    }

    fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::DecreaseGauge, id.0, &[], value)
    }

    fn decrease_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::DecreaseGauge, id.0, labels, value)
    }

    fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::SetGauge, id.0, &[], value)
    }

    fn set_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::SetGauge, id.0, labels, value)
    }

    fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::RecordHistogram, id.0, &[], value)
    }

    fn record_histogram_value_vec<'a>(
        &self,
        id: EnvoyHistogramVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        self.metric(MetricOperation::RecordHistogram, id.0, labels, value)
    }

    fn get_worker_index(&self) -> u32 {
        self.worker_index
    }

    fn get_buffer_limit(&self) -> u64 {
        self.buffer_limit
    }

    fn set_buffer_limit(&mut self, limit: u64) {
        self.buffer_limit = limit;
        self.call(Call::SetBufferLimit { limit });
    }

    fn get_active_span<'a>(&'a self) -> Option<Box<dyn EnvoySpan + 'a>> {
        self.span.as_ref().map(|span| Box::new(span) as Box<dyn EnvoySpan>)
    }

    fn reset_stream(&mut self, reason: ResetReason, details: &str) {
        self.call(Call::ResetStream { reason, details: details.into() });
    }

    fn send_go_away_and_close(&mut self, graceful: bool) {
        self.call(Call::SendGoAwayAndClose { graceful });
    }
}

fn number(value: &Metadata) -> Option<f64> {
    match value {
        Metadata::Number(number) => Some(*number),
        _ => None,
    }
}

fn string(value: &Metadata) -> Option<EnvoyBuffer<'_>> {
    match value {
        Metadata::String(string) => Some(string.as_slice().into()),
        _ => None,
    }
}

fn boolean(value: &Metadata) -> Option<bool> {
    match value {
        Metadata::Bool(boolean) => Some(*boolean),
        _ => None,
    }
}

/// A filter configuration that takes every definition and numbers it.
#[derive(Debug, Default)]
pub struct MockEnvoyHttpFilterConfig {
    /// The statistics that were defined: name and labels, by the number of the identifier.
    pub defined: BTreeMap<usize, (String, Vec<String>)>,
    /// What defining a statistic answers; `None` succeeds.
    pub define_error: Option<MetricsResult>,
    /// What was committed to the schedulers of this configuration.
    pub commits: Commits,
}

impl MockEnvoyHttpFilterConfig {
    fn define(&mut self, name: &str, labels: &[&str]) -> Result<usize, MetricsResult> {
        if let Some(error) = self.define_error {
            return Err(error);
        }
        let id = self.defined.len() + 1;
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.defined.insert(id, (name.to_owned(), labels));
        Ok(id)
    }
}

impl EnvoyHttpFilterConfig for MockEnvoyHttpFilterConfig {
    fn define_counter(&mut self, name: &str) -> Result<EnvoyCounterId, MetricsResult> {
        self.define(name, &[]).map(EnvoyCounterId)
    }

    fn define_counter_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyCounterVecId, MetricsResult> {
        self.define(name, labels).map(EnvoyCounterVecId)
    }

    fn define_gauge(&mut self, name: &str) -> Result<EnvoyGaugeId, MetricsResult> {
        self.define(name, &[]).map(EnvoyGaugeId)
    }

    fn define_gauge_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyGaugeVecId, MetricsResult> {
        self.define(name, labels).map(EnvoyGaugeVecId)
    }

    fn define_histogram(&mut self, name: &str) -> Result<EnvoyHistogramId, MetricsResult> {
        self.define(name, &[]).map(EnvoyHistogramId)
    }

    fn define_histogram_vec(&mut self, name: &str, labels: &[&str]) -> Result<EnvoyHistogramVecId, MetricsResult> {
        self.define(name, labels).map(EnvoyHistogramVecId)
    }

    fn new_scheduler(&self) -> Box<dyn EnvoyHttpFilterConfigScheduler> {
        Box::new(self.commits.clone())
    }
}
