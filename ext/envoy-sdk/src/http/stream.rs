//! The holder of one stream's filter: what Envoy knows as the filter, and the one place that deals
//! with re-entrancy, panics and destruction inside a call. Lives on the stream's worker thread.
//!
//! Envoy calls hooks while a method of the filter is still running: ending the stream from a method
//! makes Envoy complete and destroy it before the call returns, sending data raises a watermark. A
//! filter is called through `&mut`, so such a hook must not reach it: it is noted here and
//! delivered when the method has returned, and the memory is given back only then.
//!
//! A watermark that changes while no method runs is put off as well, to the stream's next turn of the
//! event loop: Envoy then walks a list of the streams to tell, and every version crashes when a
//! stream ends meanwhile.

use super::filter_impl::Scheduler;
use super::{EnvoyHttpFilterImpl, EnvoyHttpFilterScheduler as _, HttpFilter};
use crate::abi::{
    self, envoy_dynamic_module_type_http_callout_result as CalloutResult,
    envoy_dynamic_module_type_http_stream_reset_reason as StreamResetReason,
};
use crate::server::caught;
use crate::EnvoyBuffer;
use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::os::raw::c_void;
use std::ptr::NonNull;

thread_local! {
    // The stream whose filter's method is running on this thread.
    static RUNNING: Cell<*const Stream> = const { Cell::new(std::ptr::null()) };
}

/// Whether Envoy reported a watermark or the end of the stream to the filter whose method is running
/// on this thread: these hooks wait for the method to return.
///
/// A method that sends much in a loop asks this between two pieces and returns if so: the client may
/// read too slowly, or be gone. The hook that follows tells which. The public SDK lacks this.
pub fn has_deferred_hooks() -> bool {
    #[cfg(any(test, feature = "mock"))]
    if crate::stand_in::deferred_hooks() {
        return true;
    }
    // SAFETY: the pointer is set for the time that the holder certainly lives.
    let Some(stream) = (unsafe { RUNNING.get().as_ref() }) else { return false };
    let flow = |event: &Deferred| matches!(event, Deferred::Above | Deferred::Below | Deferred::Complete);
    stream.deferred.borrow().iter().any(flow)
}

type Filter = Box<dyn HttpFilter<EnvoyHttpFilterImpl>>;

/// How far the response of a stream is, as far as this side knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    /// Nothing final was sent.
    None,
    /// The final headers are out.
    Started,
    /// Nothing can follow.
    Ended,
}

/// What a panic in a hook does to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnPanic {
    /// Answers 500, or resets the stream if its response has started.
    Respond,
    /// Resets the stream: somebody else's response is under way.
    Reset,
    /// Nothing but the log: the stream ends anyway.
    Log,
}

/// How a hook went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome<R> {
    /// The method answered.
    Done(R),
    /// There is no filter to call any more: it panicked earlier.
    Skipped,
    /// The method panicked.
    Panicked,
}

impl<R> Outcome<R> {
    /// The method's answer, or `other` without one.
    pub(crate) fn or(self, other: R) -> R {
        match self {
            Self::Done(answer) => answer,
            Self::Skipped | Self::Panicked => other,
        }
    }
}

/// A hook that fired while a method of the filter was running.
pub(crate) enum Deferred {
    RequestHeaders { end_of_stream: bool },
    RequestBody { end_of_stream: bool },
    RequestTrailers,
    Above,
    Below,
    Scheduled(u64),
    CalloutDone { id: u64, result: CalloutResult, headers: Option<Headers>, body: Option<Chunks> },
    StreamHeaders { id: u64, headers: Headers, end_stream: bool },
    StreamData { id: u64, data: Chunks, end_stream: bool },
    StreamTrailers { id: u64, trailers: Headers },
    StreamComplete { id: u64 },
    StreamReset { id: u64, reason: StreamResetReason },
    Complete,
}

/// Headers that outlive their hook.
pub(crate) type Headers = Vec<(Vec<u8>, Vec<u8>)>;
/// Body bytes that outlive their hook.
pub(crate) type Chunks = Vec<Vec<u8>>;

/// The holder. Only shared references to it exist, because hooks nest.
pub(crate) struct Stream {
    envoy: Cell<*mut c_void>,
    filter: UnsafeCell<Option<Filter>>,
    busy: Cell<bool>,
    response: Cell<Response>,
    replying: Cell<bool>,
    complete: Cell<bool>,
    destroyed: Cell<bool>,
    poisoned: Cell<bool>,
    deferred: RefCell<VecDeque<Deferred>>,
    // Made when first needed: brings `WAKE` to this stream.
    waker: OnceCell<Scheduler>,
    wake_committed: Cell<bool>,
}

/// The event that makes a stream look at what was put off; told from a filter's own by
/// [`Stream::take_wake`].
const WAKE: u64 = u64::MAX;

impl Stream {
    /// Makes the holder and lets `make` make the filter; a panic there makes a stream that answers
    /// 500. The result is what Envoy keeps, until [`Self::destroy`].
    pub(crate) fn create(envoy: *mut c_void, make: impl FnOnce(&mut EnvoyHttpFilterImpl) -> Filter) -> *const Self {
        let stream = Box::new(Self {
            envoy: Cell::new(envoy),
            filter: UnsafeCell::new(None),
            busy: Cell::new(true),
            response: Cell::new(Response::None),
            replying: Cell::new(false),
            complete: Cell::new(false),
            destroyed: Cell::new(false),
            poisoned: Cell::new(false),
            deferred: RefCell::new(VecDeque::new()),
            waker: OnceCell::new(),
            wake_committed: Cell::new(false),
        });
        let mut envoy_filter = EnvoyHttpFilterImpl::new(NonNull::from(&*stream));
        let filter = caught("new_http_filter", || make(&mut envoy_filter));
        stream.poisoned.set(filter.is_none());
        // SAFETY: no method runs, so this is the only reference to the filter's place.
        unsafe { *stream.filter.get() = filter };
        stream.busy.set(false);
        Box::into_raw(stream)
    }

    /// Whether a method of the filter is running, so that this hook came from inside of it.
    pub(crate) fn busy(&self) -> bool {
        self.busy.get()
    }

    /// Envoy's filter, or `None` once it is gone.
    pub(crate) fn alive(&self) -> Option<*mut c_void> {
        (!self.destroyed.get()).then(|| self.envoy.get())
    }

    /// Envoy's filter while its stream can still be changed; not while Envoy makes a reply of its own,
    /// when a reset would pull the stream from under it.
    pub(crate) fn active(&self) -> Option<*mut c_void> {
        if self.complete.get() || self.replying.get() {
            return None;
        }
        self.alive()
    }

    /// Envoy's filter while its response has not ended.
    pub(crate) fn open(&self) -> Option<*mut c_void> {
        if self.response.get() == Response::Ended {
            return None;
        }
        self.active()
    }

    /// Envoy's filter while its response has not started.
    pub(crate) fn unanswered(&self) -> Option<*mut c_void> {
        if self.response.get() != Response::None {
            return None;
        }
        self.active()
    }

    /// Envoy's filter, for statistics only: they outlive the stream to the end of the hook.
    ///
    /// Envoy deletes a filter from its event loop, after the hook that destroyed it has returned,
    /// and statistics are looked up in the configuration that the filter shares.
    pub(crate) fn recorder(&self) -> *mut c_void {
        self.envoy.get()
    }

    /// Notes how far the response is, before the call that makes it so.
    pub(crate) fn set_response(&self, response: Response) {
        self.response.set(response);
    }

    /// Notes whether Envoy makes a reply of its own.
    pub(crate) fn set_replying(&self, replying: bool) {
        self.replying.set(replying);
    }

    /// Whether the stream is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.get()
    }

    /// Puts `event` off until the running method has returned.
    pub(crate) fn defer(&self, event: Deferred) {
        if !self.poisoned.get() {
            self.deferred.borrow_mut().push_back(event);
        }
    }

    /// Puts `event` off to the stream's next turn, or until the running method has returned.
    pub(crate) fn defer_to_next_turn(&self, event: Deferred) {
        self.defer(event);
        if !self.busy.get() && !self.wake_committed.replace(true) {
            self.waker.get_or_init(|| Scheduler::new(self.alive())).commit(WAKE);
        }
    }

    /// Whether `event_id` is the wake of [`Self::defer_to_next_turn`], not an event of the filter.
    pub(crate) fn take_wake(&self, event_id: u64) -> bool {
        event_id == WAKE && self.wake_committed.replace(false)
    }

    /// Notes that the stream is complete; only statistics and [`Deferred::Complete`] follow.
    pub(crate) fn set_complete(&self) {
        self.complete.set(true);
        self.response.set(Response::Ended);
    }

    /// Runs a hook that did not come from inside a method: whatever was put off to this turn, the
    /// method `body`, whatever was put off meanwhile, then the destruction if it was asked for.
    ///
    /// # Safety
    ///
    /// `this` comes from [`Self::create`], is not destroyed and not [`Self::busy`]; nobody uses it
    /// after this call if the filter was destroyed in it.
    pub(crate) unsafe fn run<R>(
        this: *const Self,
        hook: &str,
        on_panic: OnPanic,
        body: impl FnOnce(&mut dyn HttpFilter<EnvoyHttpFilterImpl>, &mut EnvoyHttpFilterImpl) -> R,
    ) -> Outcome<R> {
        // SAFETY: the holder lives until `free` below.
        let stream = unsafe { &*this };
        stream.busy.set(true);
        let outer = RUNNING.replace(this);
        let complete = stream.complete.get();
        stream.deliver_all();
        let result = if stream.complete.get() == complete {
            stream.call(hook, on_panic, body)
        } else {
            // What was put off ended the stream; the hook came too late.
            Outcome::Skipped
        };
        stream.deliver_all();
        RUNNING.set(outer);
        stream.busy.set(false);
        if stream.destroyed.get() {
            // SAFETY: no method runs any more, and the caller does not use it again.
            unsafe { Self::free(this) };
        }
        result
    }

    /// Envoy lets go of the filter: at once, or after the method that is running.
    ///
    /// # Safety
    ///
    /// `this` comes from [`Self::create`] and is not destroyed yet.
    pub(crate) unsafe fn destroy(this: *const Self) {
        // SAFETY: the holder lives until `free` below, or in `run`.
        let stream = unsafe { &*this };
        stream.set_complete();
        stream.destroyed.set(true);
        if !stream.busy.get() {
            // SAFETY: no method runs, and Envoy has forgotten the pointer.
            unsafe { Self::free(this) };
        }
    }

    // SAFETY for callers: the last use of `this`.
    unsafe fn free(this: *const Self) {
        // SAFETY: `create` made it from a Box, and this is its last use.
        let stream = unsafe { Box::from_raw(this.cast_mut()) };
        caught("drop", || drop(stream));
    }

    fn deliver_all(&self) {
        while let Some(event) = self.next_deferred() {
            self.deliver(event);
        }
    }

    fn next_deferred(&self) -> Option<Deferred> {
        // The borrow must end here: delivering may put more off.
        self.deferred.borrow_mut().pop_front()
    }

    // One method of the filter; `busy` is set.
    fn call<R>(
        &self,
        hook: &str,
        on_panic: OnPanic,
        body: impl FnOnce(&mut dyn HttpFilter<EnvoyHttpFilterImpl>, &mut EnvoyHttpFilterImpl) -> R,
    ) -> Outcome<R> {
        // SAFETY: `busy` keeps every other hook away from the filter, so this is the only reference
        // to it until `body` has returned.
        let filter = unsafe { &mut *self.filter.get() };
        let Some(filter) = filter.as_mut().filter(|_| !self.poisoned.get()) else {
            // A stream whose filter could not even be made has not been answered yet.
            if on_panic == OnPanic::Respond {
                self.fail(on_panic);
            }
            return Outcome::Skipped;
        };
        let mut envoy_filter = EnvoyHttpFilterImpl::new(NonNull::from(self));
        if let Some(answer) = caught(hook, || body(filter.as_mut(), &mut envoy_filter)) {
            return Outcome::Done(answer);
        }
        self.poisoned.set(true);
        self.deferred.borrow_mut().clear();
        self.fail(on_panic);
        Outcome::Panicked
    }

    // Ends the stream of a filter that panicked, once.
    fn fail(&self, on_panic: OnPanic) {
        let Some(envoy) = self.open() else { return };
        let started = self.response.get() == Response::Started;
        match on_panic {
            OnPanic::Log => {}
            OnPanic::Respond if !started => {
                self.set_response(Response::Ended);
                let mut envoy_filter = EnvoyHttpFilterImpl::new(NonNull::from(self));
                envoy_filter.send_panic_response(envoy);
            }
            OnPanic::Respond | OnPanic::Reset => {
                self.set_response(Response::Ended);
                let reason = abi::envoy_dynamic_module_type_http_filter_stream_reset_reason::LocalReset;
                let details = abi::module_buffer(b"dynamic_module_panic");
                // SAFETY: Envoy's filter is alive, on its own worker.
                unsafe {
                    abi::envoy_dynamic_module_callback_http_filter_reset_stream(envoy, reason, details);
                }
            }
        }
    }

    fn deliver(&self, event: Deferred) {
        // Once the stream is complete, nothing but that is news.
        if self.complete.get() && !matches!(event, Deferred::Complete) {
            return;
        }
        let on_panic = match event {
            Deferred::Complete => OnPanic::Log,
            _ => OnPanic::Respond,
        };
        self.call("a deferred hook", on_panic, |filter, envoy| event.deliver(filter, envoy));
    }
}

impl Deferred {
    fn deliver(self, filter: &mut dyn HttpFilter<EnvoyHttpFilterImpl>, envoy: &mut EnvoyHttpFilterImpl) {
        use super::EnvoyHttpFilter as _;
        use abi::{
            envoy_dynamic_module_type_on_http_filter_request_body_status as BodyStatus,
            envoy_dynamic_module_type_on_http_filter_request_headers_status as HeadersStatus,
            envoy_dynamic_module_type_on_http_filter_request_trailers_status as TrailersStatus,
        };
        match self {
            // Envoy was told to stop meanwhile, so a late "continue" must be said aloud.
            Self::RequestHeaders { end_of_stream } => {
                if filter.on_request_headers(envoy, end_of_stream) == HeadersStatus::Continue {
                    envoy.continue_decoding();
                }
            }
            Self::RequestBody { end_of_stream } => {
                if filter.on_request_body(envoy, end_of_stream) == BodyStatus::Continue {
                    envoy.continue_decoding();
                }
            }
            Self::RequestTrailers => {
                if filter.on_request_trailers(envoy) == TrailersStatus::Continue {
                    envoy.continue_decoding();
                }
            }
            Self::Above => filter.on_downstream_above_write_buffer_high_watermark(envoy),
            Self::Below => filter.on_downstream_below_write_buffer_low_watermark(envoy),
            Self::Scheduled(event_id) => filter.on_scheduled(envoy, event_id),
            Self::CalloutDone { id, result, headers, body } => {
                let headers = headers.as_deref().map(pairs_of);
                let body = body.as_deref().map(views_of);
                filter.on_http_callout_done(envoy, id, result, headers.as_deref(), body.as_deref());
            }
            Self::StreamHeaders { id, headers, end_stream } => {
                filter.on_http_stream_headers(envoy, id, &pairs_of(&headers), end_stream);
            }
            Self::StreamData { id, data, end_stream } => {
                filter.on_http_stream_data(envoy, id, &views_of(&data), end_stream);
            }
            Self::StreamTrailers { id, trailers } => {
                filter.on_http_stream_trailers(envoy, id, &pairs_of(&trailers));
            }
            Self::StreamComplete { id } => filter.on_http_stream_complete(envoy, id),
            Self::StreamReset { id, reason } => filter.on_http_stream_reset(envoy, id, reason),
            Self::Complete => filter.on_stream_complete(envoy),
        }
    }
}

/// Copies of headers whose hook is about to return.
pub(crate) fn owned_headers(headers: &[(EnvoyBuffer, EnvoyBuffer)]) -> Headers {
    let copy = |(key, value): &(EnvoyBuffer, EnvoyBuffer)| (key.as_slice().to_vec(), value.as_slice().to_vec());
    headers.iter().map(copy).collect()
}

/// Copies of body bytes whose hook is about to return.
pub(crate) fn owned_chunks(chunks: &[EnvoyBuffer]) -> Chunks {
    chunks.iter().map(|chunk| chunk.as_slice().to_vec()).collect()
}

fn pairs_of(headers: &[(Vec<u8>, Vec<u8>)]) -> Vec<(EnvoyBuffer<'_>, EnvoyBuffer<'_>)> {
    headers.iter().map(|(key, value)| (key.as_slice().into(), value.as_slice().into())).collect()
}

fn views_of(chunks: &[Vec<u8>]) -> Vec<EnvoyBuffer<'_>> {
    chunks.iter().map(|chunk| chunk.as_slice().into()).collect()
}
