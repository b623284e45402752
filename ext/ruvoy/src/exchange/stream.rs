//! One request's shared state: the worker holds one reference, the owner thread the other.
//!
//! Each method says on which thread it runs. The state has one lock, held for moments and never
//! across a call into Envoy or Ruby.

use std::{fmt, time::Instant};

use super::{
    Admission, Exchange, Limits,
    calls::Calls,
    fields::Fields,
    input::{Input, Read},
    mailbox::{Command, Head, Mailbox, Progress},
    request::{Extensions, Request},
    sync::{Arc, AtomicU32, AtomicU64, Mutex, Ordering, lock},
};

/// What can have happened to a stream, as bits of an event for the owner thread.
pub mod event {
    /// A new request. The other bits then tell what it has, so that nothing else has to be asked.
    pub const REQUEST: u32 = 1;
    /// Body bytes, or the body's end, landed for a reader that waits. Of a new request: it has a body.
    pub const INPUT: u32 = 2;
    /// There is room again for a writer that waits.
    pub const WRITABLE: u32 = 4;
    /// The client left or the stream was reset before the response was complete.
    pub const CANCEL: u32 = 8;
    /// Something happened to upstream calls that the owner thread waits for. Of a new request: it may make some.
    pub const UPSTREAM: u32 = 16;
    /// Of a new request: it asks for an upgrade.
    pub const UPGRADE: u32 = 32;
    /// Of a new request: it has a context.
    pub const CONTEXT: u32 = 64;
    /// Of a new request: its method is HEAD.
    pub const HEAD: u32 = 128;
}

/// The event that makes a stream's worker look into its mailbox.
pub const MAIL: u64 = 1;

/// The way to a stream on its worker, from any thread.
pub trait Commit: Send + Sync {
    /// Makes the stream's worker see `event` soon, such as [`MAIL`]. Harmless once the stream is gone.
    fn commit(&self, event: u64);
}

/// The stream is gone: the client left, or it was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// What the worker must do after it told the owner thread something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Notice {
    /// Nothing: the owner thread is awake, or there was nothing to tell.
    None,
    /// Ring soon: the owner thread sleeps.
    Ring,
}

impl Notice {
    /// Both in one.
    pub fn or(self, other: Self) -> Self {
        if self == Self::None { other } else { self }
    }
}

#[derive(Default)]
pub(super) struct State {
    request: Option<Request>,
    input: Input,
    pub(super) mailbox: Mailbox,
    pub(super) calls: Calls,
    admission: Option<Admission>,
    pub(super) gone: bool,
    /// It is gone because its response is complete, and its request had landed whole: what is unread of
    /// that can still be read.
    complete: bool,
}

/// The state that a worker and the owner thread share of one stream.
pub struct Stream {
    pub(super) exchange: Arc<Exchange>,
    pub(super) limits: Limits,
    extensions: Extensions,
    commit: Box<dyn Commit>,
    /// Events that the owner thread has not seen; the stream is in the queue exactly while it is not 0.
    pending: AtomicU32,
    /// The owner thread's name for the stream; 0 before it took the request and after it released it.
    id: AtomicU64,
    arrived: Instant,
    /// Microseconds from arrival until the owner thread began to serve it; 0 before that.
    queue_us: AtomicU64,
    pub(super) state: Mutex<State>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Worker: from admission to the end of the stream.
impl Stream {
    /// A stream for an admitted request.
    pub fn new(admission: Admission, limits: Limits, mut request: Request, commit: Box<dyn Commit>) -> Arc<Self> {
        let extensions = std::mem::take(&mut request.extensions);
        let mut input = Input::default();
        if request.has_body {
            input.held_back = request.expects_continue;
        } else {
            input.end();
        }
        admission.exchange().count_in();
        Arc::new(Self {
            exchange: Arc::clone(admission.exchange()),
            limits,
            extensions,
            commit,
            pending: AtomicU32::new(0),
            id: AtomicU64::new(0),
            arrived: Instant::now(),
            queue_us: AtomicU64::new(0),
            state: Mutex::new(State { request: Some(request), input, admission: Some(admission), ..State::default() }),
        })
    }

    /// The exchange that the stream belongs to.
    pub fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// What the configuration offers beyond Rack.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Makes the stream's worker see `event` at the end of this turn.
    pub fn commit_event(&self, event: u64) {
        self.commit.commit(event);
    }

    /// When the request's headers arrived.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Microseconds from arrival until the application started, if it did.
    pub fn queue_us(&self) -> Option<u64> {
        Some(self.queue_us.load(Ordering::Relaxed)).filter(|&waited| waited > 0)
    }

    /// How far the response is.
    pub fn progress(&self) -> Progress {
        lock(&self.state).mailbox.progress()
    }

    /// Hands the request to the owner thread.
    ///
    /// # Errors
    ///
    /// [`Gone`] where the owner thread takes no more requests.
    pub fn submit(self: &Arc<Self>) -> Result<Notice, Gone> {
        self.post(event::REQUEST)
    }

    /// How many body bytes may land now.
    pub fn input_room(&self) -> usize {
        let state = lock(&self.state);
        if state.gone { usize::MAX } else { self.room(state.input.held()) }
    }

    /// Lands body bytes; `more` tells whether Envoy holds further ones that had no room.
    pub fn land(self: &Arc<Self>, chunk: Vec<u8>, more: bool) -> Notice {
        let mut state = lock(&self.state);
        if state.gone {
            return Notice::None;
        }
        self.exchange.budget.add(chunk.len());
        state.input.land(chunk);
        state.input.more_in_envoy = more;
        let waiting = state.input.held() > 0 && std::mem::take(&mut state.input.waiting);
        drop(state);
        self.post_if(waiting, event::INPUT)
    }

    /// Lands the body's end.
    pub fn land_end(self: &Arc<Self>, trailers: Option<Fields>) -> Notice {
        let mut state = lock(&self.state);
        if state.gone || state.input.ended() {
            return Notice::None;
        }
        state.input.end();
        state.input.more_in_envoy = false;
        state.input.trailers = trailers;
        let waiting = std::mem::take(&mut state.input.waiting);
        drop(state);
        self.post_if(waiting, event::INPUT)
    }

    /// Begins to look into the mailbox: from now on the owner thread commits again. Returns whether
    /// body bytes that Envoy holds should be pulled.
    pub fn open_mailbox(&self) -> bool {
        let mut state = lock(&self.state);
        state.mailbox.committed = false;
        state.input.more_in_envoy
    }

    /// The next command; body data only if the client is not `blocked`.
    pub fn next_command(&self, blocked: bool) -> Option<Command> {
        let mut state = lock(&self.state);
        let command = state.mailbox.pop(blocked)?;
        self.exchange.budget.subtract(command.body_len());
        Some(command)
    }

    /// Ends a look into the mailbox: a writer that waits is told once half of the room is free.
    pub fn close_mailbox(self: &Arc<Self>) -> Notice {
        let mut state = lock(&self.state);
        let free = state.mailbox.held() <= self.limits.buffer_bytes / 2;
        let waiting = free && std::mem::take(&mut state.mailbox.waiting);
        drop(state);
        self.post_if(waiting, event::WRITABLE)
    }

    /// Ends the stream: what bodies hold is dropped, and an unfinished request is cancelled.
    /// Calling it again does nothing.
    pub fn close(self: &Arc<Self>) -> Notice {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.gone, true) {
            return Notice::None;
        }
        let unfinished = state.mailbox.progress() < Progress::End;
        state.complete = !unfinished && state.input.ended();
        let calls_wait = self.clear(&mut state);
        let reader_waits = std::mem::take(&mut state.input.waiting);
        drop(state);
        let mut bits = 0;
        if unfinished {
            bits |= event::CANCEL;
        } else if reader_waits {
            // Who reads on after the response's end would wait forever.
            bits |= event::INPUT;
        }
        if calls_wait {
            bits |= event::UPSTREAM;
        }
        self.post_if(bits != 0, bits)
    }

    pub(super) fn post_if(self: &Arc<Self>, condition: bool, bits: u32) -> Notice {
        if condition { self.post(bits).unwrap_or(Notice::None) } else { Notice::None }
    }

    fn post(self: &Arc<Self>, bits: u32) -> Result<Notice, Gone> {
        if self.pending.fetch_or(bits, Ordering::AcqRel) == 0 {
            self.exchange.enqueue(Arc::clone(self))?;
        }
        Ok(if self.exchange.is_idle() { Notice::Ring } else { Notice::None })
    }
}

/// Owner thread: from taking the request to releasing it.
impl Stream {
    /// The owner thread's name for the stream, or 0.
    pub fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    /// Takes the events that were posted since the last call.
    pub fn take_events(&self) -> u32 {
        self.pending.swap(0, Ordering::AcqRel)
    }

    /// Begins to serve the request under the name `id`. Returns the bits of its [`event`]; none if the stream
    /// ended while it was queued, in which case it is counted out.
    pub fn start(&self, id: u64) -> Option<u32> {
        let mut state = lock(&self.state);
        if state.gone {
            state.admission = None;
            return None;
        }
        self.id.store(id, Ordering::Relaxed);
        let waited = u64::try_from(self.arrived.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.queue_us.store(waited.max(1), Ordering::Relaxed);
        Some(event::REQUEST | self.features(&state))
    }

    /// What the request has, as bits of its [`event`].
    fn features(&self, state: &State) -> u32 {
        let has = |it: bool, bit: u32| if it { bit } else { 0 };
        let request = state.request.as_ref();
        has(state.input.held() > 0 || !state.input.ended(), event::INPUT)
            | has(self.extensions.upstream.is_some(), event::UPSTREAM)
            | has(request.is_some_and(|request| request.asks_for_upgrade), event::UPGRADE)
            | has(self.extensions.context.is_some(), event::CONTEXT)
            | has(request.is_some_and(Request::is_head), event::HEAD)
    }

    /// Takes the request; none if it was taken before.
    pub fn take_request(&self) -> Option<Request> {
        lock(&self.state).request.take()
    }

    /// Reads at most `max` body bytes. After [`Read::Pending`] an event follows.
    pub fn read(&self, max: usize) -> Read {
        let mut state = lock(&self.state);
        if state.gone && !state.complete {
            return Read::Gone;
        }
        let read = state.input.read(max);
        match &read {
            Read::Data(bytes) => self.exchange.budget.subtract(bytes.len()),
            Read::Pending => state.input.waiting = true,
            Read::End | Read::Gone => {}
        }
        let pull = state.input.more_in_envoy && state.input.held() <= self.limits.buffer_bytes / 2;
        let ask = read == Read::Pending && std::mem::take(&mut state.input.held_back) && state.mailbox.ask_for_body();
        if pull || ask {
            self.commit(state);
        }
        read
    }

    /// The request's trailers, if they came.
    pub fn trailers(&self) -> Option<Fields> {
        lock(&self.state).input.trailers.clone()
    }

    /// Sends an informational response.
    pub fn informational(&self, head: Head) {
        self.push(Command::Informational(head));
    }

    /// Sends a whole response at once.
    pub fn respond(&self, head: Head, body: Vec<u8>) {
        self.push(Command::Complete(head, body));
    }

    /// Sends the head of a response whose body follows.
    pub fn head(&self, head: Head) {
        self.push(Command::Head(head));
    }

    /// How many bytes of body may be written now; after 0 an event follows.
    ///
    /// # Errors
    ///
    /// [`Gone`] where nobody would receive them.
    pub fn output_room(&self) -> Result<usize, Gone> {
        let mut state = lock(&self.state);
        if state.gone {
            return Err(Gone);
        }
        Ok(self.room_or_wait(&mut state))
    }

    /// How many bytes of body may be written now; where it is 0, a writer waits from now on.
    pub(super) fn room_or_wait(&self, state: &mut State) -> usize {
        let room = self.room(state.mailbox.held());
        state.mailbox.waiting |= room == 0;
        room
    }

    /// Sends a piece of the body, of no more than [`Stream::output_room`] bytes.
    pub fn write(&self, bytes: Vec<u8>) {
        self.push(Command::Data(bytes));
    }

    /// Ends the body.
    pub fn finish(&self, trailers: Fields) {
        self.push(Command::End(trailers));
    }

    /// Resets the stream.
    pub fn reset(&self) {
        self.push(Command::Reset);
    }

    /// The owner thread is done with the request: it is counted out, and what is left of its body
    /// is not wanted.
    pub fn release(&self) {
        self.id.store(0, Ordering::Relaxed);
        let mut state = lock(&self.state);
        let (calls, in_flight) = state.calls.forget_all();
        let held = state.input.clear() + calls;
        self.exchange.budget.subtract(held);
        state.admission = None;
        // They end now, although the client may take its time with what is left of the response.
        if in_flight && !state.gone {
            self.commit(state);
        }
    }

    /// Answers a request that the owner thread cannot serve any more: `head` and `body` if nothing
    /// was sent yet, else a reset.
    pub fn abandon(&self, head: Head, body: Vec<u8>) {
        if lock(&self.state).mailbox.progress() == Progress::Nothing {
            self.respond(head, body);
        } else {
            self.reset();
        }
        self.release();
    }

    fn push(&self, command: Command) {
        let mut state = lock(&self.state);
        if state.gone {
            return;
        }
        let bytes = command.body_len();
        if state.mailbox.push(command) {
            self.exchange.budget.add(bytes);
            self.commit(state);
        }
    }

    pub(super) fn commit(&self, mut state: super::sync::MutexGuard<'_, State>) {
        let needed = !std::mem::replace(&mut state.mailbox.committed, true);
        drop(state);
        if needed {
            self.commit.commit(MAIL);
        }
    }
}

impl Stream {
    pub(super) fn room(&self, held: usize) -> usize {
        self.exchange.budget.room(held, self.limits.buffer_bytes, self.limits.total_buffer_bytes)
    }

    /// Drops everything that is held and nobody may read any more; returns whether the owner thread waits
    /// for an upstream call.
    fn clear(&self, state: &mut State) -> bool {
        let (calls, calls_wait) = state.calls.close();
        let input = if state.complete { 0 } else { state.input.clear() };
        self.exchange.budget.subtract(input + state.mailbox.clear() + calls);
        calls_wait
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *lock(&self.state));
        state.complete = false;
        self.clear(&mut state);
        drop(state);
        self.exchange.count_out();
    }
}
