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
        Command::End(trailers) => envoy.send_response_trailers(&pairs(trailers, None)),
        Command::Reset => envoy.reset_stream(ResetReason::LocalReset, "ruvoy_response_failed"),
    }
}

fn send_head<EHF: EnvoyHttpFilter>(head: &Head, end_stream: bool, envoy: &mut EHF) {
    let status = head.status.to_string();
    envoy.send_response_headers(&pairs(&head.fields, Some(&status)), end_stream);
}

/// The fields as the SDK takes them. Names were checked to be tokens, which are ASCII.
pub fn pairs<'a>(fields: &'a Fields, status: Option<&'a str>) -> Vec<(&'a str, &'a [u8])> {
    let mut pairs = Vec::with_capacity(fields.len() + 1);
    pairs.extend(status.map(|status| (":status", status.as_bytes())));
    pairs.extend(fields.iter().filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value))));
    pairs
}
