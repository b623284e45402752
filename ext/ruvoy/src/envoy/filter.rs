//! The terminal HTTP filter: one stream's callbacks, on its worker.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer, EnvoyHttpFilter, EnvoyHttpFilterScheduler, HttpFilter,
    abi::{
        envoy_dynamic_module_type_http_filter_stream_reset_reason as ResetReason,
        envoy_dynamic_module_type_http_stream_reset_reason as CallResetReason,
        envoy_dynamic_module_type_on_http_filter_request_body_status as BodyStatus,
        envoy_dynamic_module_type_on_http_filter_request_headers_status as HeadersStatus,
        envoy_dynamic_module_type_on_http_filter_request_trailers_status as TrailersStatus,
    },
};

use super::{
    bell::{BELL, Bell},
    egress, ingress,
    local_reply::{self, LocalReply},
    metrics::{Metrics, Outcome},
    offers::Offers,
    upstream::UpstreamCalls,
};
use crate::{
    counts::{Count, count},
    exchange::{Arc, Commit, Exchange, Fields, Limits, MAIL, Notice, Progress, Stream},
};

/// One stream.
pub struct RackFilter {
    exchange: Arc<Exchange>,
    limits: Limits,
    metrics: Metrics,
    offers: Option<Arc<Offers>>,
    /// The shared state, from admission until the stream ends.
    stream: Option<Arc<Stream>>,
    bell: Bell,
    upload: Upload,
    calls: UpstreamCalls,
    /// How often the client's connection is above its high watermark.
    above_watermark: u32,
}

/// How far the request body has come.
#[derive(Default)]
struct Upload {
    received: u64,
    /// Envoy has the whole body.
    ended: bool,
    /// Envoy holds a part of it for us.
    held_by_envoy: bool,
    trailers: Option<Fields>,
}

/// Commits to a stream's worker.
struct Scheduler<S>(S);

impl<S: EnvoyHttpFilterScheduler> Commit for Scheduler<S> {
    fn commit(&self, event: u64) {
        count(if event == MAIL { Count::Commit } else { Count::Bell });
        self.0.commit(event);
    }
}

impl RackFilter {
    /// A filter whose request is not known yet.
    pub fn new(exchange: Arc<Exchange>, limits: Limits, metrics: Metrics, offers: Option<Arc<Offers>>) -> Self {
        Self {
            exchange,
            limits,
            metrics,
            offers,
            stream: None,
            bell: Bell::default(),
            upload: Upload::default(),
            calls: UpstreamCalls::new(metrics),
            above_watermark: 0,
        }
    }

    /// Admits the request and hands it over; the error is the answer to a request that is not admitted.
    fn admit<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, has_body: bool) -> Result<(), LocalReply> {
        let admission = self.exchange.admit(&self.limits)?;
        if let Some(limit) = self.limits.request_body_bytes
            && ingress::content_length(envoy).is_some_and(|length| length > limit)
        {
            return Err(local_reply::BODY_TOO_LARGE);
        }
        let mut request = ingress::request(envoy, has_body)?;
        if let Some(offers) = &self.offers {
            request.extensions = offers.extensions(envoy);
        }
        let scheduler = Box::new(Scheduler(envoy.new_scheduler()));
        let stream = Stream::new(admission, self.limits, request, scheduler);
        let notice = stream.submit().map_err(|_| local_reply::GONE)?;
        self.metrics.admit(envoy);
        self.bell.ring_soon(notice, &stream);
        self.stream = Some(stream);
        Ok(())
    }

    /// Lands what was just received, as far as there is room and nothing older waits in Envoy.
    fn receive<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, size: usize, stream: &Arc<Stream>) {
        if size == 0 {
            return;
        }
        let room = if self.upload.held_by_envoy { 0 } else { stream.input_room().min(size) };
        let chunk = match envoy.get_received_request_body() {
            Some(slices) if room > 0 => ingress::copy(&slices, room),
            _ => Vec::new(),
        };
        envoy.drain_received_request_body(chunk.len());
        // What is left joins the body that Envoy holds when this hook returns.
        self.land(chunk, size, stream);
    }

    /// Lands what Envoy holds, as far as there is room.
    fn pull<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, stream: &Arc<Stream>) {
        let size = envoy.get_buffered_request_body_size();
        let room = stream.input_room().min(size);
        let chunk = match envoy.get_buffered_request_body() {
            Some(slices) if room > 0 => ingress::copy(&slices, room),
            _ => Vec::new(),
        };
        if !chunk.is_empty() {
            envoy.drain_buffered_request_body(chunk.len());
        }
        self.land(chunk, size, stream);
        self.land_end(stream);
    }

    /// Lands a chunk, the first of `size` bytes that Envoy had.
    fn land(&mut self, chunk: Vec<u8>, size: usize, stream: &Arc<Stream>) {
        self.upload.held_by_envoy = chunk.len() < size;
        let notice = stream.land(chunk, self.upload.held_by_envoy);
        self.bell.ring_soon(notice, stream);
    }

    fn land_end(&mut self, stream: &Arc<Stream>) {
        if self.upload.ended && !self.upload.held_by_envoy {
            let notice = stream.land_end(self.upload.trailers.take());
            self.bell.ring_soon(notice, stream);
        }
    }

    /// Answers a body that turned out too large, or resets the stream if a response is under way.
    fn refuse_body<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, stream: &Arc<Stream>) {
        let progress = stream.progress();
        self.end(envoy, Outcome::Failed);
        if progress == Progress::Nothing {
            local_reply::BODY_TOO_LARGE.send(envoy);
        } else {
            envoy.reset_stream(ResetReason::LocalReset, "ruvoy_body_too_large");
        }
    }

    /// Carries out what the owner thread has sent.
    fn open_mailbox<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, stream: &Arc<Stream>) {
        if stream.open_mailbox() {
            self.pull(envoy, stream);
        }
        if stream.extensions().upstream.is_some() {
            let notice = self.calls.carry_out(envoy, stream);
            self.bell.ring_soon(notice, stream);
        }
        while let Some(command) = stream.next_command(self.above_watermark > 0) {
            // Before the command is carried out: the stream may be gone when that returns.
            let outcome = egress::outcome(&command);
            if let Some(outcome) = outcome {
                self.end(envoy, outcome);
            }
            egress::carry_out(&command, envoy);
            if outcome.is_some() {
                return;
            }
        }
        let notice = stream.close_mailbox();
        self.bell.ring_soon(notice, stream);
    }

    /// Something of an upstream call's answer arrived.
    fn answer(&mut self, take: impl FnOnce(&mut UpstreamCalls, &Arc<Stream>) -> Notice) {
        if let Some(stream) = self.stream.clone() {
            let notice = take(&mut self.calls, &stream);
            self.bell.ring_soon(notice, &stream);
        }
    }

    /// Lets go of the shared state and counts the request out.
    fn end<EHF: EnvoyHttpFilter>(&mut self, envoy: &mut EHF, outcome: Outcome) {
        self.calls.abandon(envoy);
        if let Some(stream) = &self.stream {
            self.metrics.end(envoy, stream, outcome);
        }
        self.close();
    }

    /// Lets go of the shared state; an unfinished request is cancelled.
    fn close(&mut self) {
        if let Some(stream) = self.stream.take() {
            if stream.close() == Notice::Ring {
                stream.exchange().ring();
            }
            // Events of an ended stream are not delivered.
            self.bell.ring(&stream);
        }
    }
}

impl<EHF: EnvoyHttpFilter> HttpFilter<EHF> for RackFilter {
    fn on_request_headers(&mut self, envoy_filter: &mut EHF, end_of_stream: bool) -> HeadersStatus {
        if let Err(reply) = self.admit(envoy_filter, !end_of_stream) {
            self.metrics.reject(envoy_filter, reply.reason());
            reply.send(envoy_filter);
        }
        HeadersStatus::StopIteration
    }

    fn on_request_body(&mut self, envoy_filter: &mut EHF, end_of_stream: bool) -> BodyStatus {
        // A request that was answered already.
        let Some(stream) = self.stream.clone() else { return BodyStatus::StopIterationNoBuffer };
        let size = envoy_filter.get_received_request_body_size();
        self.upload.received += size as u64;
        self.upload.ended |= end_of_stream;
        if self.limits.request_body_bytes.is_some_and(|limit| self.upload.received > limit) {
            self.refuse_body(envoy_filter, &stream);
            return BodyStatus::StopIterationNoBuffer;
        }
        self.receive(envoy_filter, size, &stream);
        self.land_end(&stream);
        BodyStatus::StopIterationAndWatermark
    }

    fn on_request_trailers(&mut self, envoy_filter: &mut EHF) -> TrailersStatus {
        if let Some(stream) = self.stream.clone() {
            self.upload.ended = true;
            self.upload.trailers = Some(ingress::trailers(&envoy_filter.get_request_trailers()));
            self.land_end(&stream);
        }
        TrailersStatus::StopIteration
    }

    fn on_scheduled(&mut self, envoy_filter: &mut EHF, event_id: u64) {
        let Some(stream) = self.stream.clone() else { return };
        match event_id {
            MAIL => self.open_mailbox(envoy_filter, &stream),
            BELL => self.bell.ring(&stream),
            _ => {}
        }
    }

    fn on_http_stream_headers(
        &mut self,
        envoy_filter: &mut EHF,
        handle: u64,
        headers: &[(EnvoyBuffer, EnvoyBuffer)],
        _end_stream: bool,
    ) {
        self.answer(|calls, stream| calls.on_headers(envoy_filter, (handle, headers), stream));
    }

    fn on_http_stream_data(&mut self, envoy_filter: &mut EHF, handle: u64, data: &[EnvoyBuffer], _end_stream: bool) {
        self.answer(|calls, stream| calls.on_data(envoy_filter, (handle, data), stream));
    }

    fn on_http_stream_complete(&mut self, envoy_filter: &mut EHF, handle: u64) {
        self.answer(|calls, stream| calls.on_end(envoy_filter, (handle, true), stream));
    }

    fn on_http_stream_reset(&mut self, envoy_filter: &mut EHF, handle: u64, _reason: CallResetReason) {
        self.answer(|calls, stream| calls.on_end(envoy_filter, (handle, false), stream));
    }

    fn on_downstream_above_write_buffer_high_watermark(&mut self, _envoy_filter: &mut EHF) {
        self.above_watermark += 1;
    }

    fn on_downstream_below_write_buffer_low_watermark(&mut self, _envoy_filter: &mut EHF) {
        self.above_watermark = self.above_watermark.saturating_sub(1);
        if let (0, Some(stream)) = (self.above_watermark, &self.stream) {
            // Not at once: Envoy calls this while it writes, and a response that ends meanwhile takes
            // the stream away under it.
            stream.commit_event(MAIL);
        }
    }

    fn on_stream_complete(&mut self, envoy_filter: &mut EHF) {
        self.end(envoy_filter, Outcome::Cancelled);
    }
}

impl Drop for RackFilter {
    fn drop(&mut self) {
        self.close();
    }
}
