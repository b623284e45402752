//! One request's head, owned and in one allocation: made on the worker, read on the owner thread.

use super::{
    calls::Upstream,
    context::Context,
    fields::{Fields, Iter},
    sync::Arc,
};

/// What the filter's configuration offers the application beyond Rack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions {
    /// For `env["ruvoy.context"]`, if it is configured.
    pub context: Option<Arc<Context>>,
    /// For `env["ruvoy.upstream"]`, if it is configured.
    pub upstream: Option<Arc<Upstream>>,
}

/// What is not a header field of a request, as Envoy has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line<'a> {
    /// The method, such as `GET`.
    pub method: &'a [u8],
    /// The raw request target with its query, such as `/a%2Fb?c=d`.
    pub target: &'a [u8],
    /// `http` or `https`.
    pub scheme: &'a [u8],
    /// The authority (`Host`), empty if the client gave none.
    pub authority: &'a [u8],
    /// Such as `HTTP/1.1`.
    pub protocol: &'a [u8],
    /// The client's address and port, such as `192.0.2.1:5000` or `[::1]:5000`.
    pub peer: &'a [u8],
}

/// What the worker copied of a request when its headers arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The parts of the line, nameless, and then the header fields.
    fields: Fields,
    /// Whether a body follows the headers.
    pub has_body: bool,
    /// Whether the client holds the body back until it is asked for it.
    pub expects_continue: bool,
    /// Whether the client asks for an upgrade of the connection.
    pub asks_for_upgrade: bool,
    /// What the configuration offers beyond Rack.
    pub extensions: Extensions,
}

impl Request {
    /// Copies `line`, leaving room for header fields of `headers_bytes` bytes with their lengths.
    pub fn new(line: Line<'_>, headers_bytes: usize, has_body: bool) -> Self {
        let parts = [line.method, line.target, line.scheme, line.authority, line.protocol, line.peer];
        let parts_bytes: usize = parts.iter().map(|part| Fields::size(b"", part)).sum();
        let mut fields = Fields::with_capacity(parts_bytes + headers_bytes);
        for part in parts {
            fields.push(b"", part);
        }
        Self { fields, has_body, ..Self::default() }
    }

    /// Whether the client wants no body.
    pub fn is_head(&self) -> bool {
        // The method is the first part.
        self.fields.iter().next().is_some_and(|(_, method)| method == b"HEAD")
    }

    /// Copies a header field.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.fields.push(name, value);
    }

    /// The line, and the header fields in order.
    pub fn parts(&self) -> (Line<'_>, Iter<'_>) {
        let mut fields = self.fields.iter();
        let mut part = || fields.next().map(|(_, value)| value).unwrap_or_default();
        let line =
            Line { method: part(), target: part(), scheme: part(), authority: part(), protocol: part(), peer: part() };
        (line, fields)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_parts_come_back() {
        let line = Line { method: b"GET", target: b"/a", scheme: b"http", peer: b"[::1]:5", ..Line::default() };
        let mut request = Request::new(line, 0, false);
        request.push(b"accept", b"*/*");
        let (parts, headers) = request.parts();
        assert_eq!(parts, line);
        assert_eq!(headers.collect::<Vec<_>>(), [(&b"accept"[..], &b"*/*"[..])]);
    }
}
