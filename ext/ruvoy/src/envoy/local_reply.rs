//! The responses that the module gives itself, without Ruby.

use envoy_proxy_dynamic_modules_rust_sdk::EnvoyHttpFilter;

use crate::exchange::{Fields, Head, Refusal};

/// A status with its reason and one line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalReply {
    status: u16,
    /// The value of `x-ruvoy-error`.
    reason: &'static str,
    body: &'static str,
    /// Seconds, the value of `retry-after`.
    retry_after: Option<&'static str>,
}

/// The header that tells a response of the server's from one of the application's.
pub const ERROR_HEADER: &str = "x-ruvoy-error";

/// As many requests as allowed are in flight.
pub const OVERLOADED: LocalReply = unavailable("overloaded", "Too many requests in flight\n");
/// The process is about to end.
pub const SHUTTING_DOWN: LocalReply = unavailable("shutting-down", "Shutting down\n");
/// The VM or its reactor has ended.
pub const GONE: LocalReply = unavailable("vm-gone", "Service unavailable\n");
/// The body is larger than `limits.request_body_bytes`.
pub const BODY_TOO_LARGE: LocalReply = refused(413, "body-too-large", "Request body too large\n");
/// CONNECT asks for a tunnel; Rack has no way to say it.
pub const CONNECT: LocalReply = refused(400, "connect", "CONNECT is not supported\n");
/// The host is none, or there is more than one.
pub const BAD_HOST: LocalReply = refused(400, "bad-host", "Bad host\n");
/// The scheme is neither `http` nor `https`.
pub const BAD_SCHEME: LocalReply = refused(400, "bad-scheme", "Bad scheme\n");
/// The target is longer than any that an application would make.
pub const TARGET_TOO_LONG: LocalReply = refused(414, "target-too-long", "Request target too long\n");
/// The target is neither a path nor the `*` of OPTIONS.
pub const BAD_TARGET: LocalReply = refused(400, "bad-target", "Bad request target\n");

const fn unavailable(reason: &'static str, body: &'static str) -> LocalReply {
    LocalReply { status: 503, reason, body, retry_after: Some("1") }
}

const fn refused(status: u16, reason: &'static str, body: &'static str) -> LocalReply {
    LocalReply { status, reason, body, retry_after: None }
}

impl From<Refusal> for LocalReply {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Overloaded => OVERLOADED,
            Refusal::ShuttingDown => SHUTTING_DOWN,
            Refusal::Gone => GONE,
        }
    }
}

impl LocalReply {
    /// What goes into `x-ruvoy-error`, and into the statistics.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static [u8])> {
        let fixed = [("content-type", "text/plain"), (ERROR_HEADER, self.reason)];
        let retry_after = self.retry_after.map(|seconds| ("retry-after", seconds));
        fixed.into_iter().chain(retry_after).map(|(name, value)| (name, value.as_bytes()))
    }

    /// Sends it as Envoy's local reply.
    pub fn send<EHF: EnvoyHttpFilter>(&self, envoy: &mut EHF) {
        let fields: Vec<_> = self.fields().collect();
        let details = format!("ruvoy_{}", self.reason.replace('-', "_"));
        envoy.send_response(u32::from(self.status), &fields, Some(self.body.as_bytes()), Some(&details));
    }

    /// Head and body, for a stream's mailbox.
    pub fn response(&self) -> (Head, Vec<u8>) {
        let mut fields: Fields = self.fields().map(|(name, value)| (name.as_bytes(), value)).collect();
        fields.push_number(b"content-length", self.body.len());
        (Head { status: self.status, fields }, self.body.as_bytes().to_vec())
    }
}
