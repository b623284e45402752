//! From Envoy's request to an owned one: the copies that a stream makes on its worker.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer, EnvoyHttpFilter, EnvoyMutBuffer, abi::envoy_dynamic_module_type_attribute_id as Attribute,
};

use super::local_reply::{self, LocalReply};
use crate::exchange::{Fields, Line, Request};

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
    let mut size = 0;
    for (name, value) in &headers {
        let value = value.as_slice();
        match name.as_slice() {
            b":method" => line.method = value,
            b":path" => line.target = value,
            b":scheme" => line.scheme = value,
            b":authority" => line.authority = value,
            name => size += Fields::size(name, value),
        }
    }
    if line.method == b"CONNECT" {
        return Err(local_reply::CONNECT);
    }
    if !line.target.starts_with(b"/") && line.target != b"*" {
        return Err(local_reply::BAD_TARGET);
    }
    let mut request = Request::new(line, size, has_body);
    for (name, value) in headers.iter().filter(|(name, _)| is_for_rack(name.as_slice())) {
        request.push(name.as_slice(), value.as_slice());
    }
    Ok(request)
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
