//! Tests of the exchange as a whole: by hand, and under loom for what threads share.

use super::{
    sync::{AtomicUsize, Ordering},
    *,
};

const LIMITS: Limits =
    Limits { requests: 2, request_body_bytes: None, buffer_bytes: 20_000, total_buffer_bytes: 100_000 };

/// Counts how often it was used, as a wakeup and as a commit.
#[derive(Clone)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wakeup for Counter {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Commit for Counter {
    fn commit(&self, _event: u64) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn head() -> Head {
    Head { status: 200, fields: Fields::default() }
}

/// An admitted stream whose request has a body, and what counts its commits.
fn stream(exchange: &Arc<Exchange>) -> (Arc<Stream>, Counter) {
    let commits = Counter::new();
    let request = Request::new(Line { method: b"POST", ..Line::default() }, 0, true);
    let admission = exchange.admit(&LIMITS).expect("room");
    (Stream::new(admission, LIMITS, request, Box::new(commits.clone())), commits)
}

#[cfg(not(loom))]
mod by_hand {
    use super::*;

    struct World {
        wakeups: Counter,
        exchange: Arc<Exchange>,
        owner: Owner,
    }

    fn world() -> World {
        let wakeups = Counter::new();
        let exchange = Exchange::new(Box::new(wakeups.clone()));
        let owner = Owner::new(Arc::clone(&exchange));
        World { wakeups, exchange, owner }
    }

    impl World {
        /// A stream that the owner serves, and its id.
        fn served(&mut self) -> (Arc<Stream>, u64, Counter) {
            let (stream, commits) = stream(&self.exchange);
            let _ = stream.submit().expect("taken");
            self.owner.take();
            match self.owner.next_event() {
                Some(Event::Request(id, _)) => (stream, id, commits),
                other => panic!("no request but {other:?}"),
            }
        }

        fn events(&mut self) -> Vec<(u64, u32)> {
            self.owner.take();
            let mut events = Vec::new();
            while let Some(Event::Stream(id, bits)) = self.owner.next_event() {
                events.push((id, bits));
            }
            events
        }
    }

    #[test]
    fn admission_is_bounded_and_counted_out_once() {
        let mut world = world();
        let (first, id, _) = world.served();
        let (second, _) = stream(&world.exchange);
        assert_eq!(world.exchange.admit(&LIMITS).err(), Some(Refusal::Overloaded));
        world.owner.release(id);
        world.owner.release(id);
        drop(first);
        assert_eq!(world.exchange.inflight(), 1);
        drop(second);
        assert_eq!(world.exchange.inflight(), 0);
    }

    #[test]
    fn draining_admits_no_more_and_tells_when_the_last_stream_has_ended() {
        let mut world = world();
        let drained = Counter::new();
        let (stream, id, _) = world.served();
        let told = drained.clone();
        world.exchange.drain_then(Box::new(move || told.wake()));
        assert_eq!(world.exchange.admit(&LIMITS).err(), Some(Refusal::ShuttingDown));
        world.owner.release(id);
        assert_eq!(drained.count(), 0, "the worker still holds it");
        drop(stream);
        assert_eq!(world.events(), [], "the batch holds no reference either");
        assert_eq!(drained.count(), 1);
        let told = drained.clone();
        world.exchange.drain_then(Box::new(move || told.wake()));
        assert_eq!(drained.count(), 2, "nothing to wait for");
    }

    #[test]
    fn a_request_that_ended_in_the_queue_is_counted_out_and_not_served() {
        let mut world = world();
        let (stream, _) = stream(&world.exchange);
        let _ = stream.submit().expect("taken");
        let _ = stream.close();
        assert_eq!(world.owner.take(), 1);
        assert!(world.owner.next_event().is_none());
        assert_eq!(world.exchange.inflight(), 0);
    }

    #[test]
    fn the_event_of_a_request_tells_what_it_has() {
        let mut world = world();
        let mut bits = |request: Request| {
            let admission = world.exchange.admit(&LIMITS).expect("room");
            let stream = Stream::new(admission, LIMITS, request, Box::new(Counter::new()));
            let _ = stream.submit().expect("taken");
            world.owner.take();
            match world.owner.next_event() {
                Some(Event::Request(id, bits)) => {
                    world.owner.release(id);
                    bits
                }
                other => panic!("no request but {other:?}"),
            }
        };
        let request = |method, has_body| Request::new(Line { method, ..Line::default() }, 0, has_body);
        let extensions =
            Extensions { context: Some(Arc::new(Context::default())), upstream: Some(Arc::new(Upstream::default())) };
        assert_eq!(bits(request(b"GET", false)), event::REQUEST);
        assert_eq!(bits(request(b"POST", true)), event::REQUEST | event::INPUT);
        assert_eq!(bits(request(b"HEAD", false)), event::REQUEST | event::HEAD);
        let mut upgrade = request(b"GET", false);
        upgrade.asks_for_upgrade = true;
        assert_eq!(bits(upgrade), event::REQUEST | event::UPGRADE);
        let mut extended = request(b"GET", false);
        extended.extensions = extensions;
        assert_eq!(bits(extended), event::REQUEST | event::CONTEXT | event::UPSTREAM);
    }

    #[test]
    fn only_an_idle_owner_is_rung_and_once() {
        let mut world = world();
        let (first, _) = stream(&world.exchange);
        assert_eq!(first.submit(), Ok(Notice::None), "the owner is awake");
        assert!(!world.owner.arm(), "something has arrived");
        world.owner.take();
        assert!(world.owner.next_event().is_some());
        assert!(world.owner.arm());
        let (second, _) = stream(&world.exchange);
        assert_eq!(second.submit(), Ok(Notice::Ring));
        world.exchange.ring();
        world.exchange.ring();
        assert_eq!(world.wakeups.count(), 1);
    }

    #[test]
    fn ids_are_not_soon_used_again() {
        let mut world = world();
        let (_, first, _) = world.served();
        world.owner.release(first);
        let (_, second, _) = world.served();
        assert_ne!(first, second);
        assert!(world.owner.stream(first).is_none());
        assert!(world.owner.stream(second).is_some());
    }

    #[test]
    fn a_body_is_read_as_it_lands_and_a_waiting_reader_is_told() {
        let mut world = world();
        let (stream, id, commits) = world.served();
        let _ = stream.land(b"abc".to_vec(), false);
        assert_eq!(world.events(), [], "nobody waits");
        assert_eq!(stream.read(10), Read::Data(b"abc".to_vec()));
        assert_eq!(stream.read(10), Read::Pending);
        let _ = stream.land(b"d".to_vec(), true);
        assert_eq!(world.events(), [(id, event::INPUT)]);
        assert_eq!(commits.count(), 0);
        assert_eq!(stream.read(10), Read::Data(b"d".to_vec()));
        assert_eq!(commits.count(), 1, "Envoy holds more, so it is pulled");
        assert!(stream.open_mailbox());
        let _ = stream.land(Vec::new(), false);
        assert_eq!(stream.read(10), Read::Pending);
        let _ = stream.land_end(Some([(&b"a"[..], &b"b"[..])].into_iter().collect()));
        assert_eq!(world.events(), [(id, event::INPUT)]);
        assert_eq!(stream.read(10), Read::End);
        assert_eq!(stream.trailers().map(|trailers| trailers.len()), Some(1));
    }

    #[test]
    fn a_body_that_is_held_back_is_asked_for_once_and_only_by_a_reader_that_waits() {
        let continues = |exchange: &Arc<Exchange>| {
            let mut request = Request::new(Line { method: b"POST", ..Line::default() }, 0, true);
            request.expects_continue = true;
            let admission = exchange.admit(&LIMITS).expect("room");
            Stream::new(admission, LIMITS, request, Box::new(Counter::new()))
        };
        let world = world();
        let asked = continues(&world.exchange);
        assert_eq!(asked.next_command(false), None, "nobody has read");
        assert_eq!(asked.read(1), Read::Pending);
        assert_eq!(asked.read(1), Read::Pending);
        let hundred = Command::Informational(Head { status: 100, fields: Fields::default() });
        assert_eq!(asked.next_command(false), Some(hundred));
        assert_eq!(asked.next_command(false), None);

        let unasked = continues(&world.exchange);
        unasked.head(head());
        assert_eq!(unasked.read(1), Read::Pending);
        assert_eq!(unasked.next_command(false), Some(Command::Head(head())));
        assert_eq!(unasked.next_command(false), None, "the answer came first");
    }

    #[test]
    fn a_body_has_room_for_its_limit() {
        let mut world = world();
        let (stream, _, _) = world.served();
        assert_eq!(stream.input_room(), LIMITS.buffer_bytes);
        let _ = stream.land(vec![0; LIMITS.buffer_bytes], true);
        assert_eq!(stream.input_room(), 0);
        assert_eq!(world.exchange.budget.held(), LIMITS.buffer_bytes);
        let _ = stream.close();
        assert_eq!(world.exchange.budget.held(), 0);
    }

    #[test]
    fn one_commit_carries_a_short_response() {
        let mut world = world();
        let (stream, _, commits) = world.served();
        stream.respond(head(), b"hello".to_vec());
        assert_eq!(commits.count(), 1);
        assert!(!stream.open_mailbox());
        assert_eq!(stream.next_command(false), Some(Command::Complete(head(), b"hello".to_vec())));
        assert_eq!(stream.next_command(false), None);
        assert_eq!(stream.close(), Notice::None);
        assert_eq!(world.events(), [], "a response that is complete is not cancelled");
        assert_eq!(world.exchange.budget.held(), 0);
    }

    #[test]
    fn commands_share_a_commit_until_the_mailbox_is_opened() {
        let mut world = world();
        let (stream, _, commits) = world.served();
        stream.head(head());
        stream.write(vec![1]);
        assert_eq!(commits.count(), 1);
        stream.open_mailbox();
        stream.write(vec![2]);
        assert_eq!(commits.count(), 2);
    }

    #[test]
    fn a_writer_waits_for_room_and_is_told() {
        let mut world = world();
        let (stream, id, _) = world.served();
        stream.head(head());
        assert_eq!(stream.output_room(), Ok(LIMITS.buffer_bytes));
        stream.write(vec![0; LIMITS.buffer_bytes]);
        assert_eq!(stream.output_room(), Ok(0));
        stream.open_mailbox();
        assert_eq!(stream.next_command(true), Some(Command::Head(head())));
        assert_eq!(stream.next_command(true), None, "the client does not read");
        let _ = stream.close_mailbox();
        assert_eq!(world.events(), []);
        assert!(stream.next_command(false).is_some());
        let _ = stream.close_mailbox();
        assert_eq!(world.events(), [(id, event::WRITABLE)]);
    }

    #[test]
    fn a_request_that_landed_whole_can_be_read_after_its_response_has_ended() {
        let mut world = world();
        let (stream, id, _) = world.served();
        let _ = stream.land(b"abc".to_vec(), false);
        let _ = stream.land_end(None);
        stream.respond(head(), Vec::new());
        assert!(stream.next_command(false).is_some());
        let _ = stream.close();
        assert_eq!(stream.read(2), Read::Data(b"ab".to_vec()));
        assert_eq!(world.exchange.budget.held(), 1);
        world.owner.release(id);
        assert_eq!(world.exchange.budget.held(), 0);

        let (stream, id, _) = world.served();
        stream.respond(head(), Vec::new());
        assert_eq!(stream.read(2), Read::Pending);
        let _ = stream.close();
        assert_eq!(world.events(), [(id, event::INPUT)], "a reader that waits is told");
        assert_eq!(stream.read(2), Read::Gone, "there is no knowing what would have come");
        assert_eq!(world.exchange.budget.held(), 0);
    }

    #[test]
    fn a_departed_client_cancels_once_and_nothing_is_written_or_read() {
        let mut world = world();
        let (stream, id, commits) = world.served();
        let _ = stream.close();
        let _ = stream.close();
        assert_eq!(world.events(), [(id, event::CANCEL)]);
        assert_eq!(stream.read(1), Read::Gone);
        assert_eq!(stream.output_room(), Err(Gone));
        stream.head(head());
        stream.reset();
        assert_eq!(commits.count(), 0);
        world.owner.release(id);
        assert_eq!(world.exchange.inflight(), 0);
    }

    #[test]
    fn events_of_a_released_request_are_dropped() {
        let mut world = world();
        let (stream, id, _) = world.served();
        world.owner.release(id);
        let _ = stream.close();
        assert_eq!(world.events(), []);
    }

    #[test]
    fn a_dead_owner_answers_what_waits_and_takes_no_more() {
        let mut world = world();
        let (served, _, _) = world.served();
        let (queued, _) = stream(&world.exchange);
        let _ = queued.submit().expect("taken");
        served.head(head());
        let unavailable = Head { status: 503, fields: Fields::default() };
        world.owner.abandon(&unavailable, b"gone");
        assert_eq!(served.next_command(false), Some(Command::Head(head())));
        assert_eq!(served.next_command(false), Some(Command::Reset));
        assert_eq!(queued.next_command(false), Some(Command::Complete(unavailable, b"gone".to_vec())));
        assert_eq!(world.exchange.inflight(), 0);
        assert_eq!(world.exchange.admit(&LIMITS).err(), Some(Refusal::Gone));
        assert!(queued.submit().is_err() || queued.id() == 0);
    }

    #[test]
    fn an_upstream_s_answer_is_moved_into_the_response_as_far_as_there_is_room() {
        let mut world = world();
        let (stream, id, commits) = world.served();
        let target = Target { limit: 100_000, ..Target::default() };
        let call = stream.open_call(target).expect("room");
        stream.start_call(call, Fields::default(), Some(Vec::new()));
        assert!(stream.next_call_command().is_some());
        stream.head(head());
        assert_eq!(stream.pass_call(call), Ok(Answer::Pending));
        assert_eq!(stream.land_call(call, vec![7; LIMITS.buffer_bytes + 10]), Ok(Notice::None));
        assert_eq!(world.events(), [(id, event::UPSTREAM)]);
        stream.open_mailbox();
        let commits_before = commits.count();
        assert_eq!(stream.pass_call(call), Ok(Answer::Ready(LIMITS.buffer_bytes)));
        assert_eq!(stream.pass_call(call), Ok(Answer::Ready(0)), "no room there");
        assert_eq!(commits.count(), commits_before + 1);
        assert_eq!(world.exchange.budget.held(), LIMITS.buffer_bytes + 10);
        while stream.next_command(false).is_some() {}
        let _ = stream.close_mailbox();
        assert_eq!(world.events(), [(id, event::WRITABLE)]);
        assert_eq!(stream.pass_call(call), Ok(Answer::Ready(10)));
        let _ = stream.end_call(call, Ok(()));
        assert_eq!(stream.pass_call(call), Ok(Answer::End));
        let _ = stream.close();
        assert_eq!(stream.pass_call(call), Err(Gone));
        assert_eq!(world.exchange.budget.held(), 0);
    }

    #[test]
    fn the_stop_event_comes_once_and_last() {
        let mut world = world();
        let (stream, _) = stream(&world.exchange);
        let _ = stream.submit().expect("taken");
        world.exchange.stop();
        assert_eq!(world.wakeups.count(), 1);
        assert!(!world.owner.arm());
        assert_eq!(world.owner.take(), 2);
        assert!(matches!(world.owner.next_event(), Some(Event::Request(..))));
        assert!(matches!(world.owner.next_event(), Some(Event::Stop)));
        assert!(world.owner.next_event().is_none());
        assert!(world.owner.arm());
    }
}

/// RUSTFLAGS="--cfg loom" cargo test --release -p ruvoy exchange
#[cfg(loom)]
mod under_loom {
    use super::*;
    use loom::thread;

    /// An owner, and a stream that it serves.
    fn served() -> (Owner, Arc<Stream>) {
        let exchange = Exchange::new(Box::new(Counter::new()));
        let mut owner = Owner::new(Arc::clone(&exchange));
        let (stream, _) = stream(&exchange);
        let _ = stream.submit();
        owner.take();
        assert!(owner.next_event().is_some());
        (owner, stream)
    }

    #[test]
    fn no_request_is_left_in_the_queue_of_a_sleeping_owner() {
        loom::model(|| {
            let wakeups = Counter::new();
            let exchange = Exchange::new(Box::new(wakeups.clone()));
            let mut owner = Owner::new(Arc::clone(&exchange));
            let worker = {
                let exchange = Arc::clone(&exchange);
                thread::spawn(move || {
                    let (stream, _) = stream(&exchange);
                    if stream.submit() == Ok(Notice::Ring) {
                        exchange.ring();
                    }
                })
            };
            let mut served = usize::from(owner.take() > 0 && owner.next_event().is_some());
            let asleep = owner.arm();
            worker.join().expect("no panic");
            if asleep && served == 0 {
                assert_eq!(wakeups.count(), 1, "asleep with a request and not woken");
            }
            owner.take();
            served += usize::from(owner.next_event().is_some());
            assert_eq!(served, 1);
        });
    }

    #[test]
    fn a_request_is_either_served_and_cancelled_or_dropped() {
        loom::model(|| {
            let exchange = Exchange::new(Box::new(Counter::new()));
            let mut owner = Owner::new(Arc::clone(&exchange));
            let (stream, _) = stream(&exchange);
            let _ = stream.submit();
            let worker = thread::spawn(move || {
                let _ = stream.close();
            });
            owner.take();
            let served = owner.next_event();
            worker.join().expect("no panic");
            owner.take();
            let next = owner.next_event();
            match (served, next) {
                (Some(Event::Request(id, _)), Some(Event::Stream(cancelled, event::CANCEL))) => {
                    assert_eq!(id, cancelled);
                    owner.release(id);
                }
                (None, None) => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(exchange.inflight(), 0);
        });
    }

    #[test]
    fn no_command_is_left_in_a_mailbox_without_a_commit() {
        loom::model(|| {
            let exchange = Exchange::new(Box::new(Counter::new()));
            let (stream, commits) = stream(&exchange);
            stream.head(head());
            let owner = {
                let stream = Arc::clone(&stream);
                thread::spawn(move || stream.finish(Fields::default()))
            };
            stream.open_mailbox();
            let mut seen = 0;
            while stream.next_command(false).is_some() {
                seen += 1;
            }
            owner.join().expect("no panic");
            assert!(seen == 2 || commits.count() == 2, "{seen} commands seen, {} commits", commits.count());
        });
    }

    #[test]
    fn a_reader_that_waits_is_told() {
        loom::model(|| {
            let (mut owner, stream) = served();
            let worker = {
                let stream = Arc::clone(&stream);
                thread::spawn(move || {
                    let _ = stream.land(vec![1], false);
                })
            };
            let read = stream.read(1);
            worker.join().expect("no panic");
            owner.take();
            let told = owner.next_event().is_some();
            assert_eq!(told, read == Read::Pending);
        });
    }

    #[test]
    fn a_caller_that_waits_is_told() {
        loom::model(|| {
            let (mut owner, stream) = served();
            let target = Target { limit: 10, whole: true, ..Target::default() };
            let call = stream.open_call(target).expect("room");
            stream.start_call(call, Fields::default(), Some(Vec::new()));
            let worker = {
                let stream = Arc::clone(&stream);
                thread::spawn(move || {
                    let _ = stream.land_call_head(call, head());
                    let _ = stream.end_call(call, Ok(()));
                })
            };
            let found = stream.call_head(call);
            worker.join().expect("no panic");
            owner.take();
            let told = owner.next_event().is_some() && stream.take_ready_calls() == [call];
            assert_eq!(told, found == Answer::Pending);
        });
    }

    #[test]
    fn a_call_is_either_answered_or_abandoned_when_its_request_ends() {
        loom::model(|| {
            let (_owner, stream) = served();
            let worker = {
                let stream = Arc::clone(&stream);
                thread::spawn(move || {
                    while stream.next_call_command().is_some() {}
                    let _ = stream.close();
                })
            };
            let opened = stream.open_call(Target { limit: 10, ..Target::default() });
            if let Ok(call) = opened {
                stream.start_call(call, Fields::default(), Some(vec![0; 5]));
                let found = stream.call_head(call);
                worker.join().expect("no panic");
                assert!(matches!(found, Answer::Pending | Answer::Failed(Failure::Abandoned)));
                assert_eq!(stream.call_head(call), Answer::Failed(Failure::Abandoned));
            } else {
                worker.join().expect("no panic");
            }
            assert_eq!(stream.exchange().budget.held(), 0);
        });
    }
}
