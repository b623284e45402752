//! The C ABI v0.1.0 by hand: the enums, the structs and the functions that Envoy exports, as far as
//! this crate uses them.
//!
//! Names are those of Envoy's header. Under the feature `mock`, and in this crate's own tests, Rust
//! stand-ins take the place of Envoy's functions, so that an executable without Envoy links.

#![allow(
    non_camel_case_types,
    missing_docs,
    clippy::missing_safety_doc,
    reason = "named and documented as in Envoy's header"
)]

use std::os::raw::{c_char, c_void};

/// The version that `envoy_dynamic_module_on_program_init` answers, NUL-terminated for C.
#[allow(non_upper_case_globals)]
pub const envoy_dynamic_modules_abi_version: &[u8] = b"v0.1.0\0";

pub type envoy_dynamic_module_type_buffer_module_ptr = *const c_char;
pub type envoy_dynamic_module_type_buffer_envoy_ptr = *const c_char;
pub type envoy_dynamic_module_type_http_filter_config_envoy_ptr = *mut c_void;
pub type envoy_dynamic_module_type_http_filter_config_module_ptr = *const c_void;
pub type envoy_dynamic_module_type_http_filter_envoy_ptr = *mut c_void;
pub type envoy_dynamic_module_type_http_filter_module_ptr = *const c_void;
pub type envoy_dynamic_module_type_http_filter_scheduler_module_ptr = *mut c_void;
pub type envoy_dynamic_module_type_http_filter_config_scheduler_module_ptr = *mut c_void;
pub type envoy_dynamic_module_type_span_envoy_ptr = *mut c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_config_envoy_ptr = *mut c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_config_module_ptr = *const c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_envoy_ptr = *mut c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_module_ptr = *const c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_config_scheduler_module_ptr = *mut c_void;
pub type envoy_dynamic_module_type_bootstrap_extension_timer_module_ptr = *mut c_void;
/// What Envoy hands to `shutdown`: to be called once with its context.
pub type envoy_dynamic_module_type_event_cb = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// A buffer of Envoy's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct envoy_dynamic_module_type_envoy_buffer {
    pub ptr: envoy_dynamic_module_type_buffer_envoy_ptr,
    pub length: usize,
}

/// A buffer of ours.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct envoy_dynamic_module_type_module_buffer {
    pub ptr: envoy_dynamic_module_type_buffer_module_ptr,
    pub length: usize,
}

/// A header of ours.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct envoy_dynamic_module_type_module_http_header {
    pub key_ptr: envoy_dynamic_module_type_buffer_module_ptr,
    pub key_length: usize,
    pub value_ptr: envoy_dynamic_module_type_buffer_module_ptr,
    pub value_length: usize,
}

/// A header of Envoy's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct envoy_dynamic_module_type_envoy_http_header {
    pub key_ptr: envoy_dynamic_module_type_buffer_envoy_ptr,
    pub key_length: usize,
    pub value_ptr: envoy_dynamic_module_type_buffer_envoy_ptr,
    pub value_length: usize,
}

/// `bytes` as a buffer of ours, for the length of one call.
pub(crate) fn module_buffer(bytes: &[u8]) -> envoy_dynamic_module_type_module_buffer {
    envoy_dynamic_module_type_module_buffer { ptr: bytes.as_ptr().cast(), length: bytes.len() }
}

impl envoy_dynamic_module_type_envoy_buffer {
    /// An empty result, for Envoy to fill in.
    pub(crate) const EMPTY: Self = Self { ptr: std::ptr::null(), length: 0 };
}

// A C enum: 32 bits wide, counting from 0.
macro_rules! c_enum {
    ($name:ident { $($variant:ident),+ $(,)? }) => {
        #[repr(u32)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($variant),+ }

        impl $name {
            /// The value that Envoy means by `number`; the last one stands for all later ones.
            #[allow(dead_code)]
            pub(crate) fn from_number(number: u32) -> Self {
                const ALL: &[$name] = &[$($name::$variant),+];
                ALL[(number as usize).min(ALL.len() - 1)]
            }
        }
    };
}

c_enum!(envoy_dynamic_module_type_http_header_type { RequestHeader, RequestTrailer, ResponseHeader, ResponseTrailer });
c_enum!(envoy_dynamic_module_type_http_body_type {
    ReceivedRequestBody,
    BufferedRequestBody,
    ReceivedResponseBody,
    BufferedResponseBody,
});
c_enum!(envoy_dynamic_module_type_log_level { Trace, Debug, Info, Warn, Error, Critical, Off });
c_enum!(envoy_dynamic_module_type_http_callout_init_result {
    Success,
    MissingRequiredHeaders,
    ClusterNotFound,
    DuplicateCalloutId,
    CannotCreateRequest,
});
c_enum!(envoy_dynamic_module_type_http_callout_result { Success, Reset, ExceedResponseBufferLimit });
c_enum!(envoy_dynamic_module_type_http_stream_reset_reason {
    ConnectionFailure,
    ConnectionTermination,
    LocalReset,
    LocalRefusedStreamReset,
    Overflow,
    RemoteReset,
    RemoteRefusedStreamReset,
    ProtocolError,
});
c_enum!(envoy_dynamic_module_type_metrics_result { Success, MetricNotFound, InvalidLabels, Frozen });
c_enum!(envoy_dynamic_module_type_metadata_source { Dynamic, Route, Cluster, Host, HostLocality });
c_enum!(envoy_dynamic_module_type_attribute_id {
    RequestPath,
    RequestUrlPath,
    RequestHost,
    RequestScheme,
    RequestMethod,
    RequestHeaders,
    RequestReferer,
    RequestUserAgent,
    RequestTime,
    RequestId,
    RequestProtocol,
    RequestQuery,
    RequestDuration,
    RequestSize,
    RequestTotalSize,
    ResponseCode,
    ResponseCodeDetails,
    ResponseFlags,
    ResponseGrpcStatus,
    ResponseHeaders,
    ResponseTrailers,
    ResponseSize,
    ResponseTotalSize,
    ResponseBackendLatency,
    SourceAddress,
    SourcePort,
    DestinationAddress,
    DestinationPort,
    ConnectionId,
    ConnectionMtls,
    ConnectionRequestedServerName,
    ConnectionTlsVersion,
    ConnectionSubjectLocalCertificate,
    ConnectionSubjectPeerCertificate,
    ConnectionDnsSanLocalCertificate,
    ConnectionDnsSanPeerCertificate,
    ConnectionUriSanLocalCertificate,
    ConnectionUriSanPeerCertificate,
    ConnectionSha256PeerCertificateDigest,
    ConnectionTransportFailureReason,
    ConnectionTerminationDetails,
    UpstreamAddress,
    UpstreamPort,
    UpstreamTlsVersion,
    UpstreamSubjectLocalCertificate,
    UpstreamSubjectPeerCertificate,
    UpstreamDnsSanLocalCertificate,
    UpstreamDnsSanPeerCertificate,
    UpstreamUriSanLocalCertificate,
    UpstreamUriSanPeerCertificate,
    UpstreamSha256PeerCertificateDigest,
    UpstreamLocalAddress,
    UpstreamTransportFailureReason,
    UpstreamRequestAttemptCount,
    UpstreamCxPoolReadyDuration,
    UpstreamLocality,
    XdsNode,
    XdsClusterName,
    XdsClusterMetadata,
    XdsListenerDirection,
    XdsListenerMetadata,
    XdsRouteName,
    XdsRouteMetadata,
    XdsVirtualHostName,
    XdsVirtualHostMetadata,
    XdsUpstreamHostMetadata,
    XdsFilterChainName,
    HealthCheck,
});
c_enum!(envoy_dynamic_module_type_on_http_filter_request_headers_status {
    Continue,
    StopIteration,
    ContinueAndDontEndStream,
    StopAllIterationAndBuffer,
    StopAllIterationAndWatermark,
});
c_enum!(envoy_dynamic_module_type_on_http_filter_request_body_status {
    Continue,
    StopIterationAndBuffer,
    StopIterationAndWatermark,
    StopIterationNoBuffer,
});
c_enum!(envoy_dynamic_module_type_on_http_filter_request_trailers_status { Continue, StopIteration });
c_enum!(envoy_dynamic_module_type_on_http_filter_response_headers_status {
    Continue,
    StopIteration,
    ContinueAndDontEndStream,
    StopAllIterationAndBuffer,
    StopAllIterationAndWatermark,
});
c_enum!(envoy_dynamic_module_type_on_http_filter_response_body_status {
    Continue,
    StopIterationAndBuffer,
    StopIterationAndWatermark,
    StopIterationNoBuffer,
});
c_enum!(envoy_dynamic_module_type_on_http_filter_response_trailers_status { Continue, StopIteration });
c_enum!(envoy_dynamic_module_type_on_http_filter_local_reply_status { Continue, ContinueAndResetStream });
c_enum!(envoy_dynamic_module_type_http_filter_stream_reset_reason { LocalReset, LocalRefusedStreamReset });

impl From<envoy_dynamic_module_type_metrics_result> for Result<(), envoy_dynamic_module_type_metrics_result> {
    fn from(result: envoy_dynamic_module_type_metrics_result) -> Self {
        match result {
            envoy_dynamic_module_type_metrics_result::Success => Ok(()),
            error => Err(error),
        }
    }
}

// Where the functions come from: Envoy, or `stand_in` where no Envoy is linked. An enum that Envoy
// answers is declared as its integer, because a newer Envoy may know more values than we do.
macro_rules! imports {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)+) => {
        #[cfg(not(any(test, feature = "mock")))]
        extern "C" {
            $(pub fn $name($($arg: $ty),*) $(-> $ret)?;)+
        }
        $(
            #[cfg(any(test, feature = "mock"))]
            pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                $(let _ = $arg;)*
                crate::stand_in::called(stringify!($name))
            }
        )+
    };
}

// Functions whose stand-ins answer data; the others are answered zero.
macro_rules! data_imports {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)+) => {
        #[cfg(not(any(test, feature = "mock")))]
        extern "C" {
            $(pub fn $name($($arg: $ty),*) $(-> $ret)?;)+
        }
        #[cfg(any(test, feature = "mock"))]
        pub use crate::stand_in::{$($name),+};
    };
}

type Filter = envoy_dynamic_module_type_http_filter_envoy_ptr;
type Config = envoy_dynamic_module_type_http_filter_config_envoy_ptr;
type Bootstrap = envoy_dynamic_module_type_bootstrap_extension_config_envoy_ptr;
type Timer = envoy_dynamic_module_type_bootstrap_extension_timer_module_ptr;
type Span = envoy_dynamic_module_type_span_envoy_ptr;
type Scheduler = *mut c_void;
type EnvoyBuf = envoy_dynamic_module_type_envoy_buffer;
type ModuleBuf = envoy_dynamic_module_type_module_buffer;
#[allow(dead_code, reason = "the stand-ins of the functions that use it are elsewhere")]
type EnvoyHeader = envoy_dynamic_module_type_envoy_http_header;
type ModuleHeader = envoy_dynamic_module_type_module_http_header;
type HeaderType = envoy_dynamic_module_type_http_header_type;
#[allow(dead_code, reason = "the stand-ins of the functions that use it are elsewhere")]
type BodyType = envoy_dynamic_module_type_http_body_type;
type Source = envoy_dynamic_module_type_metadata_source;
type Attribute = envoy_dynamic_module_type_attribute_id;
#[allow(dead_code, reason = "the stand-ins of the functions that use it are elsewhere")]
type Level = envoy_dynamic_module_type_log_level;
type ResetReason = envoy_dynamic_module_type_http_filter_stream_reset_reason;

/// The shape of all functions that define a statistic.
pub(crate) type Definer = unsafe extern "C" fn(*mut c_void, ModuleBuf, *mut ModuleBuf, usize, *mut usize) -> u32;
/// The shape of all functions that record one.
pub(crate) type Recorder = unsafe extern "C" fn(*mut c_void, usize, *mut ModuleBuf, usize, u64) -> u32;

// Common.
data_imports! {
    fn envoy_dynamic_module_callback_log(level: Level, message: ModuleBuf);
    fn envoy_dynamic_module_callback_log_enabled(level: Level) -> bool;
}
imports! {
    fn envoy_dynamic_module_callback_get_concurrency() -> u32;
    fn envoy_dynamic_module_callback_is_validation_mode() -> bool;
}

// Headers, bodies, attributes and metadata of a stream.
data_imports! {
    fn envoy_dynamic_module_callback_http_get_header(
        filter: Filter,
        header_type: HeaderType,
        key: ModuleBuf,
        result: *mut EnvoyBuf,
        index: usize,
        optional_size: *mut usize,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_headers_size(
        filter: Filter,
        header_type: HeaderType,
    ) -> usize;
    fn envoy_dynamic_module_callback_http_get_headers(
        filter: Filter,
        header_type: HeaderType,
        result: *mut EnvoyHeader,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_body_size(filter: Filter, body: BodyType) -> usize;
    fn envoy_dynamic_module_callback_http_get_body_chunks_size(
        filter: Filter,
        body: BodyType,
    ) -> usize;
    fn envoy_dynamic_module_callback_http_get_body_chunks(
        filter: Filter,
        body: BodyType,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_drain_body(
        filter: Filter,
        body: BodyType,
        number_of_bytes: usize,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_filter_scheduler_new(filter: Filter) -> Scheduler;
}
imports! {
    fn envoy_dynamic_module_callback_http_add_header(
        filter: Filter,
        header_type: HeaderType,
        key: ModuleBuf,
        value: ModuleBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_set_header(
        filter: Filter,
        header_type: HeaderType,
        key: ModuleBuf,
        value: ModuleBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_received_buffered_request_body(filter: Filter) -> bool;
    fn envoy_dynamic_module_callback_http_get_buffer_limit(filter: Filter) -> u64;
    fn envoy_dynamic_module_callback_http_set_buffer_limit(filter: Filter, limit: u64);
    fn envoy_dynamic_module_callback_http_filter_get_attribute_string(
        filter: Filter,
        attribute: Attribute,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_filter_get_attribute_int(
        filter: Filter,
        attribute: Attribute,
        result: *mut u64,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_filter_get_attribute_bool(
        filter: Filter,
        attribute: Attribute,
        result: *mut bool,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_number(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        result: *mut f64,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_string(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_bool(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        result: *mut bool,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_keys_count(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
    ) -> usize;
    fn envoy_dynamic_module_callback_http_get_metadata_keys(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_namespaces_count(
        filter: Filter,
        source: Source,
    ) -> usize;
    fn envoy_dynamic_module_callback_http_get_metadata_namespaces(
        filter: Filter,
        source: Source,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_list_size(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        result: *mut usize,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_list_number(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        index: usize,
        result: *mut f64,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_list_string(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        index: usize,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_get_metadata_list_bool(
        filter: Filter,
        source: Source,
        namespace: ModuleBuf,
        key: ModuleBuf,
        index: usize,
        result: *mut bool,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_set_dynamic_metadata_number(
        filter: Filter,
        namespace: ModuleBuf,
        key: ModuleBuf,
        value: f64,
    );
    fn envoy_dynamic_module_callback_http_set_dynamic_metadata_string(
        filter: Filter,
        namespace: ModuleBuf,
        key: ModuleBuf,
        value: ModuleBuf,
    );
    fn envoy_dynamic_module_callback_http_set_dynamic_metadata_bool(
        filter: Filter,
        namespace: ModuleBuf,
        key: ModuleBuf,
        value: bool,
    );
}

// Responding to and steering a stream.
imports! {
    fn envoy_dynamic_module_callback_http_send_response(
        filter: Filter,
        status_code: u32,
        headers: *mut ModuleHeader,
        headers_size: usize,
        body: ModuleBuf,
        details: ModuleBuf,
    );
    fn envoy_dynamic_module_callback_http_send_response_headers(
        filter: Filter,
        headers: *mut ModuleHeader,
        headers_size: usize,
        end_stream: bool,
    );
    fn envoy_dynamic_module_callback_http_send_response_data(
        filter: Filter,
        data: ModuleBuf,
        end_stream: bool,
    );
    fn envoy_dynamic_module_callback_http_send_response_trailers(
        filter: Filter,
        trailers: *mut ModuleHeader,
        trailers_size: usize,
    );
    fn envoy_dynamic_module_callback_http_add_custom_flag(filter: Filter, flag: ModuleBuf);
    fn envoy_dynamic_module_callback_http_clear_route_cache(filter: Filter);
    fn envoy_dynamic_module_callback_http_filter_continue_decoding(filter: Filter);
    fn envoy_dynamic_module_callback_http_filter_continue_encoding(filter: Filter);
    fn envoy_dynamic_module_callback_http_filter_reset_stream(
        filter: Filter,
        reason: ResetReason,
        details: ModuleBuf,
    );
    fn envoy_dynamic_module_callback_http_filter_send_go_away_and_close(
        filter: Filter,
        graceful: bool,
    );
    fn envoy_dynamic_module_callback_http_filter_get_worker_index(filter: Filter) -> u32;
    fn envoy_dynamic_module_callback_http_filter_scheduler_commit(
        scheduler: Scheduler,
        event_id: u64,
    );
    fn envoy_dynamic_module_callback_http_filter_scheduler_delete(scheduler: Scheduler);
    fn envoy_dynamic_module_callback_http_filter_config_scheduler_new(config: Config) -> Scheduler;
    fn envoy_dynamic_module_callback_http_filter_config_scheduler_commit(
        scheduler: Scheduler,
        event_id: u64,
    );
    fn envoy_dynamic_module_callback_http_filter_config_scheduler_delete(scheduler: Scheduler);
    fn envoy_dynamic_module_callback_http_get_active_span(filter: Filter) -> Span;
    fn envoy_dynamic_module_callback_http_span_set_tag(
        span: Span,
        key: ModuleBuf,
        value: ModuleBuf,
    );
    fn envoy_dynamic_module_callback_http_span_get_baggage(
        span: Span,
        key: ModuleBuf,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_span_get_trace_id(
        span: Span,
        result: *mut EnvoyBuf,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_span_get_span_id(
        span: Span,
        result: *mut EnvoyBuf,
    ) -> bool;
}

// Requests to clusters.
imports! {
    fn envoy_dynamic_module_callback_http_filter_http_callout(
        filter: Filter,
        callout_id: *mut u64,
        cluster_name: ModuleBuf,
        headers: *mut ModuleHeader,
        headers_size: usize,
        body: ModuleBuf,
        timeout_milliseconds: u64,
    ) -> u32;
    fn envoy_dynamic_module_callback_http_filter_start_http_stream(
        filter: Filter,
        stream_id: *mut u64,
        cluster_name: ModuleBuf,
        headers: *mut ModuleHeader,
        headers_size: usize,
        body: ModuleBuf,
        end_stream: bool,
        timeout_milliseconds: u64,
    ) -> u32;
    fn envoy_dynamic_module_callback_http_filter_reset_http_stream(filter: Filter, stream_id: u64);
    fn envoy_dynamic_module_callback_http_stream_send_data(
        filter: Filter,
        stream_id: u64,
        data: ModuleBuf,
        end_stream: bool,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_stream_send_trailers(
        filter: Filter,
        stream_id: u64,
        trailers: *mut ModuleHeader,
        trailers_size: usize,
    ) -> bool;
}

// Statistics: the definitions of a filter configuration and of a bootstrap extension…
macro_rules! definitions {
    ($owner:ty: $($name:ident)+) => {
        data_imports! {
            $(fn $name(
                owner: $owner,
                name: ModuleBuf,
                label_names: *mut ModuleBuf,
                label_names_length: usize,
                id: *mut usize,
            ) -> u32;)+
        }
    };
}
definitions! { Config:
    envoy_dynamic_module_callback_http_filter_config_define_counter
    envoy_dynamic_module_callback_http_filter_config_define_gauge
    envoy_dynamic_module_callback_http_filter_config_define_histogram
}
definitions! { Bootstrap:
    envoy_dynamic_module_callback_bootstrap_extension_config_define_counter
    envoy_dynamic_module_callback_bootstrap_extension_config_define_gauge
    envoy_dynamic_module_callback_bootstrap_extension_config_define_histogram
}

// … and their values, which all take the same arguments.
macro_rules! recorders {
    ($owner:ty: $($name:ident)+) => {
        imports! {
            $(fn $name(
                owner: $owner,
                id: usize,
                label_values: *mut ModuleBuf,
                label_values_length: usize,
                value: u64,
            ) -> u32;)+
        }
    };
}
recorders! { Filter:
    envoy_dynamic_module_callback_http_filter_increment_counter
    envoy_dynamic_module_callback_http_filter_increment_gauge
    envoy_dynamic_module_callback_http_filter_decrement_gauge
    envoy_dynamic_module_callback_http_filter_set_gauge
    envoy_dynamic_module_callback_http_filter_record_histogram_value
}
recorders! { Config:
    envoy_dynamic_module_callback_http_filter_config_increment_counter
    envoy_dynamic_module_callback_http_filter_config_increment_gauge
    envoy_dynamic_module_callback_http_filter_config_decrement_gauge
    envoy_dynamic_module_callback_http_filter_config_set_gauge
    envoy_dynamic_module_callback_http_filter_config_record_histogram_value
}
recorders! { Bootstrap:
    envoy_dynamic_module_callback_bootstrap_extension_config_increment_counter
    envoy_dynamic_module_callback_bootstrap_extension_config_increment_gauge
    envoy_dynamic_module_callback_bootstrap_extension_config_decrement_gauge
    envoy_dynamic_module_callback_bootstrap_extension_config_set_gauge
    envoy_dynamic_module_callback_bootstrap_extension_config_record_histogram_value
}

// Bootstrap extensions.
imports! {
    fn envoy_dynamic_module_callback_bootstrap_extension_config_signal_init_complete(
        config: Bootstrap,
    );
    fn envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_new(
        config: Bootstrap,
    ) -> Scheduler;
    fn envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_commit(
        scheduler: Scheduler,
        event_id: u64,
    );
    fn envoy_dynamic_module_callback_bootstrap_extension_config_scheduler_delete(
        scheduler: Scheduler,
    );
    fn envoy_dynamic_module_callback_bootstrap_extension_timer_new(config: Bootstrap) -> Timer;
    fn envoy_dynamic_module_callback_bootstrap_extension_timer_enable(
        timer: Timer,
        delay_milliseconds: u64,
    );
    fn envoy_dynamic_module_callback_bootstrap_extension_timer_disable(timer: Timer);
    fn envoy_dynamic_module_callback_bootstrap_extension_timer_enabled(timer: Timer) -> bool;
    fn envoy_dynamic_module_callback_bootstrap_extension_timer_delete(timer: Timer);
    fn envoy_dynamic_module_callback_bootstrap_extension_get_counter_value(
        extension: envoy_dynamic_module_type_bootstrap_extension_envoy_ptr,
        name: ModuleBuf,
        value: *mut u64,
    ) -> bool;
    fn envoy_dynamic_module_callback_bootstrap_extension_get_gauge_value(
        extension: envoy_dynamic_module_type_bootstrap_extension_envoy_ptr,
        name: ModuleBuf,
        value: *mut u64,
    ) -> bool;
}
