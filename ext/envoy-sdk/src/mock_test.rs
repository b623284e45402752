//! The mock itself: it answers from its fields and records.

use crate::abi::*;
use crate::mock::{Attribute, Call, Metadata, MetricOperation};
use crate::*;

#[test]
fn bodies_are_viewed_and_drained() {
    let mut envoy = MockEnvoyHttpFilter::default();
    envoy.buffered_body = Some(vec![b"abc".to_vec(), b"de".to_vec()]);
    assert!(envoy.get_received_request_body().is_none());
    assert_eq!(envoy.get_buffered_request_body_size(), 5);
    let mut chunks = envoy.get_buffered_request_body().expect("a body");
    chunks[0].as_mut_slice()[2] = b'C';
    assert!(envoy.drain_buffered_request_body(2));
    let chunks = envoy.get_buffered_request_body().expect("a body");
    assert_eq!(
        chunks.iter().map(|chunk| chunk.as_slice().to_vec()).collect::<Vec<_>>(),
        [b"C".to_vec(), b"de".to_vec()]
    );
    envoy.drain_buffered_request_body(9);
    assert!(envoy.get_buffered_request_body().is_none());
    assert_eq!(envoy.take_calls(), [Call::DrainBuffered { bytes: 2 }, Call::DrainBuffered { bytes: 9 }]);
}

#[test]
fn getters_answer_from_the_fields() {
    use envoy_dynamic_module_type_attribute_id as Id;
    use envoy_dynamic_module_type_metadata_source::Route;
    let mut envoy = MockEnvoyHttpFilter::default();
    envoy.request_headers = vec![("a".into(), b"1".to_vec()), ("A".into(), b"2".to_vec())];
    envoy.attributes.insert(Id::SourcePort, Attribute::Int(80));
    let list = Metadata::List(vec![Metadata::Bool(true), Metadata::String(b"x".to_vec())]);
    envoy.metadata.entry(Route).or_default().entry("ns".into()).or_default().insert("list".into(), list);
    assert_eq!(envoy.get_request_header_values("a").len(), 2);
    assert_eq!(envoy.get_request_header_value("a").expect("there").as_slice(), b"1");
    assert_eq!(envoy.get_attribute_int(Id::SourcePort), Some(80));
    assert!(envoy.get_attribute_string(Id::SourcePort).is_none());
    assert_eq!(envoy.get_metadata_list_size(Route, "ns", "list"), Some(2));
    assert_eq!(envoy.get_metadata_list_bool(Route, "ns", "list", 0), Some(true));
    assert_eq!(envoy.get_metadata_list_string(Route, "ns", "list", 1).expect("there").as_slice(), b"x");
    assert_eq!(envoy.get_metadata_list_number(Route, "ns", "list", 1), None);
    assert_eq!(envoy.get_metadata_namespaces(Route).expect("there").len(), 1);
    assert!(envoy.get_metadata_keys(Route, "other").is_none());
}

#[test]
fn what_is_done_is_recorded() {
    let mut config = MockEnvoyHttpFilterConfig::default();
    let counter = config.define_counter_vec("requests", &["outcome"]).expect("defined");
    let mut envoy = MockEnvoyHttpFilter::default();
    envoy.increment_counter_vec(counter, &["completed"], 2).expect("counted");
    envoy.send_response(503, &[("retry-after", b"1")], Some(b"busy"), None);
    envoy.new_scheduler().commit(8);
    let commit = envoy.commits.take();
    let expected = [
        Call::Metric {
            operation: MetricOperation::IncrementCounter,
            id: 1,
            labels: vec!["completed".into()],
            value: 2,
        },
        Call::SendResponse {
            status: 503,
            headers: vec![("retry-after".into(), b"1".to_vec())],
            body: b"busy".to_vec(),
            details: String::new(),
        },
    ];
    assert_eq!((envoy.calls(), commit), (expected.to_vec(), vec![8]));
    assert_eq!(envoy.sent_body(), b"busy");
    assert_eq!(config.defined[&1], ("requests".to_owned(), vec!["outcome".to_owned()]));
}

#[test]
fn callouts_and_http_streams_begin_or_fail() {
    use envoy_dynamic_module_type_http_callout_init_result as Init;
    let mut envoy = MockEnvoyHttpFilter::default();
    assert_eq!(envoy.send_http_callout("c", &[], None, 5), (Init::Success, 1));
    assert_eq!(envoy.start_http_stream("c", &[], None, false, 5), (Init::Success, 2));
    envoy.callout_error = Some(Init::ClusterNotFound);
    assert_eq!(envoy.start_http_stream("d", &[], None, false, 5), (Init::ClusterNotFound, 0));
    assert_eq!(envoy.calls().len(), 2);
}
