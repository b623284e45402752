//! Tests of the filter against a mock of Envoy's side, with the test in the owner thread's place.

mod upstream;

use std::sync::atomic::{AtomicUsize, Ordering};

use envoy_proxy_dynamic_modules_rust_sdk::{
    HttpFilter,
    abi::{
        envoy_dynamic_module_type_attribute_id as AttributeId,
        envoy_dynamic_module_type_on_http_filter_request_body_status as BodyStatus,
        envoy_dynamic_module_type_on_http_filter_request_headers_status as HeadersStatus,
    },
    mock::{Attribute, Call, MockEnvoyHttpFilter, MockEnvoyHttpFilterConfig},
};

use super::{filter::RackFilter, metrics::Metrics};
use crate::exchange::{Arc, Event, Exchange, Fields, Head, Limits, Owner, Read, Stream, Wakeup, event};

const MAIL: u64 = 1;
const BELL: u64 = 2;

#[derive(Clone, Default)]
struct Wakeups(Arc<AtomicUsize>);

impl Wakeup for Wakeups {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A worker with one stream, and the owner thread that the test plays.
struct World {
    envoy: MockEnvoyHttpFilter,
    filter: RackFilter,
    owner: Owner,
    wakeups: Wakeups,
}

fn world(change: impl FnOnce(&mut Limits)) -> World {
    let mut limits =
        Limits { requests: 1, request_body_bytes: None, buffer_bytes: 20_000, total_buffer_bytes: 1_000_000 };
    change(&mut limits);
    let wakeups = Wakeups::default();
    let exchange = Exchange::new(Box::new(wakeups.clone()));
    let metrics = Metrics::define(&mut MockEnvoyHttpFilterConfig::default()).expect("metrics");
    let filter = RackFilter::new(Arc::clone(&exchange), limits, metrics, None);
    let headers = [
        (":method", "POST"),
        (":path", "/a?b=c"),
        (":scheme", "http"),
        (":authority", "a.test:81"),
        ("accept", "*/*"),
        ("x_spoofed", "1"),
        ("proxy", "evil"),
    ];
    let mut envoy = MockEnvoyHttpFilter::default();
    envoy.request_headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
    let attributes = [(AttributeId::RequestProtocol, "HTTP/1.1"), (AttributeId::SourceAddress, "192.0.2.1:5000")];
    envoy.attributes = attributes.map(|(id, value)| (id, Attribute::String(value.as_bytes().to_vec()))).into();
    World { envoy, filter, owner: Owner::new(exchange), wakeups }
}

impl World {
    fn headers(&mut self, end_of_stream: bool) {
        let status = self.filter.on_request_headers(&mut self.envoy, end_of_stream);
        assert_eq!(status, HeadersStatus::StopIteration);
    }

    fn body(&mut self, bytes: &[u8], end_of_stream: bool) -> BodyStatus {
        self.envoy.received_body = Some(vec![bytes.to_vec()]);
        let status = self.filter.on_request_body(&mut self.envoy, end_of_stream);
        // What the filter left joins what Envoy holds.
        let rest = self.envoy.received_body.take().unwrap_or_default();
        self.envoy.buffered_body.get_or_insert_default().extend(rest);
        status
    }

    fn serve(&mut self) -> (u64, Arc<Stream>) {
        self.owner.take();
        match self.owner.next_event() {
            Some(Event::Request(id, _)) => (id, Arc::clone(self.owner.stream(id).expect("served"))),
            other => panic!("no request but {other:?}"),
        }
    }

    fn mail(&mut self) {
        self.filter.on_scheduled(&mut self.envoy, MAIL);
    }

    /// The responses' calls, without statistics and drained bodies.
    fn sent(&self) -> Vec<Call> {
        let calls = self.envoy.calls();
        calls.into_iter().filter(|call| !matches!(call, Call::Metric { .. } | Call::DrainReceived { .. })).collect()
    }

    fn local_reply(&self) -> (u32, String) {
        match &self.sent()[..] {
            [Call::SendResponse { status, headers, .. }] => {
                let reason = headers.iter().find(|(name, _)| name == "x-ruvoy-error").expect("a reason");
                (*status, String::from_utf8_lossy(&reason.1).into_owned())
            }
            other => panic!("no local reply but {other:?}"),
        }
    }

    fn inflight(&self) -> usize {
        self.owner.exchange().inflight()
    }
}

fn head(status: u16) -> Head {
    Head { status, fields: [(&b"a"[..], &b"b"[..])].into_iter().collect() }
}

fn sent_head(status: &str, end_stream: bool) -> Call {
    let headers = [(":status", status), ("a", "b")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
    Call::SendResponseHeaders { headers, end_stream }
}

#[test]
fn a_request_crosses_and_its_response_comes_back_in_one_message() {
    let mut world = world(|_| {});
    world.headers(true);
    let (id, stream) = world.serve();
    let request = stream.take_request().expect("the request");
    let (line, headers) = request.parts();
    assert_eq!((line.method, line.target), (&b"POST"[..], &b"/a?b=c"[..]));
    assert_eq!((line.scheme, line.authority), (&b"http"[..], &b"a.test:81"[..]));
    assert_eq!((line.protocol, line.peer), (&b"HTTP/1.1"[..], &b"192.0.2.1:5000"[..]));
    assert_eq!(headers.collect::<Vec<_>>(), [(&b"accept"[..], &b"*/*"[..])], "without spoofed names and proxy");
    assert_eq!(stream.read(1), Read::End);

    stream.respond(head(200), b"hello".to_vec());
    assert_eq!(world.envoy.commits.take(), [MAIL]);
    world.mail();
    let body = Call::SendResponseData { body: b"hello".to_vec(), end_stream: true };
    assert_eq!(world.sent(), [sent_head("200", false), body]);
    world.owner.release(id);
    world.filter.on_stream_complete(&mut world.envoy);
    assert_eq!(world.owner.take(), 0, "a complete response is not cancelled");
    assert_eq!(world.inflight(), 0);
}

#[test]
fn a_sleeping_owner_is_rung_once_at_the_end_of_the_turn() {
    let mut world = world(|_| {});
    assert!(world.owner.arm());
    world.headers(true);
    assert_eq!(world.envoy.commits.take(), [BELL]);
    assert_eq!(world.wakeups.0.load(Ordering::SeqCst), 0);
    world.filter.on_scheduled(&mut world.envoy, BELL);
    assert_eq!(world.wakeups.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_stream_that_ends_before_its_bell_rings_at_once() {
    let mut world = world(|_| {});
    assert!(world.owner.arm());
    world.headers(true);
    world.filter.on_stream_complete(&mut world.envoy);
    assert_eq!(world.wakeups.0.load(Ordering::SeqCst), 1);
    assert!(world.owner.take() > 0);
    assert!(world.owner.next_event().is_none(), "a request that left in the queue is not served");
    assert_eq!(world.inflight(), 0);
}

#[test]
fn excess_requests_are_refused_before_anything_is_copied() {
    let mut world = world(|limits| limits.requests = 0);
    world.headers(true);
    assert_eq!(world.local_reply(), (503, "overloaded".to_owned()));
    assert_eq!(world.owner.take(), 0);
    let mut world = self::world(|_| {});
    world.owner.exchange().drain();
    world.headers(true);
    assert_eq!(world.local_reply(), (503, "shutting-down".to_owned()));
    let mut world = self::world(|_| {});
    world.owner.abandon(&head(503), b"");
    world.headers(true);
    assert_eq!(world.local_reply(), (503, "vm-gone".to_owned()));
}

#[test]
fn requests_that_rack_cannot_represent_are_refused() {
    let long = format!("/{}", "x".repeat(16 * 1024));
    let refused = [
        ("CONNECT", "", "a.test", 400, "connect"),
        ("GET", "x", "a.test", 400, "bad-target"),
        ("GET", "/", "a.test,b.test", 400, "bad-host"),
        ("GET", &long, "a.test", 414, "target-too-long"),
        ("GET", "/", "a.test", 400, "bad-scheme"),
    ];
    for (method, path, authority, status, reason) in refused {
        let mut world = world(|_| {});
        let headers = [(":method", method), (":path", path), (":authority", authority)];
        world.envoy.request_headers = headers.map(|(name, value)| (name.to_owned(), value.into())).to_vec();
        world.headers(true);
        assert_eq!(world.local_reply(), (status, reason.to_owned()));
        assert_eq!(world.inflight(), 0);
    }
}

#[test]
fn the_scheme_is_what_envoy_says_of_the_connection() {
    for (forwarded, scheme) in [("https", "https"), ("gopher", "http")] {
        let mut world = world(|_| {});
        world.envoy.request_headers.push(("x-forwarded-proto".to_owned(), forwarded.into()));
        world.headers(true);
        let (_, stream) = world.serve();
        assert_eq!(stream.take_request().expect("the request").parts().0.scheme, scheme.as_bytes());
    }
}

#[test]
fn a_declared_body_over_the_limit_is_refused_at_once() {
    let mut world = world(|limits| limits.request_body_bytes = Some(10));
    world.envoy.request_headers.push(("content-length".to_owned(), b"11".to_vec()));
    world.headers(false);
    assert_eq!(world.local_reply(), (413, "body-too-large".to_owned()));
    assert_eq!(world.inflight(), 0);
}

#[test]
fn a_body_that_grows_over_the_limit_is_refused_and_its_request_cancelled() {
    let mut world = world(|limits| limits.request_body_bytes = Some(10));
    world.headers(false);
    let (id, _) = world.serve();
    assert_eq!(world.body(&[0; 11], false), BodyStatus::StopIterationNoBuffer);
    assert_eq!(world.local_reply(), (413, "body-too-large".to_owned()));
    world.owner.take();
    assert!(matches!(world.owner.next_event(), Some(Event::Stream(of, event::CANCEL)) if of == id));
}

#[test]
fn a_body_lands_as_far_as_there_is_room_and_the_rest_is_pulled() {
    let mut world = world(|limits| limits.buffer_bytes = 10_000);
    world.headers(false);
    let (_, stream) = world.serve();
    assert_eq!(world.body(&[1; 25_000], false), BodyStatus::StopIterationAndWatermark);
    assert_eq!(stream.read(usize::MAX), Read::Data(vec![1; 10_000]));
    assert_eq!(world.envoy.commits.take(), [MAIL], "there is room again");
    world.body(&[2; 10], true);
    assert_eq!(stream.read(usize::MAX), Read::Pending, "what came later does not overtake");
    let mut read = 0;
    while read < 15_010 {
        world.mail();
        match stream.read(usize::MAX) {
            Read::Data(bytes) => read += bytes.len(),
            other => panic!("{other:?} after {read}"),
        }
    }
    world.mail();
    assert_eq!(stream.read(1), Read::End);
}

#[test]
fn trailers_end_the_body() {
    let mut world = world(|_| {});
    world.headers(false);
    let (_, stream) = world.serve();
    world.body(b"x", false);
    world.envoy.request_trailers = vec![("sum".to_owned(), b"5".to_vec())];
    world.filter.on_request_trailers(&mut world.envoy);
    assert_eq!(stream.read(9), Read::Data(b"x".to_vec()));
    assert_eq!(stream.read(9), Read::End);
    let expected: Fields = [(&b"sum"[..], &b"5"[..])].into_iter().collect();
    assert_eq!(stream.trailers(), Some(expected));
}

#[test]
fn body_data_waits_while_the_client_does_not_read() {
    let mut world = world(|_| {});
    world.headers(true);
    let (_, stream) = world.serve();
    world.filter.on_downstream_above_write_buffer_high_watermark(&mut world.envoy);
    stream.head(head(200));
    stream.write(b"x".to_vec());
    world.mail();
    assert_eq!(world.sent(), [sent_head("200", false)]);
    world.envoy.commits.take();
    world.filter.on_downstream_below_write_buffer_low_watermark(&mut world.envoy);
    assert_eq!(world.sent().len(), 1, "not inside the hook");
    assert_eq!(world.envoy.commits.take(), [MAIL]);
    world.mail();
    assert_eq!(world.sent()[1], Call::SendResponseData { body: b"x".to_vec(), end_stream: false });
}

#[test]
fn streamed_responses_end_with_data_trailers_or_a_reset() {
    let mut world = world(|_| {});
    world.headers(true);
    let (_, stream) = world.serve();
    stream.informational(head(103));
    stream.head(head(200));
    stream.finish([(&b"t"[..], &b"u"[..])].into_iter().collect());
    world.mail();
    let trailers = Call::SendResponseTrailers { trailers: vec![("t".to_owned(), b"u".to_vec())] };
    assert_eq!(world.sent(), [sent_head("103", false), sent_head("200", false), trailers]);

    let mut world = self::world(|_| {});
    world.headers(true);
    let (_, stream) = world.serve();
    stream.head(head(200));
    stream.reset();
    world.mail();
    assert!(matches!(world.sent()[..], [_, Call::ResetStream { .. }]));
}

#[test]
fn every_admitted_request_ends_in_one_outcome() {
    let outcomes = |world: &World| {
        let calls = world.envoy.calls().into_iter();
        let outcomes = calls.filter_map(|call| match call {
            Call::Metric { labels, .. } if !labels.is_empty() => Some(labels.concat()),
            _ => None,
        });
        outcomes.collect::<Vec<_>>()
    };
    type End = fn(&Stream);
    let ends: [(&str, End); 4] = [
        ("completed", |stream| stream.respond(head(404), Vec::new())),
        ("failed", |stream| {
            let fields = [(&b"x-ruvoy-error"[..], &b"application"[..])].into_iter().collect();
            stream.respond(Head { status: 500, fields }, Vec::new());
        }),
        ("failed", |stream| stream.reset()),
        ("cancelled", |_| {}),
    ];
    for (outcome, end) in ends {
        let mut world = world(|_| {});
        world.headers(true);
        let (_, stream) = world.serve();
        end(&stream);
        world.mail();
        world.filter.on_stream_complete(&mut world.envoy);
        assert_eq!(outcomes(&world), [outcome]);
    }
}
