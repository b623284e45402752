//! The functions that Envoy calls for HTTP filters. None of them lets a panic out.

use super::config_metrics::with_current_config;
use super::stream::{owned_chunks, owned_headers, Deferred, OnPanic, Outcome, Response, Stream};
use super::{EnvoyHttpFilterConfigImpl, EnvoyHttpFilterImpl, HttpFilter, HttpFilterConfig};
use crate::abi::{
    self, envoy_dynamic_module_type_envoy_buffer as EnvoyBuf,
    envoy_dynamic_module_type_envoy_http_header as EnvoyHeader,
    envoy_dynamic_module_type_http_callout_result as CalloutResult,
    envoy_dynamic_module_type_http_stream_reset_reason as StreamResetReason,
    envoy_dynamic_module_type_on_http_filter_local_reply_status as LocalReplyStatus,
    envoy_dynamic_module_type_on_http_filter_request_body_status as RequestBodyStatus,
    envoy_dynamic_module_type_on_http_filter_request_headers_status as RequestHeadersStatus,
    envoy_dynamic_module_type_on_http_filter_request_trailers_status as RequestTrailersStatus,
    envoy_dynamic_module_type_on_http_filter_response_body_status as ResponseBodyStatus,
    envoy_dynamic_module_type_on_http_filter_response_headers_status as ResponseHeadersStatus,
    envoy_dynamic_module_type_on_http_filter_response_trailers_status as ResponseTrailersStatus,
};
use crate::convert::{bytes, pairs, text, views};
use crate::server::caught;
use crate::{EnvoyBuffer, NEW_HTTP_FILTER_CONFIG_FUNCTION};
use std::os::raw::c_void;

type EnvoyFilter = abi::envoy_dynamic_module_type_http_filter_envoy_ptr;
type ModuleFilter = abi::envoy_dynamic_module_type_http_filter_module_ptr;
type EnvoyConfig = abi::envoy_dynamic_module_type_http_filter_config_envoy_ptr;
type ModuleConfig = abi::envoy_dynamic_module_type_http_filter_config_module_ptr;
type Config = Box<dyn HttpFilterConfig<EnvoyHttpFilterImpl>>;

// SAFETY of this file: Envoy calls each hook as its header says: with a configuration or a filter
// that it got here and has not destroyed, on that filter's worker, with buffers that stay readable
// until the hook returns. After a destruction it may pass null.

/// Makes the module's side of a filter configuration; null refuses it.
///
/// # Safety
///
/// For Envoy, with its own pointers and readable buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_new(
    envoy: EnvoyConfig,
    name: EnvoyBuf,
    config: EnvoyBuf,
) -> ModuleConfig {
    let made = with_current_config(envoy, || {
        caught("http_filter_config_new", || {
            let new = NEW_HTTP_FILTER_CONFIG_FUNCTION.get()?;
            // SAFETY: Envoy's buffers are readable during the hook.
            let (name, config) = unsafe { (text(name), bytes(config)) };
            new(&mut EnvoyHttpFilterConfigImpl::new(envoy), &name, config)
        })
    });
    match made.flatten() {
        // A trait object is two words wide; the outer box makes it one pointer.
        Some(config) => Box::into_raw(Box::<Config>::new(config)).cast(),
        None => std::ptr::null(),
    }
}

/// Drops the module's side of a filter configuration.
///
/// # Safety
///
/// For Envoy, once, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(config: ModuleConfig) {
    if !config.is_null() {
        // SAFETY: made by `config_new`, and this is its last use.
        let config = unsafe { Box::from_raw(config.cast::<Config>().cast_mut()) };
        caught("http_filter_config_destroy", || drop(config));
    }
}

/// Delivers an event of the configuration's scheduler, on the main thread.
///
/// # Safety
///
/// For Envoy, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_scheduled(
    envoy: EnvoyConfig,
    config: ModuleConfig,
    event_id: u64,
) {
    if !config.is_null() {
        // SAFETY: made by `config_new`, alive during the hook.
        let config = unsafe { &*config.cast::<Config>() };
        with_current_config(envoy, || {
            caught("http_filter_config_scheduled", || config.on_scheduled(event_id));
        });
    }
}

/// Makes the filter of a new stream; never null, because 1.39 does not survive that.
///
/// # Safety
///
/// For Envoy, with what `config_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_new(
    config: ModuleConfig,
    envoy: EnvoyFilter,
) -> ModuleFilter {
    // SAFETY: made by `config_new`, alive during the hook.
    let config = unsafe { &*config.cast::<Config>() };
    Stream::create(envoy, |envoy_filter| config.new_http_filter(envoy_filter)).cast()
}

/// Drops the filter of a stream, at once or after the method that is running.
///
/// # Safety
///
/// For Envoy, once, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_destroy(filter: ModuleFilter) {
    if !filter.is_null() {
        // SAFETY: made by `http_filter_new`, and Envoy forgets it now.
        unsafe { Stream::destroy(filter.cast()) };
    }
}

/// The request's headers arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    end_of_stream: bool,
) -> RequestHeadersStatus {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return RequestHeadersStatus::Continue };
    if stream.busy() {
        stream.defer(Deferred::RequestHeaders { end_of_stream });
        return RequestHeadersStatus::StopIteration;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_request_headers(envoy, end_of_stream);
    // SAFETY: a filter of ours that is not busy.
    unsafe { Stream::run(filter.cast(), "request_headers", OnPanic::Respond, method) }
        .or(RequestHeadersStatus::StopIteration)
}

/// A piece of the request's body arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_request_body(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    end_of_stream: bool,
) -> RequestBodyStatus {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return RequestBodyStatus::Continue };
    if stream.busy() {
        // The bytes must be kept until the filter can look at them.
        stream.defer(Deferred::RequestBody { end_of_stream });
        return RequestBodyStatus::StopIterationAndWatermark;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_request_body(envoy, end_of_stream);
    // SAFETY: a filter of ours that is not busy.
    unsafe { Stream::run(filter.cast(), "request_body", OnPanic::Respond, method) }
        .or(RequestBodyStatus::StopIterationNoBuffer)
}

/// The request's trailers arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_request_trailers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
) -> RequestTrailersStatus {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return RequestTrailersStatus::Continue };
    if stream.busy() {
        stream.defer(Deferred::RequestTrailers);
        return RequestTrailersStatus::StopIteration;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_request_trailers(envoy);
    // SAFETY: a filter of ours that is not busy.
    unsafe { Stream::run(filter.cast(), "request_trailers", OnPanic::Respond, method) }
        .or(RequestTrailersStatus::StopIteration)
}

/// The headers of a response pass by.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_response_headers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    end_of_stream: bool,
) -> ResponseHeadersStatus {
    // SAFETY: a filter of ours, or null.
    if unsafe { occupied(filter) } {
        return ResponseHeadersStatus::Continue;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_response_headers(envoy, end_of_stream);
    // SAFETY: a filter of ours that is not busy.
    match unsafe { Stream::run(filter.cast(), "response_headers", OnPanic::Reset, method) } {
        Outcome::Done(status) => status,
        Outcome::Skipped => ResponseHeadersStatus::Continue,
        Outcome::Panicked => ResponseHeadersStatus::StopIteration,
    }
}

/// A piece of the body of a response passes by.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_response_body(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    end_of_stream: bool,
) -> ResponseBodyStatus {
    // SAFETY: a filter of ours, or null.
    if unsafe { occupied(filter) } {
        return ResponseBodyStatus::Continue;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_response_body(envoy, end_of_stream);
    // SAFETY: a filter of ours that is not busy.
    match unsafe { Stream::run(filter.cast(), "response_body", OnPanic::Reset, method) } {
        Outcome::Done(status) => status,
        Outcome::Skipped => ResponseBodyStatus::Continue,
        Outcome::Panicked => ResponseBodyStatus::StopIterationNoBuffer,
    }
}

/// The trailers of a response pass by.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_response_trailers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
) -> ResponseTrailersStatus {
    // SAFETY: a filter of ours, or null.
    if unsafe { occupied(filter) } {
        return ResponseTrailersStatus::Continue;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_response_trailers(envoy);
    // SAFETY: a filter of ours that is not busy.
    match unsafe { Stream::run(filter.cast(), "response_trailers", OnPanic::Reset, method) } {
        Outcome::Done(status) => status,
        Outcome::Skipped => ResponseTrailersStatus::Continue,
        Outcome::Panicked => ResponseTrailersStatus::StopIteration,
    }
}

/// Envoy answers the request itself, or on this module's behalf.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered and a readable buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_local_reply(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    response_code: u32,
    details: EnvoyBuf,
    reset_imminent: bool,
) -> LocalReplyStatus {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return LocalReplyStatus::Continue };
    // `send_response` is a local reply too, and it is not news to the one who called it.
    let own = stream.open().is_none();
    stream.set_response(Response::Ended);
    if own || stream.busy() {
        return LocalReplyStatus::Continue;
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut EnvoyHttpFilterImpl| {
        // SAFETY: Envoy's buffer is readable during the hook.
        let details = EnvoyBuffer::from(unsafe { bytes(details) });
        let status = filter.on_local_reply(envoy, response_code, details, reset_imminent);
        envoy.set_replying(false);
        status
    };
    stream.set_replying(true);
    // SAFETY: a filter of ours that is not busy.
    match unsafe { Stream::run(filter.cast(), "local_reply", OnPanic::Log, method) } {
        Outcome::Done(status) => status,
        Outcome::Skipped | Outcome::Panicked => LocalReplyStatus::Continue,
    }
}

/// The stream ended.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_stream_complete(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
) {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return };
    if stream.is_complete() {
        return;
    }
    stream.set_complete();
    if stream.busy() {
        return stream.defer(Deferred::Complete);
    }
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| filter.on_stream_complete(envoy);
    // SAFETY: a filter of ours that is not busy.
    unsafe { Stream::run(filter.cast(), "stream_complete", OnPanic::Log, method) };
}

/// An event of a scheduler of the filter arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_scheduled(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    event_id: u64,
) {
    // SAFETY: a filter of ours, or null.
    let Some(stream) = (unsafe { stream(filter) }) else { return };
    let wake = stream.take_wake(event_id);
    let method = |filter: &mut dyn HttpFilter<_>, envoy: &mut _| {
        if !wake {
            filter.on_scheduled(envoy, event_id);
        }
    };
    // SAFETY: a filter of ours, or null.
    unsafe { event(filter, "scheduled", || Deferred::Scheduled(event_id), method) };
}

/// The client reads too slowly.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
) {
    // SAFETY: a filter of ours, or null.
    unsafe { watermark(filter, Deferred::Above) };
}

/// The client caught up.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
) {
    // SAFETY: a filter of ours, or null.
    unsafe { watermark(filter, Deferred::Below) };
}

/// A callout of the filter ended.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered and readable arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_callout_done(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
    result: u32,
    headers: *mut EnvoyHeader,
    headers_size: usize,
    chunks: *mut EnvoyBuf,
    chunks_size: usize,
) {
    let result = CalloutResult::from_number(result);
    // SAFETY: Envoy's arrays are readable during the hook.
    let (headers, body) = unsafe {
        (
            (!headers.is_null()).then(|| pairs(headers, headers_size)),
            (!chunks.is_null()).then(|| views(chunks, chunks_size)),
        )
    };
    let later =
        || Deferred::CalloutDone { id, result, headers: headers.map(owned_headers), body: body.map(owned_chunks) };
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(filter, "http_callout_done", later, |filter, envoy| {
            filter.on_http_callout_done(envoy, id, result, headers, body);
        });
    }
}

/// The response headers of an HTTP stream of the filter arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered and a readable array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_stream_headers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
    headers: *mut EnvoyHeader,
    headers_size: usize,
    end_stream: bool,
) {
    // SAFETY: Envoy's array is readable during the hook.
    let headers = unsafe { pairs(headers, headers_size) };
    let later = || Deferred::StreamHeaders { id, headers: owned_headers(headers), end_stream };
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(filter, "http_stream_headers", later, |filter, envoy| {
            filter.on_http_stream_headers(envoy, id, headers, end_stream);
        });
    }
}

/// A piece of the response body of an HTTP stream of the filter arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered and a readable array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_stream_data(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
    data: *const EnvoyBuf,
    data_size: usize,
    end_stream: bool,
) {
    // SAFETY: Envoy's array is readable during the hook.
    let data = unsafe { views(data, data_size) };
    let later = || Deferred::StreamData { id, data: owned_chunks(data), end_stream };
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(filter, "http_stream_data", later, |filter, envoy| {
            filter.on_http_stream_data(envoy, id, data, end_stream);
        });
    }
}

/// The response trailers of an HTTP stream of the filter arrived.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered and a readable array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_stream_trailers(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
    trailers: *mut EnvoyHeader,
    trailers_size: usize,
) {
    // SAFETY: Envoy's array is readable during the hook.
    let trailers = unsafe { pairs(trailers, trailers_size) };
    let later = || Deferred::StreamTrailers { id, trailers: owned_headers(trailers) };
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(filter, "http_stream_trailers", later, |filter, envoy| {
            filter.on_http_stream_trailers(envoy, id, trailers);
        });
    }
}

/// An HTTP stream of the filter ended well.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_stream_complete(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
) {
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(
            filter,
            "http_stream_complete",
            || Deferred::StreamComplete { id },
            |filter, envoy| {
                filter.on_http_stream_complete(envoy, id);
            },
        );
    }
}

/// An HTTP stream of the filter failed or was cancelled.
///
/// # Safety
///
/// For Envoy, with what `http_filter_new` answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn envoy_dynamic_module_on_http_filter_http_stream_reset(
    _envoy: EnvoyFilter,
    filter: ModuleFilter,
    id: u64,
    reason: u32,
) {
    let reason = StreamResetReason::from_number(reason);
    // SAFETY: a filter of ours, or null.
    unsafe {
        event(
            filter,
            "http_stream_reset",
            || Deferred::StreamReset { id, reason },
            |filter, envoy| {
                filter.on_http_stream_reset(envoy, id, reason);
            },
        );
    }
}

// SAFETY for callers: `filter` comes from `http_filter_new` and is not freed, or is null.
unsafe fn stream<'a>(filter: ModuleFilter) -> Option<&'a Stream> {
    // SAFETY: the caller vouches for it.
    unsafe { filter.cast::<Stream>().as_ref() }
}

// Whether the filter cannot be called: it is gone, or one of its methods is running.
//
// SAFETY for callers: as for `stream`.
unsafe fn occupied(filter: ModuleFilter) -> bool {
    // SAFETY: the caller vouches for it.
    unsafe { stream(filter) }.is_none_or(Stream::busy)
}

// A hook without an answer: put off if a method is running, dropped once the stream is complete.
//
// SAFETY for callers: as for `stream`.
unsafe fn event(
    filter: *const c_void,
    hook: &str,
    later: impl FnOnce() -> Deferred,
    method: impl FnOnce(&mut dyn HttpFilter<EnvoyHttpFilterImpl>, &mut EnvoyHttpFilterImpl),
) {
    // SAFETY: the caller vouches for it.
    let Some(stream) = (unsafe { stream(filter) }) else { return };
    if stream.is_complete() {
        return;
    }
    if stream.busy() {
        return stream.defer(later());
    }
    // SAFETY: a filter of ours that is not busy.
    unsafe { Stream::run(filter.cast(), hook, OnPanic::Respond, method) };
}

// SAFETY for callers: as for `stream`.
unsafe fn watermark(filter: ModuleFilter, change: Deferred) {
    // SAFETY: the caller vouches for it.
    let Some(stream) = (unsafe { stream(filter) }) else { return };
    if !stream.is_complete() {
        stream.defer_to_next_turn(change);
    }
}
