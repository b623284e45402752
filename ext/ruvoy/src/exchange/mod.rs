//! Where workers and the owner thread meet: admission, the queue of events, and each stream's state.
//!
//! Plain Rust: it knows neither Envoy nor Ruby, and each waits for the other through two traits,
//! [`Commit`] (owner thread to worker) and [`Wakeup`] (worker to owner thread).

mod budget;
mod calls;
mod context;
mod fields;
mod input;
mod mailbox;
mod owner;
mod request;
mod stream;
mod sync;
#[cfg(test)]
mod tests;
mod upstream;

use std::time::Instant;

use self::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
pub use self::{
    budget::Budget,
    calls::{Answer, CallCommand, CallId, Failure, Origin, Outgoing, Target, Upstream},
    context::{Certificate, Connection, Context, Item, Metadata, Tls, without_port},
    fields::Fields,
    input::Read,
    mailbox::{Command, Head, Progress},
    owner::{Event, Owner},
    request::{Extensions, Line, Request},
    stream::{Commit, Gone, MAIL, Notice, Stream, event},
    sync::Arc,
};

/// The bounds of a filter configuration that the exchange keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests admitted at once.
    pub requests: usize,
    /// The most bytes of one request body.
    pub request_body_bytes: Option<u64>,
    /// Bytes held per body and direction before its producer waits.
    pub buffer_bytes: usize,
    /// The same over all streams.
    pub total_buffer_bytes: usize,
}

/// Why a request was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many requests as allowed are in flight.
    Overloaded,
    /// The process is about to end.
    ShuttingDown,
    /// There is no VM to serve it.
    Gone,
}

/// Wakes the owner thread.
pub trait Wakeup: Send + Sync {
    /// Wakes it if it sleeps, or keeps it from sleeping next time. Never blocks.
    fn wake(&self);
}

/// The queue and the counts that all streams share.
pub struct Exchange {
    /// Bytes held by all bodies.
    pub budget: Budget,
    wakeup: Box<dyn Wakeup>,
    inflight: AtomicUsize,
    /// Streams that exist, of which a worker or the owner thread holds a reference.
    streams: AtomicUsize,
    draining: AtomicBool,
    gone: AtomicBool,
    when_drained: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    stopping: AtomicBool,
    idle: AtomicBool,
    /// Milliseconds of `epoch` at which the owner thread went to sleep; 0 while it is awake.
    idle_since_ms: AtomicU64,
    epoch: Instant,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    streams: Vec<Arc<Stream>>,
    closed: bool,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("inflight", &self.inflight()).finish_non_exhaustive()
    }
}

/// The right to be in flight, counted out when it is dropped.
#[derive(Debug)]
pub struct Admission(Arc<Exchange>);

impl Admission {
    fn exchange(&self) -> &Arc<Exchange> {
        &self.0
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.0.inflight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Exchange {
    /// An exchange whose owner thread is woken by `wakeup`.
    pub fn new(wakeup: Box<dyn Wakeup>) -> Arc<Self> {
        Arc::new(Self {
            budget: Budget::default(),
            wakeup,
            inflight: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            when_drained: Mutex::new(None),
            stopping: AtomicBool::new(false),
            idle: AtomicBool::new(false),
            idle_since_ms: AtomicU64::new(0),
            epoch: Instant::now(),
            queue: Mutex::new(Queue::default()),
        })
    }

    /// Worker: admits a request, before anything of it is copied.
    ///
    /// # Errors
    ///
    /// The [`Refusal`] that the client is to be told.
    pub fn admit(self: &Arc<Self>, limits: &Limits) -> Result<Admission, Refusal> {
        if self.gone.load(Ordering::Acquire) {
            return Err(Refusal::Gone);
        }
        if self.draining.load(Ordering::Acquire) {
            return Err(Refusal::ShuttingDown);
        }
        let mut inflight = self.inflight.load(Ordering::Relaxed);
        loop {
            if inflight >= limits.requests {
                return Err(Refusal::Overloaded);
            }
            let next = inflight + 1;
            match self.inflight.compare_exchange_weak(inflight, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(Admission(Arc::clone(self))),
                Err(actual) => inflight = actual,
            }
        }
    }

    /// Requests admitted and not yet counted out.
    pub fn inflight(&self) -> usize {
        self.inflight.load(Ordering::Acquire)
    }

    /// Any thread: admits no more requests.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Any thread: admits no more requests and calls `drained`, on some thread, once every stream
    /// has ended: its response has been handed to Envoy and Ruby is done with it.
    pub fn drain_then(&self, drained: Box<dyn FnOnce() + Send>) {
        *lock(&self.when_drained) = Some(drained);
        self.drain();
        self.check_drained();
    }

    fn check_drained(&self) {
        if self.draining.load(Ordering::SeqCst) && self.streams.load(Ordering::SeqCst) == 0 {
            let drained = lock(&self.when_drained).take();
            if let Some(drained) = drained {
                drained();
            }
        }
    }

    fn count_in(&self) {
        self.streams.fetch_add(1, Ordering::SeqCst);
    }

    fn count_out(&self) {
        self.streams.fetch_sub(1, Ordering::SeqCst);
        self.check_drained();
    }

    /// Any thread: admits no more requests and asks the owner thread to end once it is done.
    pub fn stop(&self) {
        self.drain();
        self.stopping.store(true, Ordering::SeqCst);
        self.wakeup.wake();
    }

    /// Worker: wakes the owner thread if it sleeps. Several calls cost one wakeup.
    pub fn ring(&self) {
        if self.idle.swap(false, Ordering::SeqCst) {
            self.wakeup.wake();
        }
    }

    /// Whether [`Exchange::stop`] was called.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Any thread: for how many milliseconds the owner thread has had nothing to do.
    pub fn idle_ms(&self) -> u64 {
        match self.idle_since_ms.load(Ordering::Relaxed) {
            0 => 0,
            since => self.now_ms().saturating_sub(since),
        }
    }

    /// Milliseconds since the exchange was made, never 0.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    fn is_idle(&self) -> bool {
        self.idle.load(Ordering::SeqCst)
    }

    fn enqueue(&self, stream: Arc<Stream>) -> Result<(), Gone> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Gone);
        }
        queue.streams.push(stream);
        Ok(())
    }
}
