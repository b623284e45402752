//! Rust stand-ins for Envoy's functions, so that an executable without Envoy links and the hook
//! layer can be tested. Each thread has its own Envoy.

#![allow(missing_docs, clippy::missing_safety_doc, reason = "named and documented as Envoy's functions are")]

use crate::abi::{
    envoy_dynamic_module_type_envoy_buffer as EnvoyBuf, envoy_dynamic_module_type_envoy_http_header as EnvoyHeader,
    envoy_dynamic_module_type_http_body_type as BodyType, envoy_dynamic_module_type_http_header_type as HeaderType,
    envoy_dynamic_module_type_log_level as Level, envoy_dynamic_module_type_module_buffer as ModuleBuf,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::raw::c_void;

type Reaction = Box<dyn FnMut()>;

/// This thread's Envoy.
#[derive(Default)]
struct Envoy {
    calls: Vec<&'static str>,
    reactions: HashMap<&'static str, Reaction>,
    logged: Vec<(Level, String)>,
    request_headers: Vec<(Vec<u8>, Vec<u8>)>,
    request_body: Vec<u8>,
    last_metric: usize,
    deferred_hooks: bool,
}

thread_local! {
    static ENVOY: RefCell<Envoy> = RefCell::default();
}

fn envoy<R>(body: impl FnOnce(&mut Envoy) -> R) -> R {
    ENVOY.with_borrow_mut(body)
}

/// What a stand-in without data answers.
pub trait Zero {
    /// Zero, false or null.
    const ZERO: Self;
}

macro_rules! zero {
    ($($ty:ty: $zero:expr;)+) => { $(impl Zero for $ty { const ZERO: Self = $zero; })+ };
}

zero! {
    (): ();
    bool: false;
    u32: 0;
    u64: 0;
    usize: 0;
    *mut c_void: std::ptr::null_mut();
}

/// Notes a call, lets the test react to it, answers zero.
pub(crate) fn called<T: Zero>(name: &'static str) -> T {
    // The reaction may call stand-ins itself, so nothing is borrowed while it runs.
    let reaction = envoy(|envoy| {
        envoy.calls.push(name);
        envoy.reactions.remove_entry(name)
    });
    if let Some((name, mut reaction)) = reaction {
        reaction();
        envoy(|envoy| {
            envoy.reactions.entry(name).or_insert(reaction);
        });
    }
    T::ZERO
}

// SAFETY for callers of all functions below: as for Envoy's own, buffers and places are valid
// during the call.

pub unsafe extern "C" fn envoy_dynamic_module_callback_log(level: Level, message: ModuleBuf) {
    // SAFETY: see above.
    let message = unsafe { bytes(message) };
    let message = String::from_utf8_lossy(message).into_owned();
    envoy(|envoy| envoy.logged.push((level, message)));
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_log_enabled(_level: Level) -> bool {
    true
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_header(
    _filter: *mut c_void,
    header_type: HeaderType,
    key: ModuleBuf,
    result: *mut EnvoyBuf,
    index: usize,
    optional_size: *mut usize,
) -> bool {
    // SAFETY: see above.
    let key = unsafe { bytes(key) };
    envoy(|envoy| {
        let values: Vec<&Vec<u8>> =
            envoy.headers(header_type).iter().filter(|(name, _)| name == key).map(|(_, value)| value).collect();
        if !optional_size.is_null() {
            // SAFETY: see above.
            unsafe { *optional_size = values.len() };
        }
        let Some(value) = values.get(index) else { return false };
        // SAFETY: see above.
        unsafe { *result = buffer(value) };
        true
    })
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_headers_size(
    _filter: *mut c_void,
    header_type: HeaderType,
) -> usize {
    envoy(|envoy| envoy.headers(header_type).len())
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_headers(
    _filter: *mut c_void,
    header_type: HeaderType,
    result: *mut EnvoyHeader,
) -> bool {
    envoy(|envoy| {
        for (index, (key, value)) in envoy.headers(header_type).iter().enumerate() {
            let header = EnvoyHeader {
                key_ptr: key.as_ptr().cast(),
                key_length: key.len(),
                value_ptr: value.as_ptr().cast(),
                value_length: value.len(),
            };
            // SAFETY: see above; the place has as many headers as `get_headers_size` answered.
            unsafe { result.add(index).write(header) };
        }
        true
    })
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_body_size(
    _filter: *mut c_void,
    body: BodyType,
) -> usize {
    let _: () = called("envoy_dynamic_module_callback_http_get_body_size");
    envoy(|envoy| envoy.body(body).len())
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_body_chunks_size(
    _filter: *mut c_void,
    body: BodyType,
) -> usize {
    let _: () = called("envoy_dynamic_module_callback_http_get_body_chunks_size");
    envoy(|envoy| envoy.body(body).len().div_ceil(CHUNK_BYTES))
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_get_body_chunks(
    _filter: *mut c_void,
    body: BodyType,
    result: *mut EnvoyBuf,
) -> bool {
    envoy(|envoy| {
        for (index, chunk) in envoy.body(body).chunks(CHUNK_BYTES).enumerate() {
            // SAFETY: see above; the place has as many chunks as `get_body_chunks_size` answered.
            unsafe { result.add(index).write(buffer(chunk)) };
        }
        true
    })
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_drain_body(
    _filter: *mut c_void,
    body: BodyType,
    number_of_bytes: usize,
) -> bool {
    let _: () = called("envoy_dynamic_module_callback_http_drain_body");
    envoy(|envoy| {
        let drained = number_of_bytes.min(envoy.body(body).len());
        envoy.request_body.drain(..drained);
        true
    })
}

pub unsafe extern "C" fn envoy_dynamic_module_callback_http_filter_scheduler_new(filter: *mut c_void) -> *mut c_void {
    let _: () = called("envoy_dynamic_module_callback_http_filter_scheduler_new");
    filter
}

macro_rules! definers {
    ($($name:ident)+) => {
        $(
            pub unsafe extern "C" fn $name(
                _owner: *mut c_void,
                _name: ModuleBuf,
                _label_names: *mut ModuleBuf,
                _label_names_length: usize,
                id: *mut usize,
            ) -> u32 {
                // SAFETY: see above.
                unsafe { *id = next_metric() };
                called(stringify!($name))
            }
        )+
    };
}

definers! {
    envoy_dynamic_module_callback_http_filter_config_define_counter
    envoy_dynamic_module_callback_http_filter_config_define_gauge
    envoy_dynamic_module_callback_http_filter_config_define_histogram
    envoy_dynamic_module_callback_bootstrap_extension_config_define_counter
    envoy_dynamic_module_callback_bootstrap_extension_config_define_gauge
    envoy_dynamic_module_callback_bootstrap_extension_config_define_histogram
}

/// The number of a new statistic.
pub(crate) fn next_metric() -> usize {
    envoy(|envoy| {
        envoy.last_metric += 1;
        envoy.last_metric
    })
}

/// What [`crate::has_deferred_hooks`] answers although no method is running.
pub(crate) fn deferred_hooks() -> bool {
    envoy(|envoy| envoy.deferred_hooks)
}

/// Sets the answer of [`deferred_hooks`].
pub(crate) fn set_deferred_hooks(deferred: bool) {
    envoy(|envoy| envoy.deferred_hooks = deferred);
}

/// Makes `reaction` run inside every call of the function `name`.
#[cfg(test)]
pub(crate) fn react(name: &'static str, reaction: impl FnMut() + 'static) {
    envoy(|envoy| envoy.reactions.insert(name, Box::new(reaction)));
}

/// The functions that were called on this thread since the last call, in order; data getters and
/// logging are not noted.
#[cfg(test)]
pub(crate) fn take_calls() -> Vec<&'static str> {
    envoy(|envoy| std::mem::take(&mut envoy.calls))
}

/// Sets the request's headers and what Envoy holds of its body.
#[cfg(test)]
pub(crate) fn set_request(headers: &[(&str, &str)], body: &[u8]) {
    let copy = |(key, value): &(&str, &str)| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    envoy(|envoy| {
        envoy.request_headers = headers.iter().map(copy).collect();
        envoy.request_body = body.to_vec();
    });
}

/// The lines that were logged on this thread since the last call.
pub(crate) fn take_logged() -> Vec<(Level, String)> {
    envoy(|envoy| std::mem::take(&mut envoy.logged))
}

// Small, so that tests see several chunks.
const CHUNK_BYTES: usize = 4;

impl Envoy {
    fn headers(&self, header_type: HeaderType) -> &[(Vec<u8>, Vec<u8>)] {
        match header_type {
            HeaderType::RequestHeader => &self.request_headers,
            _ => &[],
        }
    }

    fn body(&self, body: BodyType) -> &[u8] {
        match body {
            BodyType::BufferedRequestBody => &self.request_body,
            _ => &[],
        }
    }
}

// SAFETY for callers: the buffer is readable for 'a.
unsafe fn bytes<'a>(buffer: ModuleBuf) -> &'a [u8] {
    if buffer.ptr.is_null() || buffer.length == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts(buffer.ptr.cast(), buffer.length) }
}

fn buffer(bytes: &[u8]) -> EnvoyBuf {
    EnvoyBuf { ptr: bytes.as_ptr().cast(), length: bytes.len() }
}
