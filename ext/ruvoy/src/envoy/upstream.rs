//! The upstream calls of one stream, on its worker: the owner thread's commands become HTTP streams to clusters, and what
//! these answer lands in the exchange.

use std::time::{Duration, Instant};

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer, EnvoyHttpFilter, abi::envoy_dynamic_module_type_http_callout_init_result as InitResult,
};

use super::{egress, metrics::Metrics};
use crate::{
    exchange::{Arc, CallCommand, CallId, Failure, Fields, Head, Notice, Outgoing, Stream, Target},
    ffi::http_stream::{HttpStream, Opening},
};

/// A field that Envoy adds to what a host answered, and so not to its own answers.
const SERVICE_TIME: &[u8] = b"x-envoy-upstream-service-time";

/// A field of Envoy's own answer where a circuit breaker is open.
const OVERLOADED: &[u8] = b"x-envoy-overloaded";

/// How much too early Envoy's timers may fire: they count from when their worker's turn began.
const TIMER_SLACK: Duration = Duration::from_millis(25);

/// The calls in flight.
#[derive(Debug)]
pub struct UpstreamCalls {
    metrics: Metrics,
    in_flight: Vec<InFlight>,
}

#[derive(Debug)]
struct InFlight {
    id: CallId,
    stream: HttpStream,
    target: Target,
    started: Instant,
    answer: Option<Answer>,
}

/// What is known of an answer since its head.
#[derive(Clone, Copy, Debug)]
struct Answer {
    status: u16,
    after: Duration,
    by_envoy: bool,
}

impl InFlight {
    /// How a call that Envoy calls complete went, for the statistics.
    fn outcome(&self) -> &'static str {
        match self.answer {
            Some(Answer { status: 504, by_envoy: true, .. }) => "timed_out",
            Some(Answer { status: 503, by_envoy: true, .. }) => "refused",
            _ => "completed",
        }
    }

    /// What the reset of its stream means. Envoy tells no reasons.
    fn reset(&self) -> Result<(), Failure> {
        match self.answer {
            // The end of an upgraded connection.
            Some(Answer { status: 101, .. }) => Ok(()),
            _ if self.target.whole && self.has_timed_out() => Err(Failure::TimedOut),
            _ => Err(Failure::Reset),
        }
    }

    fn has_timed_out(&self) -> bool {
        let timeout_ms = self.target.timeout_ms;
        timeout_ms > 0 && self.started.elapsed() + TIMER_SLACK >= Duration::from_millis(timeout_ms)
    }

    /// Records that it ended.
    fn record<EHF: EnvoyHttpFilter>(&self, envoy: &EHF, metrics: &Metrics, outcome: &str) {
        let duration = match self.answer {
            Some(answer) if !self.target.whole => answer.after,
            _ => self.started.elapsed(),
        };
        metrics.end_call(envoy, (&self.target.cluster, outcome), duration);
    }
}

/// The statistics' word for a failure.
fn outcome(failure: Failure) -> &'static str {
    match failure {
        Failure::NoCluster | Failure::Unavailable | Failure::TooMany => "refused",
        Failure::TimedOut => "timed_out",
        Failure::Overflow | Failure::TotalOverflow => "overflow",
        Failure::TooLarge => "too_large",
        Failure::Reset => "reset",
        Failure::Abandoned => "abandoned",
    }
}

impl UpstreamCalls {
    /// None yet.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, in_flight: Vec::new() }
    }

    /// Carries out what the owner thread has sent.
    pub fn carry_out<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, stream: &Arc<Stream>) -> Notice {
        let mut notice = Notice::None;
        while let Some(command) = stream.next_call_command() {
            match command {
                CallCommand::Start(id, outgoing) => {
                    if let Err(failure) = self.start(envoy, id, &outgoing) {
                        self.metrics.end_call(envoy, (&outgoing.target.cluster, outcome(failure)), Duration::ZERO);
                        notice = notice.or(stream.end_call(id, Err(failure)));
                    }
                }
                CallCommand::Data(id, bytes) => self.send(envoy, id, &bytes),
                CallCommand::End(id) => self.end(envoy, id),
                CallCommand::Cancel(id, failure) => {
                    if let Some(call) = self.take(|call| call.id == id) {
                        call.record(envoy, &self.metrics, outcome(failure));
                        call.stream.reset(envoy);
                    }
                }
            }
        }
        notice.or(stream.tell_call_writers())
    }

    fn start<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, id: CallId, outgoing: &Outgoing) -> Result<(), Failure> {
        let target = outgoing.target.clone();
        let started = Instant::now();
        let stream = egress::with_pairs(&outgoing.fields, None, |fields| {
            let opening = Opening {
                cluster: &target.cluster,
                fields,
                body: &outgoing.body,
                end_stream: !outgoing.body_follows,
                timeout_ms: target.timeout_ms,
            };
            HttpStream::start(envoy, &opening)
        });
        let stream = stream.map_err(|error| match error {
            InitResult::ClusterNotFound => Failure::NoCluster,
            _ => Failure::Unavailable,
        })?;
        self.in_flight.push(InFlight { id, stream, target, started, answer: None });
        Ok(())
    }

    fn send<EHF: EnvoyHttpFilter>(&self, envoy: &mut EHF, id: CallId, bytes: &[u8]) {
        if let Some(call) = self.in_flight.iter().find(|call| call.id == id) {
            call.stream.send(envoy, bytes, false);
        }
    }

    fn end<EHF: EnvoyHttpFilter>(&self, envoy: &mut EHF, id: CallId) {
        if let Some(call) = self.in_flight.iter().find(|call| call.id == id) {
            call.stream.send(envoy, b"", true);
        }
    }

    /// The head of an answer arrived.
    pub fn on_headers<EHF: EnvoyHttpFilter>(
        &mut self,
        envoy: &mut EHF,
        (handle, headers): (u64, &[(EnvoyBuffer, EnvoyBuffer)]),
        stream: &Arc<Stream>,
    ) -> Notice {
        let Some(call) = self.in_flight.iter_mut().find(|call| call.stream.is(handle)) else { return Notice::None };
        let (head, by_envoy) = head(headers);
        if by_envoy && head.status == 503 && head.fields.iter().any(|(name, _)| name == OVERLOADED) {
            // The rest of this answer finds no call any more.
            return self.fail(envoy, (handle, Failure::Unavailable), stream);
        }
        call.answer = Some(Answer { status: head.status, after: call.started.elapsed(), by_envoy });
        stream.land_call_head(call.id, head)
    }

    /// A piece of an answer's body arrived.
    pub fn on_data<EHF: EnvoyHttpFilter>(
        &mut self,
        envoy: &mut EHF,
        (handle, slices): (u64, &[EnvoyBuffer]),
        stream: &Arc<Stream>,
    ) -> Notice {
        let Some(call) = self.in_flight.iter().find(|call| call.stream.is(handle)) else { return Notice::None };
        let bytes = join(slices);
        if bytes.is_empty() {
            return Notice::None;
        }
        match stream.land_call(call.id, bytes) {
            Ok(notice) => notice,
            Err(failure) => self.fail(envoy, (handle, failure), stream),
        }
    }

    fn fail<EHF: EnvoyHttpFilter>(
        &mut self,
        envoy: &mut EHF,
        (handle, failure): (u64, Failure),
        stream: &Arc<Stream>,
    ) -> Notice {
        let Some(call) = self.take(|call| call.stream.is(handle)) else { return Notice::None };
        call.record(envoy, &self.metrics, outcome(failure));
        call.stream.reset(envoy);
        stream.end_call(call.id, Err(failure))
    }

    /// A call's stream ended: well, or by a reset.
    pub fn on_end<EHF: EnvoyHttpFilter>(
        &mut self,
        envoy: &EHF,
        (handle, complete): (u64, bool),
        stream: &Arc<Stream>,
    ) -> Notice {
        let Some(call) = self.take(|call| call.stream.is(handle)) else { return Notice::None };
        let end = if complete { Ok(()) } else { call.reset() };
        call.record(envoy, &self.metrics, end.map_or_else(outcome, |()| call.outcome()));
        stream.end_call(call.id, end)
    }

    /// The request has ended: resets what is in flight.
    pub fn abandon<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF) {
        for call in self.in_flight.drain(..) {
            call.record(envoy, &self.metrics, outcome(Failure::Abandoned));
            call.stream.reset(envoy);
        }
    }

    fn take(&mut self, wanted: impl Fn(&InFlight) -> bool) -> Option<InFlight> {
        let index = self.in_flight.iter().position(wanted)?;
        Some(self.in_flight.swap_remove(index))
    }
}

/// The head of an answer, and whether Envoy gave it itself.
fn head(headers: &[(EnvoyBuffer, EnvoyBuffer)]) -> (Head, bool) {
    let pairs = || headers.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
    let status = pairs().find(|(name, _)| *name == b":status").and_then(|(_, value)| std::str::from_utf8(value).ok());
    let fields: Fields = pairs().filter(|(name, _)| !name.starts_with(b":")).collect();
    let by_envoy = !pairs().any(|(name, _)| name == SERVICE_TIME);
    (Head { status: status.and_then(|status| status.parse().ok()).unwrap_or_default(), fields }, by_envoy)
}

fn join(slices: &[EnvoyBuffer]) -> Vec<u8> {
    let size = slices.iter().map(|slice| slice.as_slice().len()).sum();
    let mut bytes = Vec::with_capacity(size);
    for slice in slices {
        bytes.extend_from_slice(slice.as_slice());
    }
    bytes
}
