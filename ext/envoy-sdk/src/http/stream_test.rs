//! The hook layer against the stand-ins: nesting, deferral, panics, destruction inside a call.

use super::hooks::*;
use super::*;
use crate::abi::*;
use crate::{stand_in, EnvoyBuffer, EnvoyCounterId};
use std::cell::RefCell;
use std::os::raw::c_void;
use std::ptr::null;
use std::rc::Rc;

type Envoy = EnvoyHttpFilterImpl;
type Script = Box<dyn FnMut(&str, &mut Envoy)>;
type Log = Rc<RefCell<Vec<String>>>;

const SEND_DATA: &str = "envoy_dynamic_module_callback_http_send_response_data";
const SEND_RESPONSE: &str = "envoy_dynamic_module_callback_http_send_response";
const RESET: &str = "envoy_dynamic_module_callback_http_filter_reset_stream";
const START_STREAM: &str = "envoy_dynamic_module_callback_http_filter_start_http_stream";
const CALLOUT: &str = "envoy_dynamic_module_callback_http_filter_http_callout";
const BODY_SIZE: &str = "envoy_dynamic_module_callback_http_get_body_size";
const COUNTER: &str = "envoy_dynamic_module_callback_http_filter_increment_counter";
const CONTINUE: &str = "envoy_dynamic_module_callback_http_filter_continue_decoding";

/// Notes each method and its drop; the script acts inside of every method.
struct Scripted {
    log: Log,
    script: Script,
    running: bool,
}

impl Scripted {
    fn enter(&mut self, method: &str, envoy: &mut Envoy) {
        assert!(!self.running, "{method} while another method runs");
        self.running = true;
        self.log.borrow_mut().push(method.to_owned());
        (self.script)(method, envoy);
        self.log.borrow_mut().push(format!("/{method}"));
        self.running = false;
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.log.borrow_mut().push("drop".to_owned());
    }
}

impl HttpFilter<Envoy> for Scripted {
    fn on_request_headers(
        &mut self,
        envoy: &mut Envoy,
        _end_of_stream: bool,
    ) -> envoy_dynamic_module_type_on_http_filter_request_headers_status {
        self.enter("request_headers", envoy);
        envoy_dynamic_module_type_on_http_filter_request_headers_status::StopIteration
    }

    fn on_request_body(
        &mut self,
        envoy: &mut Envoy,
        _end_of_stream: bool,
    ) -> envoy_dynamic_module_type_on_http_filter_request_body_status {
        self.enter("request_body", envoy);
        envoy_dynamic_module_type_on_http_filter_request_body_status::Continue
    }

    fn on_response_headers(
        &mut self,
        envoy: &mut Envoy,
        _end_of_stream: bool,
    ) -> envoy_dynamic_module_type_on_http_filter_response_headers_status {
        self.enter("response_headers", envoy);
        envoy_dynamic_module_type_on_http_filter_response_headers_status::ContinueAndDontEndStream
    }

    fn on_stream_complete(&mut self, envoy: &mut Envoy) {
        self.enter("complete", envoy);
    }

    fn on_http_callout_done(
        &mut self,
        envoy: &mut Envoy,
        id: u64,
        _result: envoy_dynamic_module_type_http_callout_result,
        _headers: Option<&[(EnvoyBuffer, EnvoyBuffer)]>,
        body: Option<&[EnvoyBuffer]>,
    ) {
        self.enter(&format!("callout_done {id} {}", texts(body.unwrap_or_default())), envoy);
    }

    fn on_http_stream_headers(
        &mut self,
        envoy: &mut Envoy,
        id: u64,
        headers: &[(EnvoyBuffer, EnvoyBuffer)],
        end_stream: bool,
    ) {
        let names: Vec<EnvoyBuffer> = headers.iter().map(|(key, _)| *key).collect();
        self.enter(&format!("stream_headers {id} {} {end_stream}", texts(&names)), envoy);
    }

    fn on_http_stream_data(&mut self, envoy: &mut Envoy, id: u64, data: &[EnvoyBuffer], end_stream: bool) {
        self.enter(&format!("stream_data {id} {} {end_stream}", texts(data)), envoy);
    }

    fn on_scheduled(&mut self, envoy: &mut Envoy, event_id: u64) {
        self.enter(&format!("scheduled {event_id}"), envoy);
    }

    fn on_downstream_above_write_buffer_high_watermark(&mut self, envoy: &mut Envoy) {
        self.enter("above", envoy);
    }

    fn on_downstream_below_write_buffer_low_watermark(&mut self, envoy: &mut Envoy) {
        self.enter("below", envoy);
    }

    fn on_local_reply(
        &mut self,
        envoy: &mut Envoy,
        code: u32,
        details: EnvoyBuffer,
        _reset_imminent: bool,
    ) -> envoy_dynamic_module_type_on_http_filter_local_reply_status {
        self.enter(&format!("local_reply {code} {}", texts(&[details])), envoy);
        envoy_dynamic_module_type_on_http_filter_local_reply_status::Continue
    }
}

fn texts(buffers: &[EnvoyBuffer]) -> String {
    let texts = buffers.iter().map(|buffer| String::from_utf8_lossy(buffer.as_slice()).into_owned());
    texts.collect::<Vec<_>>().join("+")
}

struct Config(RefCell<Option<Scripted>>);

// SAFETY: each test has its own configuration, on its own thread.
unsafe impl Sync for Config {}

impl HttpFilterConfig<Envoy> for Config {
    fn new_http_filter(&self, _envoy: &mut Envoy) -> Box<dyn HttpFilter<Envoy>> {
        Box::new(self.0.borrow_mut().take().expect("the filter cannot be made"))
    }
}

/// What Envoy would hold of a stream.
#[derive(Clone)]
struct Harness {
    log: Log,
    filter: *const c_void,
}

const F: *mut c_void = std::ptr::dangling_mut::<u8>().cast();

impl Harness {
    fn new(script: impl FnMut(&str, &mut Envoy) + 'static) -> Self {
        let log = Log::default();
        let filter = Scripted { log: log.clone(), script: Box::new(script), running: false };
        Self { filter: make(Some(filter)), log }
    }

    fn log(&self) -> Vec<String> {
        self.log.take()
    }

    fn headers(&self) -> envoy_dynamic_module_type_on_http_filter_request_headers_status {
        // SAFETY: the filter is not destroyed.
        unsafe { envoy_dynamic_module_on_http_filter_request_headers(F, self.filter, true) }
    }

    fn scheduled(&self, event_id: u64) {
        // SAFETY: the filter is not destroyed.
        unsafe { envoy_dynamic_module_on_http_filter_scheduled(F, self.filter, event_id) };
    }

    fn above(&self) {
        // SAFETY: the filter is not destroyed.
        unsafe {
            envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark(F, self.filter);
        }
    }

    fn below(&self) {
        // SAFETY: the filter is not destroyed.
        unsafe {
            envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark(F, self.filter);
        }
    }

    fn complete(&self) {
        // SAFETY: the filter is not destroyed.
        unsafe { envoy_dynamic_module_on_http_filter_stream_complete(F, self.filter) };
    }

    fn destroy(&self) {
        // SAFETY: called once.
        unsafe { envoy_dynamic_module_on_http_filter_destroy(self.filter) };
    }

    /// Lets Envoy do `act` inside every call of the function `name`.
    fn inside(&self, name: &'static str, act: impl Fn(&Self) + 'static) {
        let harness = self.clone();
        stand_in::react(name, move || act(&harness));
    }
}

fn make(filter: Option<Scripted>) -> *const c_void {
    let config: Box<dyn HttpFilterConfig<Envoy>> = Box::new(Config(RefCell::new(filter)));
    let config: *const Box<dyn HttpFilterConfig<Envoy>> = &config;
    // SAFETY: the configuration lives through the call.
    unsafe { envoy_dynamic_module_on_http_filter_new(config.cast(), F) }
}

fn logged() -> String {
    let lines = stand_in::take_logged();
    lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

#[test]
fn hooks_reach_the_filter_in_order() {
    let harness = Harness::new(|_, _| {});
    harness.headers();
    harness.scheduled(7);
    harness.complete();
    harness.destroy();
    let expected = ["request_headers", "scheduled 7", "complete"];
    let mut expected: Vec<String> =
        expected.iter().flat_map(|method| [(*method).to_owned(), format!("/{method}")]).collect();
    expected.push("drop".to_owned());
    assert_eq!(harness.log(), expected);
}

#[test]
fn watermarks_inside_a_method_are_delivered_after_it_in_order() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.send_response_data(b"x", false);
            assert!(has_deferred_hooks());
        }
    });
    harness.inside(SEND_DATA, |harness| {
        harness.above();
        harness.below();
        harness.above();
    });
    harness.scheduled(1);
    assert!(!has_deferred_hooks());
    let expected = ["scheduled 1", "/scheduled 1", "above", "/above", "below", "/below", "above", "/above"];
    assert_eq!(harness.log(), expected);
    harness.destroy();
}

#[test]
fn watermarks_outside_of_a_method_wait_for_the_next_turn() {
    let commit = "envoy_dynamic_module_callback_http_filter_scheduler_commit";
    let harness = Harness::new(|_, _| {});
    stand_in::take_calls();
    harness.above();
    harness.below();
    assert_eq!(harness.log(), Vec::<String>::new());
    let new = "envoy_dynamic_module_callback_http_filter_scheduler_new";
    assert_eq!(stand_in::take_calls(), [new, commit]);
    harness.scheduled(u64::MAX);
    assert_eq!(harness.log(), ["above", "/above", "below", "/below"]);
    // An event of the filter that comes first takes them along, in order.
    harness.above();
    harness.scheduled(1);
    assert_eq!(harness.log(), ["above", "/above", "scheduled 1", "/scheduled 1"]);
    harness.scheduled(u64::MAX);
    assert_eq!(harness.log(), Vec::<String>::new());
    // Without a wake under way the number is the filter's.
    harness.scheduled(u64::MAX);
    assert_eq!(harness.log().len(), 2);
    assert_eq!(stand_in::take_calls(), [commit]);
    harness.above();
    harness.complete();
    harness.scheduled(u64::MAX);
    assert_eq!(harness.log(), ["complete", "/complete"]);
    harness.destroy();
}

#[test]
fn what_a_deferred_hook_causes_is_deferred_too() {
    let harness = Harness::new(|method, envoy| match method {
        "scheduled 1" => envoy.send_response_data(b"x", false),
        "above" => envoy.send_response_trailers(&[]),
        _ => {}
    });
    harness.inside(SEND_DATA, Harness::above);
    harness.inside("envoy_dynamic_module_callback_http_send_response_trailers", |harness| {
        harness.complete();
        harness.destroy();
    });
    harness.scheduled(1);
    let expected = ["scheduled 1", "/scheduled 1", "above", "/above", "complete", "/complete", "drop"];
    assert_eq!(harness.log(), expected);
}

#[test]
fn a_filter_destroyed_inside_its_call_is_completed_and_dropped_afterwards() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.send_response_data(b"x", true);
            // Nothing of these may reach Envoy any more.
            stand_in::take_calls();
            envoy.send_response_data(b"y", true);
            envoy.reset_stream(envoy_dynamic_module_type_http_filter_stream_reset_reason::LocalReset, "");
            envoy.continue_decoding();
            envoy.set_buffer_limit(1);
            assert!(envoy.get_request_headers().is_empty());
            assert!(envoy.get_request_header_value("a").is_none());
            assert!(envoy.get_buffered_request_body().is_none());
            assert_eq!(envoy.get_buffered_request_body_size(), 0);
            assert!(!envoy.drain_buffered_request_body(1));
            envoy.new_scheduler().commit(1);
            assert_eq!(
                envoy.send_http_callout("c", &[], None, 1).0,
                envoy_dynamic_module_type_http_callout_init_result::CannotCreateRequest
            );
            assert_eq!(stand_in::take_calls(), Vec::<&str>::new());
        }
    });
    stand_in::set_request(&[("a", "b")], b"body");
    harness.inside(SEND_DATA, |harness| {
        harness.above();
        harness.complete();
        harness.destroy();
    });
    harness.scheduled(1);
    let expected = ["scheduled 1", "/scheduled 1", "complete", "/complete", "drop"];
    assert_eq!(harness.log(), expected);
}

#[test]
fn statistics_still_count_in_a_deferred_stream_complete() {
    let harness = Harness::new(|method, envoy| match method {
        "scheduled 1" => envoy.send_response_data(b"x", true),
        "complete" => envoy.increment_counter(EnvoyCounterId(1), 1).expect("counted"),
        _ => {}
    });
    harness.inside(SEND_DATA, |harness| {
        harness.complete();
        harness.destroy();
    });
    stand_in::take_calls();
    harness.scheduled(1);
    assert_eq!(stand_in::take_calls(), [SEND_DATA, COUNTER]);
}

#[test]
fn stream_complete_comes_once_and_ends_other_events() {
    let harness = Harness::new(|_, _| {});
    harness.complete();
    harness.complete();
    harness.scheduled(1);
    harness.above();
    assert_eq!(harness.log(), ["complete", "/complete"]);
    harness.destroy();
    assert_eq!(harness.log(), ["drop"]);
}

#[test]
fn bodies_are_not_asked_for_after_the_response_ended() {
    let harness = Harness::new(|_, envoy| {
        assert_eq!(envoy.get_buffered_request_body_size(), 10);
        let chunks = envoy.get_buffered_request_body().expect("a body");
        let chunks: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_slice()).collect();
        assert_eq!(chunks, [&b"0123"[..], b"4567", b"89"]);
        assert!(envoy.drain_buffered_request_body(3));
        assert_eq!(envoy.get_buffered_request_body_size(), 7);
        envoy.send_response(200, &[("a", b"b")], Some(b"ok"), None);
        assert_eq!(envoy.get_buffered_request_body_size(), 0);
        assert!(envoy.get_buffered_request_body().is_none());
        assert!(!envoy.drain_buffered_request_body(3));
        envoy.send_response(200, &[], None, None);
    });
    stand_in::set_request(&[], b"0123456789");
    stand_in::take_calls();
    harness.scheduled(1);
    let calls = stand_in::take_calls();
    assert_eq!(calls.iter().filter(|call| **call == BODY_SIZE).count(), 2);
    assert_eq!(calls.iter().filter(|call| **call == SEND_RESPONSE).count(), 1);
    harness.destroy();
}

#[test]
fn headers_are_read_through() {
    let harness = Harness::new(|_, envoy| {
        assert_eq!(texts(&envoy.get_request_header_values("a")), "1+2");
        assert_eq!(envoy.get_request_header_value("b").expect("there").as_slice(), b"3");
        assert!(envoy.get_request_header_value("c").is_none());
        assert!(envoy.get_request_header_values("c").is_empty());
        let all = envoy.get_request_headers();
        let all: Vec<_> = all.iter().map(|(key, value)| texts(&[*key, *value])).collect();
        assert_eq!(all, ["a+1", "a+2", "b+3"]);
        assert!(envoy.get_request_trailers().is_empty());
    });
    stand_in::set_request(&[("a", "1"), ("a", "2"), ("b", "3")], b"");
    harness.headers();
    assert_eq!(harness.log(), ["request_headers", "/request_headers"]);
    harness.destroy();
}

#[test]
fn response_hooks_and_local_replies_inside_a_call_continue_without_the_filter() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.send_response(200, &[], None, None);
        }
    });
    harness.inside(SEND_RESPONSE, |harness| {
        assert_eq!(local_reply(harness), envoy_dynamic_module_type_on_http_filter_local_reply_status::Continue);
        // SAFETY: the filter is not destroyed.
        let status = unsafe { envoy_dynamic_module_on_http_filter_response_headers(F, harness.filter, true) };
        assert_eq!(status, envoy_dynamic_module_type_on_http_filter_response_headers_status::Continue);
    });
    harness.scheduled(1);
    assert_eq!(harness.log(), ["scheduled 1", "/scheduled 1"]);
    // The own reply may also be reported after the method has returned.
    local_reply(&harness);
    assert_eq!(harness.log(), Vec::<String>::new());
    harness.destroy();
}

fn local_reply(harness: &Harness) -> envoy_dynamic_module_type_on_http_filter_local_reply_status {
    let details = envoy_dynamic_module_type_envoy_buffer { ptr: c"late".as_ptr(), length: 4 };
    // SAFETY: the filter is not destroyed.
    unsafe { envoy_dynamic_module_on_http_filter_local_reply(F, harness.filter, 504, details, false) }
}

#[test]
fn envoys_own_local_reply_reaches_the_filter_and_ends_the_response() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.send_response_data(b"too late", false);
        }
    });
    local_reply(&harness);
    stand_in::take_calls();
    harness.scheduled(1);
    assert_eq!(stand_in::take_calls(), Vec::<&str>::new());
    // SAFETY: the filter is not destroyed.
    let status = unsafe { envoy_dynamic_module_on_http_filter_response_headers(F, harness.filter, true) };
    assert_eq!(status, envoy_dynamic_module_type_on_http_filter_response_headers_status::ContinueAndDontEndStream);
    let expected = [
        "local_reply 504 late",
        "/local_reply 504 late",
        "scheduled 1",
        "/scheduled 1",
        "response_headers",
        "/response_headers",
    ];
    assert_eq!(harness.log(), expected);
    harness.destroy();
}

#[test]
fn a_local_reply_cannot_be_disturbed_by_the_filter_that_hears_of_it() {
    let harness = Harness::new(|method, envoy| {
        if method.starts_with("local_reply") {
            envoy.reset_stream(envoy_dynamic_module_type_http_filter_stream_reset_reason::LocalReset, "");
            envoy.send_go_away_and_close(false);
            envoy.continue_decoding();
        } else {
            envoy.send_go_away_and_close(true);
        }
    });
    stand_in::take_calls();
    local_reply(&harness);
    assert_eq!(stand_in::take_calls(), Vec::<&str>::new());
    harness.scheduled(1);
    assert_eq!(stand_in::take_calls(), ["envoy_dynamic_module_callback_http_filter_send_go_away_and_close"]);
    harness.destroy();
}

#[test]
fn a_hook_comes_too_late_for_a_stream_that_a_deferred_one_ended() {
    let harness = Harness::new(|method, envoy| {
        if method == "below" {
            envoy.send_response_data(b"x", true);
        }
    });
    harness.inside(SEND_DATA, |harness| {
        harness.complete();
        harness.destroy();
    });
    harness.below();
    // SAFETY: the filter is not destroyed yet.
    let status = unsafe { envoy_dynamic_module_on_http_filter_request_body(F, harness.filter, true) };
    assert_eq!(status, envoy_dynamic_module_type_on_http_filter_request_body_status::StopIterationNoBuffer);
    assert_eq!(harness.log(), ["below", "/below", "complete", "/complete", "drop"]);
}

#[test]
fn a_panic_answers_500_and_silences_the_filter() {
    let harness = Harness::new(|_, _| panic!("the filter is {}", "broken"));
    stand_in::take_calls();
    assert_eq!(harness.headers(), envoy_dynamic_module_type_on_http_filter_request_headers_status::StopIteration);
    assert_eq!(stand_in::take_calls(), [SEND_RESPONSE]);
    assert_eq!(logged(), "the module panicked in request_headers: the filter is broken");
    assert_eq!(harness.log(), ["request_headers"]);
    // The reply passes the poisoned filter and must not be held up.
    assert_eq!(local_reply(&harness), envoy_dynamic_module_type_on_http_filter_local_reply_status::Continue);
    // SAFETY: the filter is not destroyed.
    let status = unsafe { envoy_dynamic_module_on_http_filter_response_headers(F, harness.filter, true) };
    assert_eq!(status, envoy_dynamic_module_type_on_http_filter_response_headers_status::Continue);
    harness.scheduled(1);
    harness.complete();
    assert_eq!(harness.log(), Vec::<String>::new());
    harness.destroy();
    assert_eq!(harness.log(), ["drop"]);
    assert_eq!(stand_in::take_calls(), Vec::<&str>::new());
}

#[test]
fn a_panic_after_the_headers_resets_the_stream() {
    let harness = Harness::new(|_, envoy| {
        envoy.send_response_headers(&[(":status", b"200")], false);
        panic!("broken");
    });
    harness.inside(RESET, |harness| {
        harness.complete();
        harness.destroy();
    });
    stand_in::take_calls();
    harness.scheduled(1);
    let headers = "envoy_dynamic_module_callback_http_send_response_headers";
    assert_eq!(stand_in::take_calls(), [headers, RESET]);
    assert_eq!(harness.log(), ["scheduled 1", "drop"]);
}

#[test]
fn an_informational_response_does_not_start_the_response() {
    let harness = Harness::new(|_, envoy| {
        envoy.send_response_headers(&[(":status", b"103")], false);
        panic!("broken");
    });
    harness.scheduled(1);
    assert_eq!(stand_in::take_calls().last(), Some(&SEND_RESPONSE));
    harness.destroy();
}

#[test]
fn a_panic_in_a_response_hook_resets_the_stream() {
    let harness = Harness::new(|_, _| panic!("broken"));
    // SAFETY: the filter is not destroyed.
    let status = unsafe { envoy_dynamic_module_on_http_filter_response_headers(F, harness.filter, true) };
    assert_eq!(status, envoy_dynamic_module_type_on_http_filter_response_headers_status::StopIteration);
    assert_eq!(stand_in::take_calls(), [RESET]);
    harness.destroy();
}

#[test]
fn a_panic_at_the_end_is_only_logged() {
    let harness = Harness::new(|_, _| panic!("broken"));
    harness.complete();
    assert_eq!(stand_in::take_calls(), Vec::<&str>::new());
    assert_eq!(logged(), "the module panicked in stream_complete: broken");
    harness.destroy();
}

#[test]
fn a_panic_drops_what_was_deferred() {
    let harness = Harness::new(|_, envoy| {
        envoy.send_response_headers(&[(":status", b"200")], false);
        envoy.send_response_data(b"x", false);
        panic!("broken");
    });
    harness.inside(SEND_DATA, Harness::above);
    harness.scheduled(1);
    assert_eq!(harness.log(), ["scheduled 1"]);
    harness.destroy();
}

#[test]
fn a_filter_that_cannot_be_made_answers_500() {
    let filter = make(None);
    assert!(!filter.is_null());
    let harness = Harness { log: Log::default(), filter };
    assert!(logged().contains("new_http_filter: the filter cannot be made"));
    assert_eq!(harness.headers(), envoy_dynamic_module_type_on_http_filter_request_headers_status::StopIteration);
    assert_eq!(stand_in::take_calls(), [SEND_RESPONSE]);
    harness.complete();
    harness.destroy();
}

#[test]
fn a_panic_while_dropping_stays_inside() {
    struct Explosive;
    impl HttpFilter<Envoy> for Explosive {}
    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    struct ExplosiveConfig;
    impl HttpFilterConfig<Envoy> for ExplosiveConfig {
        fn new_http_filter(&self, _envoy: &mut Envoy) -> Box<dyn HttpFilter<Envoy>> {
            Box::new(Explosive)
        }
    }
    let config: Box<dyn HttpFilterConfig<Envoy>> = Box::new(ExplosiveConfig);
    let config: *const Box<dyn HttpFilterConfig<Envoy>> = &config;
    // SAFETY: the configuration lives through the call; the filter is destroyed once.
    unsafe {
        let filter = envoy_dynamic_module_on_http_filter_new(config.cast(), F);
        envoy_dynamic_module_on_http_filter_destroy(filter);
    }
    assert_eq!(logged(), "the module panicked in drop: boom");
}

#[test]
fn http_stream_events_inside_the_start_are_copied_and_delivered_after_it() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.start_http_stream("cluster", &[(":path", b"/")], None, true, 1000);
        }
    });
    harness.inside(START_STREAM, |harness| {
        let (key, value) = (b"x-name".to_vec(), b"value".to_vec());
        let mut header = envoy_dynamic_module_type_envoy_http_header {
            key_ptr: key.as_ptr().cast(),
            key_length: key.len(),
            value_ptr: value.as_ptr().cast(),
            value_length: value.len(),
        };
        let data = b"late data".to_vec();
        let chunk = envoy_dynamic_module_type_envoy_buffer { ptr: data.as_ptr().cast(), length: data.len() };
        // SAFETY: the filter is not destroyed; the arrays live through the calls, not longer.
        unsafe {
            envoy_dynamic_module_on_http_filter_http_stream_headers(F, harness.filter, 3, &mut header, 1, false);
            envoy_dynamic_module_on_http_filter_http_stream_data(F, harness.filter, 3, &chunk, 1, true);
        }
    });
    harness.scheduled(1);
    let log = harness.log();
    let log: Vec<&str> = log.iter().map(String::as_str).filter(|line| !line.starts_with('/')).collect();
    assert_eq!(log, ["scheduled 1", "stream_headers 3 x-name false", "stream_data 3 late data true"]);
    harness.destroy();
}

#[test]
fn a_callout_that_fails_at_once_is_reported_after_the_call() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            let (result, _) = envoy.send_http_callout("cluster", &[], Some(b"body"), 1000);
            assert_eq!(result, envoy_dynamic_module_type_http_callout_init_result::Success);
        }
    });
    harness.inside(CALLOUT, |harness| {
        // SAFETY: the filter is not destroyed; null stands for nothing.
        unsafe {
            envoy_dynamic_module_on_http_filter_http_callout_done(
                F,
                harness.filter,
                9,
                1,
                std::ptr::null_mut(),
                0,
                std::ptr::null_mut(),
                0,
            );
        }
    });
    harness.scheduled(1);
    assert_eq!(harness.log(), ["scheduled 1", "/scheduled 1", "callout_done 9 ", "/callout_done 9 "]);
    harness.destroy();
}

#[test]
fn a_request_body_inside_a_call_waits_in_envoy_and_continues_later() {
    let harness = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.drain_buffered_request_body(1);
        }
    });
    harness.inside("envoy_dynamic_module_callback_http_drain_body", |harness| {
        // SAFETY: the filter is not destroyed.
        let status = unsafe { envoy_dynamic_module_on_http_filter_request_body(F, harness.filter, true) };
        assert_eq!(status, envoy_dynamic_module_type_on_http_filter_request_body_status::StopIterationAndWatermark);
    });
    stand_in::take_calls();
    harness.scheduled(1);
    let expected = ["scheduled 1", "/scheduled 1", "request_body", "/request_body"];
    assert_eq!(harness.log(), expected);
    assert_eq!(stand_in::take_calls().last(), Some(&CONTINUE));
    harness.destroy();
}

#[test]
fn streams_nest_without_disturbing_each_other() {
    let inner = Harness::new(|_, _| assert!(!has_deferred_hooks()));
    let outer = Harness::new(|method, envoy| {
        if method == "scheduled 1" {
            envoy.send_response_data(b"x", false);
            assert!(has_deferred_hooks());
        }
    });
    let other = inner.clone();
    outer.inside(SEND_DATA, move |outer| {
        outer.above();
        other.scheduled(2);
    });
    outer.scheduled(1);
    assert_eq!(inner.log(), ["scheduled 2", "/scheduled 2"]);
    assert_eq!(outer.log(), ["scheduled 1", "/scheduled 1", "above", "/above"]);
    inner.destroy();
    outer.destroy();
}

#[test]
fn null_stands_for_a_filter_that_is_gone() {
    // SAFETY: null is allowed.
    unsafe {
        envoy_dynamic_module_on_http_filter_stream_complete(F, null());
        envoy_dynamic_module_on_http_filter_scheduled(F, null(), 1);
        envoy_dynamic_module_on_http_filter_destroy(null());
        assert_eq!(
            envoy_dynamic_module_on_http_filter_request_body(F, null(), true),
            envoy_dynamic_module_type_on_http_filter_request_body_status::Continue
        );
    }
}

#[test]
fn schedulers_commit_and_go_on_any_thread() {
    let made: Rc<RefCell<Vec<Box<dyn EnvoyHttpFilterScheduler>>>> = Rc::default();
    let kept = made.clone();
    let harness = Harness::new(move |_, envoy| {
        kept.borrow_mut().push(Box::new(envoy.new_scheduler()));
    });
    harness.headers();
    harness.destroy();
    let scheduler = made.borrow_mut().pop().expect("a scheduler");
    let calls = std::thread::spawn(move || {
        scheduler.commit(5);
        drop(scheduler);
        stand_in::take_calls()
    });
    assert_eq!(
        calls.join().expect("no panic"),
        [
            "envoy_dynamic_module_callback_http_filter_scheduler_commit",
            "envoy_dynamic_module_callback_http_filter_scheduler_delete",
        ]
    );
}

#[test]
fn many_headers_and_labels_go_through_the_heap() {
    let names: Vec<String> = (0..40).map(|index| format!("name-{index}")).collect();
    let headers: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    for size in [0, 1, 32, 33, 40] {
        let copies = crate::convert::with_headers(&headers[..size], |array, count| {
            // SAFETY: the array has `count` elements during this call.
            let array = unsafe { std::slice::from_raw_parts(array, count) };
            let copy = |header: &envoy_dynamic_module_type_module_http_header| {
                assert_eq!(header.key_ptr, header.value_ptr);
                // SAFETY: the header points into `names`.
                unsafe { std::slice::from_raw_parts(header.key_ptr.cast::<u8>(), header.key_length) }.to_vec()
            };
            array.iter().map(copy).collect::<Vec<_>>()
        });
        let expected: Vec<Vec<u8>> = names[..size].iter().map(|name| name.as_bytes().to_vec()).collect();
        assert_eq!(copies, expected);
    }
}
