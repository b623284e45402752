//! From Envoy's request to an owned one: the copies that a stream makes on its worker.

use std::net::Ipv6Addr;

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer, EnvoyHttpFilter, EnvoyMutBuffer, abi::envoy_dynamic_module_type_attribute_id as Attribute,
};

use super::local_reply::{self, LocalReply};
use crate::exchange::{Fields, Line, Request};

/// The longest request target, in bytes. Recipients should take 8,000 at least (RFC 9112 section 3).
const MAX_TARGET_BYTES: usize = 16 * 1024;

/// Copies the head of a request.
///
/// # Errors
///
/// The answer to a request that Rack has no way to represent.
pub fn request<EHF: EnvoyHttpFilter>(envoy: &EHF, has_body: bool) -> Result<Request, LocalReply> {
    let headers = envoy.get_request_headers();
    let protocol = envoy.get_attribute_string(Attribute::RequestProtocol).unwrap_or_default();
    let peer = envoy.get_attribute_string(Attribute::SourceAddress).unwrap_or_default();
    let mut line = Line { protocol: protocol.as_slice(), peer: peer.as_slice(), ..Line::default() };
    let mut forwarded_scheme: &[u8] = b"";
    let mut size = 0;
    for (name, value) in &headers {
        let value = value.as_slice();
        match name.as_slice() {
            b":method" => line.method = value,
            b":path" => line.target = value,
            b":scheme" => line.scheme = value,
            b":authority" => line.authority = value,
            name => {
                size += Fields::size(name, value);
                if name == b"x-forwarded-proto" {
                    forwarded_scheme = value;
                }
            }
        }
    }
    // What the connection is, or what a trusted proxy says that the client's is: Envoy sees to that. An
    // HTTP/2 client chooses its `:scheme` freely.
    if is_scheme(forwarded_scheme) {
        line.scheme = forwarded_scheme;
    }
    if line.method == b"CONNECT" {
        return Err(local_reply::CONNECT);
    }
    if !is_authority(line.authority) {
        return Err(local_reply::BAD_HOST);
    }
    if line.target.len() > MAX_TARGET_BYTES {
        return Err(local_reply::TARGET_TOO_LONG);
    }
    if !line.target.starts_with(b"/") && line.target != b"*" {
        return Err(local_reply::BAD_TARGET);
    }
    if !is_scheme(line.scheme) {
        return Err(local_reply::BAD_SCHEME);
    }
    let mut request = Request::new(line, size, has_body);
    for (name, value) in headers.iter().filter(|(name, _)| is_for_rack(name.as_slice())) {
        let (name, value) = (name.as_slice(), value.as_slice());
        // HTTP/1.0 knows no 1xx (RFC 9110 section 10.1.1).
        request.expects_continue |=
            name == b"expect" && value.eq_ignore_ascii_case(b"100-continue") && line.protocol != b"HTTP/1.0";
        request.asks_for_upgrade |= name == b"upgrade";
        request.push(name, value);
    }
    Ok(request)
}

/// Whether Rack knows the scheme.
fn is_scheme(scheme: &[u8]) -> bool {
    matches!(scheme, b"http" | b"https")
}

/// Whether an authority is a host, perhaps with a port, or empty. Anything else has to be refused, and
/// so has more than one Host (RFC 9112 section 3.2), which Envoy joins with a comma.
fn is_authority(authority: &[u8]) -> bool {
    let host_end = if authority.starts_with(b"[") {
        authority.iter().position(|&byte| byte == b']').map(|at| at + 1)
    } else {
        authority.iter().position(|&byte| byte == b':')
    };
    let (host, port) = authority.split_at(host_end.unwrap_or(authority.len()));
    let literal = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
    let host_fits = match literal {
        Some(address) => std::str::from_utf8(address).is_ok_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => is_name(host),
    };
    let port_fits = match port {
        [] => true,
        [b':', port @ ..] => !host.is_empty() && port.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    host_fits && port_fits
}

/// Whether a host is a registered name or an IPv4 address (RFC 3986 section 3.2.2), but for the comma.
fn is_name(mut host: &[u8]) -> bool {
    while let [first, rest @ ..] = host {
        host = match (first, rest) {
            (b'%', [high, low, rest @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => rest,
            (byte, rest) if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=".contains(byte) => rest,
            _ => return false,
        };
    }
    true
}

/// Whether a field may become an `HTTP_` variable. Names with an underscore would be taken for
/// those with a hyphen, `Proxy` for the variable of that name (<https://httpoxy.org>), and the
/// body is no longer in its transfer coding.
fn is_for_rack(name: &[u8]) -> bool {
    !matches!(name, b"proxy" | b"transfer-encoding") && !name.starts_with(b":") && !name.contains(&b'_')
}

/// The declared length of the body, if there is one that can be read.
pub fn content_length<EHF: EnvoyHttpFilter>(envoy: &EHF) -> Option<u64> {
    let value = envoy.get_request_header_value("content-length")?;
    std::str::from_utf8(value.as_slice()).ok()?.trim().parse().ok()
}

/// Copies trailers.
pub fn trailers(pairs: &[(EnvoyBuffer, EnvoyBuffer)]) -> Fields {
    let pairs = pairs.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
    pairs.collect()
}

/// Copies the first `count` bytes of a body's slices.
pub fn copy(slices: &[EnvoyMutBuffer], count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count);
    for slice in slices {
        let slice = slice.as_slice();
        let wanted = (count - bytes.len()).min(slice.len());
        bytes.extend_from_slice(&slice[..wanted]);
    }
    bytes
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn authorities() {
        for good in
            ["", "a.test", "a_b.test:80", "a.test:", "[::1]", "[::ffff:192.0.2.1]:81", "192.0.2.1:8080", "%C3%BC.test"]
        {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "a.te%st",
            "a.test%",
            "a.test%2",
            "a.test,b.test",
            "u@a.test",
            "a.test:x",
            "a.test:80:80",
            ":80",
            "a.t%est",
            "a%4",
            "[::zz]",
            "[fe80::1%25eth0]",
            "[::1",
            "[::1]x",
            "a/b",
            "a b",
            "\u{fc}.test",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }
}
