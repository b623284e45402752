//! From a stream's mailbox to Envoy's response.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter, abi::envoy_dynamic_module_type_http_filter_stream_reset_reason as ResetReason,
};

use super::{local_reply, metrics::Outcome};
use crate::exchange::{Command, Fields, Head};

/// How the request ends with this command, if it does.
pub fn outcome(command: &Command) -> Option<Outcome> {
    match command {
        Command::Informational(_) | Command::Head(_) | Command::Data(_) => None,
        Command::Complete(head, _) if is_failure(head) => Some(Outcome::Failed),
        Command::Complete(..) | Command::End(_) => Some(Outcome::Completed),
        Command::Reset => Some(Outcome::Failed),
    }
}

/// Whether a response is the server's own answer to a failure.
fn is_failure(head: &Head) -> bool {
    head.status >= 500 && head.fields.iter().any(|(name, _)| name == local_reply::ERROR_HEADER.as_bytes())
}

/// Carries out one command. If it ends the request, the stream may be gone afterwards.
pub fn carry_out<EHF: EnvoyHttpFilter>(command: &Command, envoy: &mut EHF) {
    match command {
        Command::Informational(head) | Command::Head(head) => send_head(head, false, envoy),
        Command::Complete(head, body) => {
            send_head(head, body.is_empty(), envoy);
            if !body.is_empty() {
                envoy.send_response_data(body, true);
            }
        }
        Command::Data(bytes) => envoy.send_response_data(bytes, false),
        Command::End(trailers) if trailers.is_empty() => envoy.send_response_data(b"", true),
        Command::End(trailers) => with_pairs(trailers, None, |pairs| envoy.send_response_trailers(pairs)),
        Command::Reset => envoy.reset_stream(ResetReason::LocalReset, "ruvoy_response_failed"),
    }
}

fn send_head<EHF: EnvoyHttpFilter>(head: &Head, end_stream: bool, envoy: &mut EHF) {
    let digit = |power: u16| b"0123456789"[usize::from(head.status / power % 10)];
    let status = [digit(100), digit(10), digit(1)];
    with_pairs(&head.fields, Some(&status), |pairs| envoy.send_response_headers(pairs, end_stream));
}

/// So many fields, the status among them, take no memory of the heap.
const PAIRS_ON_STACK: usize = 32;

/// The fields as the SDK takes them. Names were checked to be tokens, which are ASCII.
pub fn with_pairs<R>(fields: &Fields, status: Option<&[u8]>, send: impl FnOnce(&[(&str, &[u8])]) -> R) -> R {
    let status = status.map(|status| (":status", status));
    let named = fields.iter().filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value)));
    let pairs = status.into_iter().chain(named);
    if fields.len() >= PAIRS_ON_STACK {
        return send(&pairs.collect::<Vec<_>>());
    }
    let mut array = [("", &b""[..]); PAIRS_ON_STACK];
    let mut count = 0;
    for (place, pair) in array.iter_mut().zip(pairs) {
        *place = pair;
        count += 1;
    }
    send(&array[..count])
}
