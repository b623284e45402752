//! Tests of what a configuration offers beyond Rack: upstream calls and the context.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer,
    abi::{
        envoy_dynamic_module_type_http_callout_init_result as InitResult,
        envoy_dynamic_module_type_http_stream_reset_reason as CallResetReason,
        envoy_dynamic_module_type_metadata_source as MetadataSource,
    },
    mock::Metadata,
};

use super::*;
use crate::{
    config::Config,
    envoy::offers::Offers,
    exchange::{Answer, CallId, Failure, Item, Target},
};

const CONFIG: &str = r#"{"rackup": "a.ru", "context": {"metadata_namespaces": ["a", "none"]},
                         "upstream": {"clusters": ["c"]}}"#;

/// A world whose configuration has both, and a request that is being served.
fn served() -> (World, u64, Arc<Stream>) {
    let mut world = world(|_| {});
    let config = Config::parse(CONFIG.as_bytes(), &|_| None).expect("valid");
    let metrics = Metrics::define(&mut MockEnvoyHttpFilterConfig::default()).expect("metrics");
    let exchange = Arc::clone(world.owner.exchange());
    world.filter = RackFilter::new(exchange, config.limits, metrics, Offers::new(&config));
    world.headers(true);
    let (id, stream) = world.serve();
    (world, id, stream)
}

fn fields(pairs: &[(&str, &str)]) -> Fields {
    pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
}

fn open(stream: &Stream, whole: bool) -> CallId {
    let target = Target { cluster: "c".to_owned(), timeout_ms: 5000, limit: 10, whole };
    stream.open_call(target).expect("room")
}

impl World {
    /// Starts a call without a body; returns it and what Envoy names it by.
    fn call(&mut self, stream: &Arc<Stream>, whole: bool) -> (CallId, u64) {
        let call = open(stream, whole);
        stream.start_call(call, fields(&[(":method", "GET")]), Some(Vec::new()));
        self.mail();
        match self.sent().last() {
            Some(Call::StartHttpStream { id, .. }) => (call, *id),
            other => panic!("no stream was started but {other:?}"),
        }
    }

    fn answer_head(&mut self, handle: u64, pairs: &[(&str, &str)]) {
        let headers = pairs.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into()));
        let headers: Vec<(EnvoyBuffer, EnvoyBuffer)> = headers.collect();
        self.filter.on_http_stream_headers(&mut self.envoy, handle, &headers, false);
    }

    fn answer_data(&mut self, handle: u64, bytes: &[u8]) {
        self.filter.on_http_stream_data(&mut self.envoy, handle, &[bytes.into()], false);
    }

    fn complete(&mut self, handle: u64) {
        self.filter.on_http_stream_complete(&mut self.envoy, handle);
    }

    fn reset(&mut self, handle: u64) {
        self.filter.on_http_stream_reset(&mut self.envoy, handle, CallResetReason::LocalReset);
    }

    /// The owner thread's events of the stream.
    fn events(&mut self) -> u32 {
        self.owner.take();
        match self.owner.next_event() {
            Some(Event::Stream(_, bits)) => bits,
            _ => 0,
        }
    }

    /// How calls were counted.
    fn outcomes(&self) -> Vec<String> {
        let calls = self.envoy.calls().into_iter();
        let outcomes = calls.filter_map(|call| match call {
            Call::Metric { labels, .. } if labels.len() == 2 => Some(labels.join(" ")),
            _ => None,
        });
        outcomes.collect()
    }

    fn was_reset(&self, handle: u64) -> bool {
        self.sent().contains(&Call::ResetHttpStream { id: handle })
    }
}

const OK: [(&str, &str); 3] = [(":status", "200"), ("x-envoy-upstream-service-time", "1"), ("a", "b")];

#[test]
fn a_call_is_sent_and_its_answer_lands_whole() {
    let (mut world, _, stream) = served();
    let call = open(&stream, true);
    stream.start_call(call, fields(&[(":method", "PUT"), ("host", "h")]), Some(b"body".to_vec()));
    assert_eq!(world.envoy.commits.take(), [MAIL]);
    world.mail();
    let headers = vec![(":method".to_owned(), b"PUT".to_vec()), ("host".to_owned(), b"h".to_vec())];
    let expected = Call::StartHttpStream {
        id: 1,
        cluster: "c".to_owned(),
        headers,
        body: b"body".to_vec(),
        end_stream: true,
        timeout_ms: 5000,
    };
    assert_eq!(world.sent(), [expected]);

    assert_eq!(stream.call_head(call), Answer::Pending);
    world.answer_head(1, &OK);
    world.answer_data(1, b"12");
    assert_eq!(world.events(), 0, "a part is no news");
    world.complete(1);
    assert_eq!(world.events(), event::UPSTREAM);
    assert_eq!(stream.take_ready_calls(), [call]);
    let Answer::Ready(head) = stream.call_head(call) else { panic!("no head") };
    assert_eq!((head.status, head.fields.len()), (200, 2), "without :status");
    assert_eq!(stream.read_call(call, 100), Answer::Ready(b"12".to_vec()));
    assert_eq!(stream.read_call(call, 100), Answer::End);
    assert_eq!(world.outcomes(), ["c completed"]);
    assert_eq!(world.owner.exchange().budget.held(), 0);
}

#[test]
fn a_body_that_follows_is_sent_as_it_comes() {
    let (mut world, _, stream) = served();
    let call = open(&stream, false);
    stream.start_call(call, fields(&[(":method", "PUT")]), None);
    stream.write_call(call, b"one".to_vec());
    stream.write_call(call, b"two".to_vec());
    stream.finish_call(call);
    assert_eq!(world.envoy.commits.take(), [MAIL], "one for all");
    world.mail();
    let sent = world.sent();
    assert!(matches!(&sent[0], Call::StartHttpStream { end_stream: false, body, .. } if body.is_empty()));
    let data = |data: &[u8], end_stream| Call::SendHttpStreamData { id: 1, data: data.to_vec(), end_stream };
    assert_eq!(sent[1..], [data(b"one", false), data(b"two", false), data(b"", true)]);
}

#[test]
fn a_writer_is_told_once_its_bytes_are_with_envoy() {
    let (mut world, _, stream) = served();
    let call = open(&stream, false);
    stream.start_call(call, Fields::default(), None);
    let room = stream.call_room(call).expect("open");
    stream.write_call(call, vec![0; room]);
    assert_eq!(stream.call_room(call), Ok(0));
    world.mail();
    assert_eq!(world.events(), event::UPSTREAM);
    assert_eq!(stream.take_ready_calls(), [call]);
    assert_eq!(stream.call_room(call), Ok(room));
}

#[test]
fn a_call_that_cannot_be_sent_fails_at_once() {
    let refusals =
        [(InitResult::ClusterNotFound, Failure::NoCluster), (InitResult::CannotCreateRequest, Failure::Unavailable)];
    for (refusal, failure) in refusals {
        let (mut world, _, stream) = served();
        world.envoy.callout_error = Some(refusal);
        let call = open(&stream, true);
        stream.start_call(call, Fields::default(), Some(Vec::new()));
        assert_eq!(stream.call_head(call), Answer::Pending);
        world.mail();
        assert_eq!(world.events(), event::UPSTREAM);
        assert_eq!(stream.call_head(call), Answer::Failed(failure));
        assert_eq!(world.outcomes(), ["c refused"]);
    }
}

#[test]
fn envoy_s_own_answers_are_told_from_an_upstream_s() {
    let own = |status| [(":status", status), ("content-length", "0")];
    for (status, outcome) in [("504", "c timed_out"), ("503", "c refused"), ("500", "c completed")] {
        let (mut world, _, stream) = served();
        let (call, handle) = world.call(&stream, true);
        world.answer_head(handle, &own(status));
        world.complete(handle);
        assert!(matches!(stream.call_head(call), Answer::Ready(head) if head.status.to_string() == status));
        assert_eq!(world.outcomes(), [outcome]);
    }
    let (mut world, _, stream) = served();
    let (call, handle) = world.call(&stream, true);
    world.answer_head(handle, &[(":status", "503"), ("x-envoy-overloaded", "true")]);
    world.answer_data(handle, b"overflow");
    world.complete(handle);
    assert_eq!(stream.call_head(call), Answer::Failed(Failure::Unavailable), "an open breaker is no answer");
    assert_eq!(world.outcomes(), ["c refused"]);
}

#[test]
fn answers_that_find_no_room_reset_their_stream() {
    for (whole, failure, outcome) in
        [(true, Failure::TooLarge, "c too_large"), (false, Failure::Overflow, "c overflow")]
    {
        let (mut world, _, stream) = served();
        let (call, handle) = world.call(&stream, whole);
        world.answer_head(handle, &OK);
        world.answer_data(handle, &[0; 10]);
        assert!(!world.was_reset(handle));
        world.answer_data(handle, &[0; 1]);
        assert!(world.was_reset(handle));
        world.reset(handle);
        if whole {
            assert_eq!(stream.call_head(call), Answer::Failed(failure));
        } else {
            assert!(matches!(stream.call_head(call), Answer::Ready(_)));
            assert_eq!(stream.read_call(call, 100), Answer::Ready(vec![0; 10]));
        }
        assert_eq!(stream.read_call(call, 100), Answer::Failed(failure));
        assert_eq!(world.outcomes(), [outcome]);
        assert_eq!(world.owner.exchange().budget.held(), 0);
    }
}

#[test]
fn a_reset_is_a_failure_but_for_the_end_of_an_upgraded_connection() {
    let (mut world, _, stream) = served();
    let (call, handle) = world.call(&stream, false);
    world.answer_head(handle, &OK);
    world.reset(handle);
    assert!(matches!(stream.call_head(call), Answer::Ready(_)));
    assert_eq!(stream.read_call(call, 1), Answer::Failed(Failure::Reset));
    let (upgraded, handle) = world.call(&stream, false);
    world.answer_head(handle, &[(":status", "101")]);
    world.reset(handle);
    assert!(matches!(stream.call_head(upgraded), Answer::Ready(_)));
    assert_eq!(stream.read_call(upgraded, 1), Answer::End);
    assert_eq!(world.outcomes(), ["c reset", "c completed"]);
}

#[test]
fn a_call_that_is_given_up_is_reset_and_its_late_events_are_dropped() {
    let (mut world, _, stream) = served();
    let (call, handle) = world.call(&stream, false);
    stream.forget_call(call, Failure::TimedOut);
    world.mail();
    assert!(world.was_reset(handle));
    world.answer_head(handle, &OK);
    world.answer_data(handle, b"late");
    world.reset(handle);
    assert_eq!(world.events(), 0);
    assert_eq!(world.outcomes(), ["c timed_out"]);
    assert_eq!(world.owner.exchange().budget.held(), 0);
}

#[test]
fn calls_in_flight_end_with_their_request() {
    type End = fn(&mut World, u64, &Arc<Stream>);
    let ends: [End; 3] = [
        |world, _, stream| {
            stream.respond(head(200), Vec::new());
            world.mail();
        },
        |world, _, _| world.filter.on_stream_complete(&mut world.envoy),
        |world, id, _| {
            world.owner.release(id);
            world.mail();
        },
    ];
    for end in ends {
        let (mut world, id, stream) = served();
        let (call, handle) = world.call(&stream, true);
        assert_eq!(stream.call_head(call), Answer::Pending);
        end(&mut world, id, &stream);
        assert!(world.was_reset(handle));
        assert_eq!(stream.call_head(call), Answer::Failed(Failure::Abandoned));
        assert_eq!(world.outcomes(), ["c abandoned"]);
    }
}

#[test]
fn a_request_that_has_ended_begins_no_call() {
    let (mut world, _, stream) = served();
    world.filter.on_stream_complete(&mut world.envoy);
    assert_eq!(stream.open_call(Target::default()), Err(Failure::Abandoned));
}

#[test]
fn the_context_has_what_envoy_knows() {
    let mut world = world(|_| {});
    let text = |text: &str| Attribute::String(text.as_bytes().to_vec());
    world.envoy.attributes.extend([
        (AttributeId::XdsRouteName, text("the route")),
        (AttributeId::SourcePort, Attribute::Int(5000)),
        (AttributeId::DestinationAddress, text("[::1]:80")),
        (AttributeId::ConnectionTlsVersion, text("TLSv1.3")),
        (AttributeId::ConnectionMtls, Attribute::Bool(true)),
        (AttributeId::ConnectionSubjectPeerCertificate, text("CN=client")),
        (AttributeId::ConnectionSha256PeerCertificateDigest, text("abc")),
    ]);
    let list = Metadata::List(vec![Metadata::Number(1.0), Metadata::Bool(true), Metadata::String(b"x".to_vec())]);
    let entries = [("n", Metadata::Number(2.0)), ("b", Metadata::Bool(false)), ("l", list)];
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
    world.envoy.metadata.insert(MetadataSource::Route, [("a".to_owned(), entries)].into());
    let config = Config::parse(CONFIG.as_bytes(), &|_| None).expect("valid");
    let extensions = Offers::new(&config).expect("both parts").extensions(&world.envoy);
    let context = extensions.context.expect("a context");
    assert_eq!(context.route_name.as_deref(), Some(&b"the route"[..]));
    assert_eq!(context.connection.source_address, b"192.0.2.1");
    assert_eq!(context.connection.destination_address, b"::1");
    let tls = context.tls.as_ref().expect("TLS");
    assert_eq!((tls.mtls, tls.server_name.as_deref()), (true, None));
    let certificate = tls.peer_certificate.as_ref().expect("a certificate");
    assert_eq!(certificate.subject.as_deref(), Some(&b"CN=client"[..]));
    let list = Item::List(vec![Item::Number(1.0), Item::Bool(true), Item::String(b"x".to_vec())]);
    let items = vec![(b"b".to_vec(), Item::Bool(false)), (b"l".to_vec(), list), (b"n".to_vec(), Item::Number(2.0))];
    assert_eq!(context.route_metadata, [(b"a".to_vec(), items)]);
    assert_eq!(context.dynamic_metadata, []);
}

#[test]
fn a_configuration_without_both_parts_offers_nothing() {
    let config = Config::parse(b"a.ru", &|_| None).expect("valid");
    assert!(Offers::new(&config).is_none());
}
