//! The upstream calls of one request: what the owner thread wants of the worker, and what has landed.
//!
//! A queue of commands goes to the worker and a state per call comes back. The stream's lock guards both.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::{fields::Fields, mailbox::Head};

/// The upstream calls that a filter configuration allows, and their bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    /// The clusters that may be called.
    pub clusters: Vec<String>,
    /// What clusters stand for, by name.
    pub origins: HashMap<String, Origin>,
    /// The timeout of a call that names none.
    pub timeout: Duration,
    /// The most bytes that one `call` buffers.
    pub max_response_bytes: usize,
    /// How far the reader of a `stream` may lag.
    pub stream_buffer_bytes: usize,
}

/// The scheme of a cluster's calls, and their `host` unless they name another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: String,
    /// A host, with a port if that is not the scheme's own.
    pub host: String,
}

impl Origin {
    /// Takes an origin apart, such as `https://name.test:81`; none if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@".contains(&byte));
        (matches!(scheme, "http" | "https") && is_host).then(|| Self { scheme: scheme.into(), host: host.into() })
    }
}

/// The most calls that one request may have at once.
pub const MAX_CALLS: usize = 1024;

/// Names a call of a request.
pub type CallId = u32;

/// Where a call goes, and what is wanted of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The cluster, one of those listed.
    pub cluster: String,
    /// Envoy's timeout in milliseconds, from the request's end to the answer's; 0 is none.
    pub timeout_ms: u64,
    /// The most bytes of answer to hold.
    pub limit: usize,
    /// Whether the answer is wanted whole.
    pub whole: bool,
}

/// The request of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes.
    pub target: Target,
    /// The fields, `:method`, `:path` and `host` among them.
    pub fields: Fields,
    /// The whole body, or empty if it follows.
    pub body: Vec<u8>,
    /// Whether the body follows in pieces.
    pub body_follows: bool,
}

/// One message from the owner thread to the worker about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallCommand {
    /// Send the request.
    Start(CallId, Box<Outgoing>),
    /// Send a piece of the request's body.
    Data(CallId, Vec<u8>),
    /// The request's body has ended.
    End(CallId),
    /// Nobody wants the answer any more, for this reason.
    Cancel(CallId, Failure),
}

impl CallCommand {
    fn body_len(&self) -> usize {
        match self {
            Self::Start(_, outgoing) => outgoing.body.len(),
            Self::Data(_, bytes) => bytes.len(),
            Self::End(_) | Self::Cancel(..) => 0,
        }
    }
}

/// Why a call has no answer, or no whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Envoy has no such cluster.
    NoCluster,
    /// The cluster has no healthy host, or a circuit breaker is open.
    Unavailable,
    /// The request has as many calls as it may have.
    TooMany,
    /// It took longer than its timeout.
    TimedOut,
    /// The reader lagged too far behind.
    Overflow,
    /// All bodies together hold as much as they may.
    TotalOverflow,
    /// The answer is larger than a `call` may buffer.
    TooLarge,
    /// The stream broke off.
    Reset,
    /// The request ended first, or the application did not want the answer any more.
    Abandoned,
}

impl Failure {
    /// Its name in Ruby.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCluster => "no_cluster",
            Self::Unavailable => "unavailable",
            Self::TooMany => "too_many",
            Self::TimedOut => "timed_out",
            Self::Overflow => "overflow",
            Self::TotalOverflow => "total_overflow",
            Self::TooLarge => "too_large",
            Self::Reset => "reset",
            Self::Abandoned => "abandoned",
        }
    }
}

/// What a look at a call finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// It is there.
    Ready(T),
    /// Not yet; an event follows.
    Pending,
    /// There is no more to come: the answer is complete.
    End,
    /// It will never come.
    Failed(Failure),
}

/// One call, from the owner thread's `open` to its `forget`.
#[derive(Debug)]
struct Call {
    /// What is known of the request before it is sent.
    target: Option<Target>,
    /// The most bytes to hold.
    limit: usize,
    /// Whether the answer is wanted whole.
    whole: bool,
    head: Option<Head>,
    chunks: VecDeque<Vec<u8>>,
    held: usize,
    end: Option<Result<(), Failure>>,
    /// Bytes of the request's body that the worker has not taken yet.
    outgoing: usize,
    /// The owner thread waits for the answer.
    reading: bool,
    /// The owner thread waits for room for the request's body.
    writing: bool,
}

/// Small pieces of an answer are put together up to this size.
const MERGE_BYTES: usize = 16 * 1024;

/// All calls of one request.
#[derive(Debug, Default)]
pub struct Calls {
    calls: HashMap<CallId, Call>,
    last: CallId,
    commands: VecDeque<CallCommand>,
    /// Calls for which something happened that the owner thread waits for.
    ready: Vec<CallId>,
}

/// Owner thread.
impl Calls {
    /// A new call; none where there are too many already.
    pub fn open(&mut self, target: Target) -> Option<CallId> {
        if self.calls.len() >= MAX_CALLS {
            return None;
        }
        self.last = self.last.wrapping_add(1);
        let call = Call {
            limit: target.limit,
            whole: target.whole,
            target: Some(target),
            head: None,
            chunks: VecDeque::new(),
            held: 0,
            end: None,
            outgoing: 0,
            reading: false,
            writing: false,
        };
        self.calls.insert(self.last, call);
        Some(self.last)
    }

    /// Sends the request with its whole body, or its head where the body follows. Returns whether the call
    /// was still to be started.
    pub fn start(&mut self, id: CallId, fields: Fields, body: Option<Vec<u8>>) -> bool {
        let Some(target) = self.calls.get_mut(&id).and_then(|call| call.target.take()) else { return false };
        let body_follows = body.is_none();
        let outgoing = Outgoing { target, fields, body: body.unwrap_or_default(), body_follows };
        self.commands.push_back(CallCommand::Start(id, Box::new(outgoing)));
        true
    }

    /// Bytes of the request's body that wait for the worker; none once the call has ended.
    pub fn outgoing(&self, id: CallId) -> Option<usize> {
        self.calls.get(&id).filter(|call| call.end.is_none()).map(|call| call.outgoing)
    }

    /// Notes that the owner thread waits for room.
    pub fn wait_for_room(&mut self, id: CallId) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.writing = true;
        }
    }

    /// Sends a piece of the request's body; returns whether the call takes it.
    pub fn write(&mut self, id: CallId, bytes: Vec<u8>) -> bool {
        let Some(call) = self.calls.get_mut(&id).filter(|call| call.end.is_none()) else { return false };
        call.outgoing += bytes.len();
        self.commands.push_back(CallCommand::Data(id, bytes));
        true
    }

    /// Ends the request's body; returns whether the worker must be told.
    pub fn finish(&mut self, id: CallId) -> bool {
        let open = self.calls.get(&id).is_some_and(|call| call.end.is_none());
        if open {
            self.commands.push_back(CallCommand::End(id));
        }
        open
    }

    /// The answer's head, once; where the answer is wanted whole, when all of it has landed.
    pub fn head(&mut self, id: CallId) -> Answer<Head> {
        let Some(call) = self.calls.get_mut(&id) else { return Answer::Failed(Failure::Abandoned) };
        let landed = !call.whole || call.end == Some(Ok(()));
        match (call.head.take_if(|_| landed), call.end) {
            (Some(head), _) => Answer::Ready(head),
            (None, Some(Err(failure))) => Answer::Failed(failure),
            (None, Some(Ok(()))) => Answer::End,
            (None, None) => {
                call.reading = true;
                Answer::Pending
            }
        }
    }

    /// At most `max` bytes of the answer's body, or a larger piece that landed as one.
    pub fn read(&mut self, id: CallId, max: usize) -> Answer<Vec<u8>> {
        let Some(call) = self.calls.get_mut(&id) else { return Answer::Failed(Failure::Abandoned) };
        if let Some(mut bytes) = call.chunks.pop_front() {
            while call.chunks.front().is_some_and(|next| bytes.len() + next.len() <= max) {
                bytes.extend(call.chunks.pop_front().unwrap_or_default());
            }
            call.held -= bytes.len();
            return Answer::Ready(bytes);
        }
        match call.end {
            Some(Ok(())) => Answer::End,
            Some(Err(failure)) => Answer::Failed(failure),
            None => {
                call.reading = true;
                Answer::Pending
            }
        }
    }

    /// The same, but `max` bytes at most.
    pub fn take(&mut self, id: CallId, max: usize) -> Answer<Vec<u8>> {
        let mut answer = self.read(id, max);
        if let (Answer::Ready(bytes), Some(call)) = (&mut answer, self.calls.get_mut(&id))
            && bytes.len() > max
        {
            let rest = bytes.split_off(max);
            call.held += rest.len();
            call.chunks.push_front(rest);
        }
        answer
    }

    /// The calls for which something has happened since the last time.
    pub fn take_ready(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.ready)
    }

    /// Forgets all calls, as [`Calls::forget`] does one.
    pub fn forget_all(&mut self) -> (usize, bool) {
        let ids: Vec<CallId> = self.calls.keys().copied().collect();
        ids.into_iter().fold((0, false), |(all_held, any_in_flight), id| {
            let (held, in_flight) = self.forget(id, Failure::Abandoned);
            (all_held + held, any_in_flight | in_flight)
        })
    }

    /// Forgets a call; one in flight is cancelled because of `failure`. Returns the bytes that are held
    /// no more, and whether the worker must be told.
    pub fn forget(&mut self, id: CallId, failure: Failure) -> (usize, bool) {
        let Some(call) = self.calls.remove(&id) else { return (0, false) };
        let in_flight = call.target.is_none() && call.end.is_none();
        if in_flight {
            self.commands.push_back(CallCommand::Cancel(id, failure));
        }
        (call.held, in_flight)
    }
}

/// Worker.
impl Calls {
    /// The next command and the bytes that it holds no more.
    pub fn next_command(&mut self) -> Option<(CallCommand, usize)> {
        let command = self.commands.pop_front()?;
        let bytes = command.body_len();
        if let CallCommand::Data(id, _) = &command
            && let Some(call) = self.calls.get_mut(id)
        {
            call.outgoing -= bytes;
        }
        Some((command, bytes))
    }

    /// After the worker took commands: makes those ready who wait for room and have it, that is at most
    /// `low` bytes waiting. Returns whether there were any.
    pub fn tell_writers(&mut self, low: usize) -> bool {
        let Self { calls, ready, .. } = self;
        let before = ready.len();
        let waiting = calls.iter_mut().filter(|(_, call)| call.writing && call.outgoing <= low);
        ready.extend(waiting.map(|(id, call)| {
            call.writing = false;
            *id
        }));
        ready.len() > before
    }

    /// Lands the answer's head; returns whether the owner thread waits for it.
    pub fn land_head(&mut self, id: CallId, head: Head) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return false };
        call.head = Some(head);
        let told = !call.whole && std::mem::take(&mut call.reading);
        self.tell(id, told)
    }

    /// How many bytes of answer a call may hold, and how many it holds; none once it has ended.
    pub fn room(&self, id: CallId) -> Option<(usize, usize)> {
        self.calls.get(&id).filter(|call| call.end.is_none()).map(|call| (call.limit, call.held))
    }

    /// Whether the answer is wanted whole.
    pub fn is_whole(&self, id: CallId) -> bool {
        self.calls.get(&id).is_some_and(|call| call.whole)
    }

    /// Lands a piece of the answer's body; returns whether the owner thread waits for it.
    pub fn land(&mut self, id: CallId, bytes: Vec<u8>) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return false };
        call.held += bytes.len();
        match call.chunks.back_mut() {
            Some(last) if last.len() + bytes.len() <= MERGE_BYTES => last.extend_from_slice(&bytes),
            _ => call.chunks.push_back(bytes),
        }
        let told = !call.whole && std::mem::take(&mut call.reading);
        self.tell(id, told)
    }

    /// Ends a call. What a failed `call` has landed is dropped; returns how much that was, and whether
    /// the owner thread waits for the end.
    pub fn end(&mut self, id: CallId, end: Result<(), Failure>) -> (usize, bool) {
        let Some(call) = self.calls.get_mut(&id).filter(|call| call.end.is_none()) else { return (0, false) };
        call.end = Some(end);
        let mut dropped = 0;
        if call.whole && end.is_err() {
            call.chunks.clear();
            call.head = None;
            dropped = std::mem::take(&mut call.held);
        }
        let told = std::mem::take(&mut call.reading) | std::mem::take(&mut call.writing);
        (dropped, self.tell(id, told))
    }

    /// Ends all calls because the request has ended, and drops everything. Returns the bytes held, and
    /// whether the owner thread waits for a call.
    pub fn close(&mut self) -> (usize, bool) {
        let mut held: usize = std::mem::take(&mut self.commands).iter().map(CallCommand::body_len).sum();
        let mut told = false;
        for (id, call) in &mut self.calls {
            // An answer that was read to its end stays what it was.
            if call.end.is_none() || call.held > 0 || call.head.is_some() {
                call.end = Some(Err(Failure::Abandoned));
            }
            call.head = None;
            call.chunks.clear();
            held += std::mem::take(&mut call.held);
            if std::mem::take(&mut call.reading) | std::mem::take(&mut call.writing) {
                self.ready.push(*id);
                told = true;
            }
        }
        (held, told)
    }

    fn tell(&mut self, id: CallId, told: bool) -> bool {
        if told {
            self.ready.push(id);
        }
        told
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn head() -> Head {
        Head { status: 200, fields: Fields::default() }
    }

    fn opened(whole: bool) -> (Calls, CallId) {
        let mut calls = Calls::default();
        let id = calls.open(target(whole)).expect("room");
        assert!(calls.start(id, Fields::default(), None));
        (calls, id)
    }

    fn target(whole: bool) -> Target {
        Target { limit: 100, whole, ..Target::default() }
    }

    #[test]
    fn origins_have_a_scheme_and_a_host() {
        let origin = |text| Origin::parse(text).map(|origin| (origin.scheme, origin.host));
        assert_eq!(origin("https://a.test"), Some(("https".into(), "a.test".into())));
        assert_eq!(origin("http://[::1]:81"), Some(("http".into(), "[::1]:81".into())));
        for text in ["a.test", "ftp://a.test", "http://", "http://a.test/", "http://u@a.test", "http://a b"] {
            assert_eq!(origin(text), None, "{text}");
        }
    }

    #[test]
    fn a_whole_answer_is_ready_when_all_of_it_has_landed() {
        let (mut calls, id) = opened(true);
        assert_eq!(calls.head(id), Answer::Pending);
        assert!(!calls.land_head(id, head()), "nobody is told of a part");
        assert!(!calls.land(id, vec![1, 2]));
        assert_eq!(calls.head(id), Answer::Pending);
        assert_eq!(calls.end(id, Ok(())), (0, true));
        assert_eq!(calls.take_ready(), [id]);
        assert_eq!(calls.head(id), Answer::Ready(head()));
        assert_eq!(calls.read(id, 100), Answer::Ready(vec![1, 2]));
        assert_eq!(calls.read(id, 100), Answer::End);
        assert_eq!(calls.forget(id, Failure::Abandoned), (0, false));
    }

    #[test]
    fn a_stream_is_ready_piece_by_piece() {
        let (mut calls, id) = opened(false);
        assert_eq!(calls.head(id), Answer::Pending);
        assert!(calls.land_head(id, head()));
        assert_eq!(calls.head(id), Answer::Ready(head()));
        assert_eq!(calls.read(id, 100), Answer::Pending);
        assert!(calls.land(id, vec![1]));
        assert!(!calls.land(id, vec![2]), "told already");
        assert_eq!(calls.room(id), Some((100, 2)));
        assert_eq!(calls.read(id, 100), Answer::Ready(vec![1, 2]));
        assert!(!calls.land(id, vec![3; MERGE_BYTES]));
        assert!(!calls.land(id, vec![4; 10]));
        assert_eq!(calls.read(id, MERGE_BYTES), Answer::Ready(vec![3; MERGE_BYTES]));
        assert_eq!(calls.end(id, Err(Failure::Reset)), (0, false));
        assert_eq!(calls.read(id, 1), Answer::Ready(vec![4; 10]), "what landed is still there");
        assert_eq!(calls.read(id, 1), Answer::Failed(Failure::Reset));
    }

    #[test]
    fn a_piece_is_cut_where_it_must_be() {
        let (mut calls, id) = opened(false);
        calls.land(id, vec![1, 2, 3]);
        assert_eq!(calls.take(id, 2), Answer::Ready(vec![1, 2]));
        assert_eq!(calls.room(id), Some((100, 1)));
        assert_eq!(calls.take(id, 2), Answer::Ready(vec![3]));
        assert_eq!(calls.take(id, 2), Answer::Pending);
    }

    #[test]
    fn a_failed_whole_answer_is_dropped() {
        let (mut calls, id) = opened(true);
        calls.land_head(id, head());
        calls.land(id, vec![1, 2, 3]);
        assert_eq!(calls.end(id, Err(Failure::TooLarge)), (3, false));
        assert_eq!(calls.head(id), Answer::Failed(Failure::TooLarge));
        assert_eq!(calls.end(id, Ok(())), (0, false), "it has ended already");
    }

    #[test]
    fn a_writer_waits_until_the_worker_took_its_bytes() {
        let (mut calls, id) = opened(false);
        assert!(calls.write(id, vec![0; 10]));
        assert_eq!(calls.outgoing(id), Some(10));
        calls.wait_for_room(id);
        assert!(!calls.tell_writers(5));
        assert!(matches!(calls.next_command(), Some((CallCommand::Start(..), 0))));
        assert_eq!(calls.next_command(), Some((CallCommand::Data(id, vec![0; 10]), 10)));
        assert!(calls.tell_writers(5));
        assert!(!calls.tell_writers(5));
        assert!(calls.finish(id));
        assert_eq!(calls.next_command(), Some((CallCommand::End(id), 0)));
        assert_eq!(calls.next_command(), None);
    }

    #[test]
    fn an_early_end_stops_the_writer() {
        let (mut calls, id) = opened(false);
        calls.wait_for_room(id);
        assert_eq!(calls.end(id, Ok(())), (0, true));
        assert_eq!(calls.outgoing(id), None);
        assert!(!calls.write(id, vec![1]));
        assert!(!calls.finish(id));
    }

    #[test]
    fn a_call_that_is_not_wanted_any_more_is_cancelled_if_it_is_in_flight() {
        let (mut calls, id) = opened(false);
        calls.land(id, vec![1]);
        assert_eq!(calls.forget(id, Failure::Abandoned), (1, true));
        assert_eq!(calls.forget(id, Failure::Abandoned), (0, false));
        calls.next_command();
        assert_eq!(calls.next_command(), Some((CallCommand::Cancel(id, Failure::Abandoned), 0)));
        assert!(!calls.land(id, vec![1]), "late pieces are dropped");
        assert_eq!(calls.head(id), Answer::Failed(Failure::Abandoned));
    }

    #[test]
    fn closing_ends_every_call_and_tells_what_was_held() {
        let (mut calls, first) = opened(false);
        let second = calls.open(target(true)).expect("room");
        assert!(calls.start(second, Fields::default(), Some(vec![0; 7])));
        assert!(!calls.start(second, Fields::default(), None), "it was started");
        calls.write(first, vec![0; 5]);
        calls.land(first, vec![0; 3]);
        assert_eq!(calls.head(second), Answer::Pending);
        assert_eq!(calls.close(), (15, true));
        assert_eq!(calls.take_ready(), [second]);
        assert_eq!(calls.head(second), Answer::Failed(Failure::Abandoned));
        assert_eq!(calls.read(first, 1), Answer::Failed(Failure::Abandoned));
        assert_eq!(calls.close(), (0, false));
    }

    #[test]
    fn the_calls_of_a_request_are_bounded() {
        let mut calls = Calls::default();
        let ids: Vec<_> = (0..MAX_CALLS).filter_map(|_| calls.open(target(true))).collect();
        assert_eq!(ids.len(), MAX_CALLS);
        assert_eq!(calls.open(target(true)), None);
        assert_eq!(calls.forget(ids[0], Failure::Abandoned), (0, false), "it was not started");
        assert!(calls.open(target(true)).is_some());
    }
}
