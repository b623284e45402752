//! Envoy's side of one stream, over the C ABI. Every call checks first that there still is a stream.

use super::stream::{Response, Stream};
use super::{record_metric, EnvoyHttpFilter, EnvoyHttpFilterScheduler, EnvoySpan};
use crate::abi::{
    self, envoy_dynamic_module_type_attribute_id as AttributeId, envoy_dynamic_module_type_envoy_buffer as EnvoyBuf,
    envoy_dynamic_module_type_http_body_type as BodyType,
    envoy_dynamic_module_type_http_callout_init_result as InitResult,
    envoy_dynamic_module_type_http_filter_stream_reset_reason as ResetReason,
    envoy_dynamic_module_type_http_header_type as HeaderType,
    envoy_dynamic_module_type_metadata_source as MetadataSource,
    envoy_dynamic_module_type_metrics_result as MetricsResult, module_buffer,
};
use crate::convert::{bytes, filled, text, with_headers};
use crate::{
    EnvoyBuffer, EnvoyCounterId, EnvoyCounterVecId, EnvoyGaugeId, EnvoyGaugeVecId, EnvoyHistogramId,
    EnvoyHistogramVecId, EnvoyMutBuffer,
};
use std::os::raw::c_void;
use std::ptr::NonNull;

/// Envoy's side of one stream; handed to the hooks of its filter.
pub struct EnvoyHttpFilterImpl {
    stream: NonNull<Stream>,
}

// SAFETY of all blocks below that call `abi`: the pointer comes from `alive`, `active` or `open`, so
// Envoy's filter exists; the code runs inside a hook, on the filter's worker; buffers passed in are
// read, and places for results are written, during the call only.
impl EnvoyHttpFilterImpl {
    pub(crate) fn new(stream: NonNull<Stream>) -> Self {
        Self { stream }
    }

    /// Notes whether Envoy makes a reply of its own.
    pub(super) fn set_replying(&self, replying: bool) {
        self.stream().set_replying(replying);
    }

    fn stream(&self) -> &Stream {
        // SAFETY: this object lives inside a hook, and the holder outlives every hook.
        unsafe { self.stream.as_ref() }
    }

    // What a client sees of a module that panicked; the response is marked as ended already.
    pub(super) fn send_panic_response(&mut self, envoy: *mut c_void) {
        let headers: [(&str, &[u8]); 1] = [("content-type", b"text/plain")];
        let body = module_buffer(b"internal server error\n");
        let details = module_buffer(b"dynamic_module_panic");
        with_headers(&headers, |headers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_send_response(envoy, 500, headers, size, body, details);
            }
        });
    }

    fn header(&self, header_type: HeaderType, key: &str) -> Option<EnvoyBuffer<'_>> {
        let envoy = self.stream().alive()?;
        let mut value = EnvoyBuf::EMPTY;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_header(
                envoy,
                header_type,
                module_buffer(key.as_bytes()),
                &mut value,
                0,
                std::ptr::null_mut(),
            )
        };
        view(found, value)
    }

    fn header_values(&self, header_type: HeaderType, key: &str) -> Vec<EnvoyBuffer<'_>> {
        let Some(envoy) = self.stream().alive() else { return Vec::new() };
        let mut values = Vec::new();
        let mut count = 1;
        while values.len() < count {
            let mut value = EnvoyBuf::EMPTY;
            // SAFETY: see above.
            let found = unsafe {
                abi::envoy_dynamic_module_callback_http_get_header(
                    envoy,
                    header_type,
                    module_buffer(key.as_bytes()),
                    &mut value,
                    values.len(),
                    &mut count,
                )
            };
            let Some(value) = view(found, value) else { break };
            values.push(value);
        }
        values
    }

    fn headers(&self, header_type: HeaderType) -> Vec<(EnvoyBuffer<'_>, EnvoyBuffer<'_>)> {
        let Some(envoy) = self.stream().alive() else { return Vec::new() };
        // SAFETY: see above; a pair has the layout of a header, and Envoy writes all or answers
        // false.
        unsafe {
            let size = abi::envoy_dynamic_module_callback_http_get_headers_size(envoy, header_type);
            filled(size, |place| abi::envoy_dynamic_module_callback_http_get_headers(envoy, header_type, place))
        }
        .unwrap_or_default()
    }

    fn set_header(&mut self, header_type: HeaderType, key: &str, value: Option<&[u8]>) -> bool {
        let Some(envoy) = self.stream().active() else { return false };
        // Without a value the header is removed.
        let empty = abi::envoy_dynamic_module_type_module_buffer { ptr: std::ptr::null(), length: 0 };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_set_header(
                envoy,
                header_type,
                module_buffer(key.as_bytes()),
                value.map_or(empty, module_buffer),
            )
        }
    }

    fn add_header(&mut self, header_type: HeaderType, key: &str, value: &[u8]) -> bool {
        let Some(envoy) = self.stream().active() else { return false };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_add_header(
                envoy,
                header_type,
                module_buffer(key.as_bytes()),
                module_buffer(value),
            )
        }
    }

    // Bodies answer only while the response has not ended: 1.39 crashes when asked later.
    fn body(&mut self, body_type: BodyType) -> Option<Vec<EnvoyMutBuffer<'_>>> {
        let envoy = self.stream().open()?;
        // SAFETY: see above; a view has the layout of a buffer, and Envoy writes all or answers
        // false.
        unsafe {
            let size = abi::envoy_dynamic_module_callback_http_get_body_chunks_size(envoy, body_type);
            filled(size, |place| abi::envoy_dynamic_module_callback_http_get_body_chunks(envoy, body_type, place))
        }
    }

    fn body_size(&mut self, body_type: BodyType) -> usize {
        let Some(envoy) = self.stream().open() else { return 0 };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_get_body_size(envoy, body_type) }
    }

    fn drain_body(&mut self, body_type: BodyType, number_of_bytes: usize) -> bool {
        let Some(envoy) = self.stream().open() else { return false };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_drain_body(envoy, body_type, number_of_bytes) }
    }
}

// A view of what Envoy answered; its lifetime is that of the object it was asked of.
fn view<'a>(found: bool, value: EnvoyBuf) -> Option<EnvoyBuffer<'a>> {
    // SAFETY: Envoy answers memory that stays until the hook returns or a setter is called, and a
    // setter needs the object that the view borrows.
    found.then(|| unsafe { EnvoyBuffer::new_from_raw(value.ptr.cast(), value.length) })
}

impl EnvoyHttpFilter for EnvoyHttpFilterImpl {
    fn get_request_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        self.header(HeaderType::RequestHeader, key)
    }

    fn get_request_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        self.header_values(HeaderType::RequestHeader, key)
    }

    fn get_request_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        self.headers(HeaderType::RequestHeader)
    }

    fn set_request_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.set_header(HeaderType::RequestHeader, key, Some(value))
    }

    fn add_request_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.add_header(HeaderType::RequestHeader, key, value)
    }

    fn remove_request_header(&mut self, key: &str) -> bool {
        self.set_header(HeaderType::RequestHeader, key, None)
    }

    fn get_request_trailer_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        self.header(HeaderType::RequestTrailer, key)
    }

    fn get_request_trailer_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        self.header_values(HeaderType::RequestTrailer, key)
    }

    fn get_request_trailers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        self.headers(HeaderType::RequestTrailer)
    }

    fn get_response_header_value<'a>(&'a self, key: &str) -> Option<EnvoyBuffer<'a>> {
        self.header(HeaderType::ResponseHeader, key)
    }

    fn get_response_header_values<'a>(&'a self, key: &str) -> Vec<EnvoyBuffer<'a>> {
        self.header_values(HeaderType::ResponseHeader, key)
    }

    fn get_response_headers<'a>(&'a self) -> Vec<(EnvoyBuffer<'a>, EnvoyBuffer<'a>)> {
        self.headers(HeaderType::ResponseHeader)
    }

    fn set_response_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.set_header(HeaderType::ResponseHeader, key, Some(value))
    }

    fn add_response_header(&mut self, key: &str, value: &[u8]) -> bool {
        self.add_header(HeaderType::ResponseHeader, key, value)
    }

    fn remove_response_header(&mut self, key: &str) -> bool {
        self.set_header(HeaderType::ResponseHeader, key, None)
    }

    fn send_response<'a>(
        &mut self,
        status_code: u32,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        details: Option<&'a str>,
    ) {
        let Some(envoy) = self.stream().open() else { return };
        self.stream().set_response(Response::Ended);
        let body = module_buffer(body.unwrap_or_default());
        let details = module_buffer(details.unwrap_or_default().as_bytes());
        with_headers(headers, |headers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_send_response(envoy, status_code, headers, size, body, details);
            }
        });
    }

    fn send_response_headers<'a>(&mut self, headers: &'a [(&'a str, &'a [u8])], end_stream: bool) {
        let Some(envoy) = self.stream().open() else { return };
        if end_stream {
            self.stream().set_response(Response::Ended);
        } else if !is_informational(headers) {
            self.stream().set_response(Response::Started);
        }
        with_headers(headers, |headers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_send_response_headers(envoy, headers, size, end_stream);
            }
        });
    }

    fn send_response_data<'a>(&mut self, body: &'a [u8], end_stream: bool) {
        let Some(envoy) = self.stream().open() else { return };
        if end_stream {
            self.stream().set_response(Response::Ended);
        }
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_send_response_data(envoy, module_buffer(body), end_stream);
        }
    }

    fn send_response_trailers<'a>(&mut self, trailers: &'a [(&'a str, &'a [u8])]) {
        let Some(envoy) = self.stream().open() else { return };
        self.stream().set_response(Response::Ended);
        with_headers(trailers, |trailers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_send_response_trailers(envoy, trailers, size);
            }
        });
    }

    fn add_custom_flag(&mut self, flag: &str) {
        let Some(envoy) = self.stream().alive() else { return };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_add_custom_flag(envoy, module_buffer(flag.as_bytes()));
        }
    }

    fn get_metadata_number(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<f64> {
        let envoy = self.stream().alive()?;
        let mut value = 0.0;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_number(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn set_dynamic_metadata_number(&mut self, namespace: &str, key: &str, value: f64) {
        let Some(envoy) = self.stream().alive() else { return };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_set_dynamic_metadata_number(
                envoy,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                value,
            );
        }
    }

    fn get_metadata_string<'a>(
        &'a self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
    ) -> Option<EnvoyBuffer<'a>> {
        let envoy = self.stream().alive()?;
        let mut value = EnvoyBuf::EMPTY;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_string(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                &mut value,
            )
        };
        view(found, value)
    }

    fn set_dynamic_metadata_string(&mut self, namespace: &str, key: &str, value: &str) {
        let Some(envoy) = self.stream().alive() else { return };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_set_dynamic_metadata_string(
                envoy,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                module_buffer(value.as_bytes()),
            );
        }
    }

    fn get_metadata_bool(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<bool> {
        let envoy = self.stream().alive()?;
        let mut value = false;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_bool(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn set_dynamic_metadata_bool(&mut self, namespace: &str, key: &str, value: bool) {
        let Some(envoy) = self.stream().alive() else { return };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_set_dynamic_metadata_bool(
                envoy,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                value,
            );
        }
    }

    fn get_metadata_keys<'a>(&'a self, source: MetadataSource, namespace: &str) -> Option<Vec<EnvoyBuffer<'a>>> {
        let envoy = self.stream().alive()?;
        let namespace = module_buffer(namespace.as_bytes());
        // SAFETY: see above; a view has the layout of a buffer, and Envoy writes all or answers
        // false.
        unsafe {
            let size = abi::envoy_dynamic_module_callback_http_get_metadata_keys_count(envoy, source, namespace);
            filled(size, |place| {
                abi::envoy_dynamic_module_callback_http_get_metadata_keys(envoy, source, namespace, place)
            })
        }
    }

    fn get_metadata_namespaces<'a>(&'a self, source: MetadataSource) -> Option<Vec<EnvoyBuffer<'a>>> {
        let envoy = self.stream().alive()?;
        // SAFETY: see above; a view has the layout of a buffer, and Envoy writes all or answers
        // false.
        unsafe {
            let size = abi::envoy_dynamic_module_callback_http_get_metadata_namespaces_count(envoy, source);
            filled(size, |place| abi::envoy_dynamic_module_callback_http_get_metadata_namespaces(envoy, source, place))
        }
    }

    fn get_metadata_list_size(&self, source: MetadataSource, namespace: &str, key: &str) -> Option<usize> {
        let envoy = self.stream().alive()?;
        let mut value = 0;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_list_size(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn get_metadata_list_number(
        &self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
        index: usize,
    ) -> Option<f64> {
        let envoy = self.stream().alive()?;
        let mut value = 0.0;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_list_number(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                index,
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn get_metadata_list_string<'a>(
        &'a self,
        source: MetadataSource,
        namespace: &str,
        key: &str,
        index: usize,
    ) -> Option<EnvoyBuffer<'a>> {
        let envoy = self.stream().alive()?;
        let mut value = EnvoyBuf::EMPTY;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_list_string(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                index,
                &mut value,
            )
        };
        view(found, value)
    }

    fn get_metadata_list_bool(&self, source: MetadataSource, namespace: &str, key: &str, index: usize) -> Option<bool> {
        let envoy = self.stream().alive()?;
        let mut value = false;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_get_metadata_list_bool(
                envoy,
                source,
                module_buffer(namespace.as_bytes()),
                module_buffer(key.as_bytes()),
                index,
                &mut value,
            )
        };
        found.then_some(value)
    }

    fn get_received_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>> {
        self.body(BodyType::ReceivedRequestBody)
    }

    fn get_buffered_request_body<'a>(&'a mut self) -> Option<Vec<EnvoyMutBuffer<'a>>> {
        self.body(BodyType::BufferedRequestBody)
    }

    fn get_received_request_body_size(&mut self) -> usize {
        self.body_size(BodyType::ReceivedRequestBody)
    }

    fn get_buffered_request_body_size(&mut self) -> usize {
        self.body_size(BodyType::BufferedRequestBody)
    }

    fn drain_received_request_body(&mut self, number_of_bytes: usize) -> bool {
        self.drain_body(BodyType::ReceivedRequestBody, number_of_bytes)
    }

    fn drain_buffered_request_body(&mut self, number_of_bytes: usize) -> bool {
        self.drain_body(BodyType::BufferedRequestBody, number_of_bytes)
    }

    fn received_buffered_request_body(&mut self) -> bool {
        let Some(envoy) = self.stream().open() else { return false };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_received_buffered_request_body(envoy) }
    }

    fn clear_route_cache(&mut self) {
        let Some(envoy) = self.stream().unanswered() else { return };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_clear_route_cache(envoy) };
    }

    fn get_attribute_string<'a>(&'a self, attribute_id: AttributeId) -> Option<EnvoyBuffer<'a>> {
        let envoy = self.stream().alive()?;
        let mut value = EnvoyBuf::EMPTY;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_filter_get_attribute_string(envoy, attribute_id, &mut value)
        };
        view(found, value)
    }

    fn get_attribute_int(&self, attribute_id: AttributeId) -> Option<i64> {
        let envoy = self.stream().alive()?;
        let mut value = 0;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_filter_get_attribute_int(envoy, attribute_id, &mut value)
        };
        // The public SDK's type is signed; no attribute comes near the limit.
        found.then_some(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn get_attribute_bool(&self, attribute_id: AttributeId) -> Option<bool> {
        let envoy = self.stream().alive()?;
        let mut value = false;
        // SAFETY: see above.
        let found = unsafe {
            abi::envoy_dynamic_module_callback_http_filter_get_attribute_bool(envoy, attribute_id, &mut value)
        };
        found.then_some(value)
    }

    fn send_http_callout<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64) {
        let Some(envoy) = self.stream().active() else {
            return (InitResult::CannotCreateRequest, 0);
        };
        let mut id = 0;
        let result = with_headers(headers, |headers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_filter_http_callout(
                    envoy,
                    &mut id,
                    module_buffer(cluster_name.as_bytes()),
                    headers,
                    size,
                    module_buffer(body.unwrap_or_default()),
                    timeout_milliseconds,
                )
            }
        });
        (InitResult::from_number(result), id)
    }

    fn start_http_stream<'a>(
        &mut self,
        cluster_name: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
        body: Option<&'a [u8]>,
        end_stream: bool,
        timeout_milliseconds: u64,
    ) -> (InitResult, u64) {
        let Some(envoy) = self.stream().active() else {
            return (InitResult::CannotCreateRequest, 0);
        };
        let mut id = 0;
        let result = with_headers(headers, |headers, size| {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_filter_start_http_stream(
                    envoy,
                    &mut id,
                    module_buffer(cluster_name.as_bytes()),
                    headers,
                    size,
                    module_buffer(body.unwrap_or_default()),
                    end_stream,
                    timeout_milliseconds,
                )
            }
        });
        (InitResult::from_number(result), id)
    }

    unsafe fn send_http_stream_data(&mut self, stream_handle: u64, data: &[u8], end_stream: bool) -> bool {
        let Some(envoy) = self.stream().active() else { return false };
        // SAFETY: see above; Envoy looks the handle up.
        unsafe {
            abi::envoy_dynamic_module_callback_http_stream_send_data(
                envoy,
                stream_handle,
                module_buffer(data),
                end_stream,
            )
        }
    }

    unsafe fn send_http_stream_trailers<'a>(
        &mut self,
        stream_handle: u64,
        trailers: &'a [(&'a str, &'a [u8])],
    ) -> bool {
        let Some(envoy) = self.stream().active() else { return false };
        with_headers(trailers, |trailers, size| {
            // SAFETY: see above; Envoy looks the handle up.
            unsafe {
                abi::envoy_dynamic_module_callback_http_stream_send_trailers(envoy, stream_handle, trailers, size)
            }
        })
    }

    unsafe fn reset_http_stream(&mut self, stream_handle: u64) {
        let Some(envoy) = self.stream().active() else { return };
        // SAFETY: see above; Envoy looks the handle up.
        unsafe {
            abi::envoy_dynamic_module_callback_http_filter_reset_http_stream(envoy, stream_handle);
        }
    }

    fn continue_decoding(&mut self) {
        let Some(envoy) = self.stream().open() else { return };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_filter_continue_decoding(envoy) };
    }

    fn continue_encoding(&mut self) {
        let Some(envoy) = self.stream().active() else { return };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_filter_continue_encoding(envoy) };
    }

    fn new_scheduler(&self) -> impl EnvoyHttpFilterScheduler + 'static {
        Scheduler::new(self.stream().alive())
    }

    fn increment_counter(&self, id: EnvoyCounterId, value: u64) -> Result<(), MetricsResult> {
        self.record(abi::envoy_dynamic_module_callback_http_filter_increment_counter, id.0, &[], value)
    }

    fn increment_counter_vec<'a>(
        &self,
        id: EnvoyCounterVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_increment_counter;
        self.record(record, id.0, labels, value)
    }

    fn increase_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.record(abi::envoy_dynamic_module_callback_http_filter_increment_gauge, id.0, &[], value)
    }

    fn increase_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_increment_gauge;
        self.record(record, id.0, labels, value)
    }

    fn decrease_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.record(abi::envoy_dynamic_module_callback_http_filter_decrement_gauge, id.0, &[], value)
    }

    fn decrease_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_decrement_gauge;
        self.record(record, id.0, labels, value)
    }

    fn set_gauge(&self, id: EnvoyGaugeId, value: u64) -> Result<(), MetricsResult> {
        self.record(abi::envoy_dynamic_module_callback_http_filter_set_gauge, id.0, &[], value)
    }

    fn set_gauge_vec<'a>(&self, id: EnvoyGaugeVecId, labels: &[&'a str], value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_set_gauge;
        self.record(record, id.0, labels, value)
    }

    fn record_histogram_value(&self, id: EnvoyHistogramId, value: u64) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_record_histogram_value;
        self.record(record, id.0, &[], value)
    }

    fn record_histogram_value_vec<'a>(
        &self,
        id: EnvoyHistogramVecId,
        labels: &[&'a str],
        value: u64,
    ) -> Result<(), MetricsResult> {
        let record = abi::envoy_dynamic_module_callback_http_filter_record_histogram_value;
        self.record(record, id.0, labels, value)
    }

    fn get_worker_index(&self) -> u32 {
        let Some(envoy) = self.stream().alive() else { return 0 };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_filter_get_worker_index(envoy) }
    }

    fn get_buffer_limit(&self) -> u64 {
        let Some(envoy) = self.stream().active() else { return 0 };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_get_buffer_limit(envoy) }
    }

    fn set_buffer_limit(&mut self, limit: u64) {
        let Some(envoy) = self.stream().active() else { return };
        // SAFETY: see above.
        unsafe { abi::envoy_dynamic_module_callback_http_set_buffer_limit(envoy, limit) };
    }

    fn get_active_span<'a>(&'a self) -> Option<Box<dyn EnvoySpan + 'a>> {
        let envoy = self.stream().alive()?;
        // SAFETY: see above.
        let raw = unsafe { abi::envoy_dynamic_module_callback_http_get_active_span(envoy) };
        if raw.is_null() {
            return None;
        }
        Some(Box::new(Span { raw, filter: self }))
    }

    fn reset_stream(&mut self, reason: ResetReason, details: &str) {
        let Some(envoy) = self.stream().open() else { return };
        self.stream().set_response(Response::Ended);
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_filter_reset_stream(
                envoy,
                reason,
                module_buffer(details.as_bytes()),
            );
        }
    }

    fn send_go_away_and_close(&mut self, graceful: bool) {
        let Some(envoy) = self.stream().active() else { return };
        // SAFETY: see above.
        unsafe {
            abi::envoy_dynamic_module_callback_http_filter_send_go_away_and_close(envoy, graceful);
        }
    }
}

impl EnvoyHttpFilterImpl {
    fn record(&self, record: abi::Recorder, id: usize, labels: &[&str], value: u64) -> Result<(), MetricsResult> {
        // SAFETY: Envoy's filter exists to the end of the hook, see `Stream::recorder`.
        unsafe { record_metric(record, self.stream().recorder(), (id, value), labels) }
    }
}

// Whether these are headers of a 1xx response other than 101, which is final.
fn is_informational(headers: &[(&str, &[u8])]) -> bool {
    headers.iter().any(|(key, value)| *key == ":status" && value[..] != *b"101" && value.first() == Some(&b'1'))
}

/// Envoy's scheduler of one stream.
pub(super) struct Scheduler {
    // Null where the stream was gone already: then there is nobody to bring events to.
    raw: abi::envoy_dynamic_module_type_http_filter_scheduler_module_ptr,
}

// SAFETY: Envoy's scheduler may be committed and deleted on any thread.
unsafe impl Send for Scheduler {}
// SAFETY: commits may run at the same time; the deletion needs the scheduler for itself.
unsafe impl Sync for Scheduler {}

impl Scheduler {
    /// A scheduler of Envoy's filter, which is alive, if there still is one; on its worker.
    pub(super) fn new(envoy: Option<*mut c_void>) -> Self {
        let raw = envoy.map_or(std::ptr::null_mut(), |envoy| {
            // SAFETY: the caller vouches for the filter and the thread.
            unsafe { abi::envoy_dynamic_module_callback_http_filter_scheduler_new(envoy) }
        });
        Self { raw }
    }
}

impl EnvoyHttpFilterScheduler for Scheduler {
    fn commit(&self, event_id: u64) {
        if !self.raw.is_null() {
            // SAFETY: the scheduler is ours until `drop`; a filter that is gone makes this a no-op.
            unsafe {
                abi::envoy_dynamic_module_callback_http_filter_scheduler_commit(self.raw, event_id);
            }
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the last use of the scheduler, and no commit runs: this is the only reference.
            unsafe { abi::envoy_dynamic_module_callback_http_filter_scheduler_delete(self.raw) };
        }
    }
}

struct Span<'a> {
    raw: abi::envoy_dynamic_module_type_span_envoy_ptr,
    filter: &'a EnvoyHttpFilterImpl,
}

impl Span<'_> {
    // Envoy answers in a buffer that the next tracing call overwrites, hence the copy.
    fn read(&self, read: impl FnOnce(*mut c_void, &mut EnvoyBuf) -> bool) -> Option<String> {
        self.filter.stream().alive()?;
        let mut value = EnvoyBuf::EMPTY;
        if !read(self.raw, &mut value) {
            return None;
        }
        // SAFETY: the buffer stays until the next tracing call.
        let empty = unsafe { bytes(value) }.is_empty();
        // SAFETY: as above.
        (!empty).then(|| unsafe { text(value) }.into_owned())
    }
}

// SAFETY of the calls: the span lives as long as its stream, which is alive; results are places for
// one answer.
impl EnvoySpan for Span<'_> {
    fn set_tag(&self, key: &str, value: &str) {
        if self.filter.stream().alive().is_some() {
            // SAFETY: see above.
            unsafe {
                abi::envoy_dynamic_module_callback_http_span_set_tag(
                    self.raw,
                    module_buffer(key.as_bytes()),
                    module_buffer(value.as_bytes()),
                );
            }
        }
    }

    fn get_baggage(&self, key: &str) -> Option<String> {
        let key = module_buffer(key.as_bytes());
        // SAFETY: see above.
        self.read(|span, value| unsafe { abi::envoy_dynamic_module_callback_http_span_get_baggage(span, key, value) })
    }

    fn get_trace_id(&self) -> Option<String> {
        // SAFETY: see above.
        self.read(|span, value| unsafe { abi::envoy_dynamic_module_callback_http_span_get_trace_id(span, value) })
    }

    fn get_span_id(&self) -> Option<String> {
        // SAFETY: see above.
        self.read(|span, value| unsafe { abi::envoy_dynamic_module_callback_http_span_get_span_id(span, value) })
    }
}
