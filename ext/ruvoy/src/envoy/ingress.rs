//! From Envoy's request to an owned one: the copies that a stream makes on its worker.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyBuffer, EnvoyHttpFilter, EnvoyMutBuffer, abi::envoy_dynamic_module_type_attribute_id as Attribute,
};

use super::local_reply::{self, LocalReply};
use crate::exchange::{Fields, Request};

/// Copies the head of a request.
///
/// # Errors
///
/// The answer to a request that Rack has no way to represent.
pub fn request<EHF: EnvoyHttpFilter>(envoy: &EHF, has_body: bool) -> Result<Request, LocalReply> {
    let headers = envoy.get_request_headers();
    let size: usize = headers.iter().map(|(name, value)| name.as_slice().len() + value.as_slice().len() + 8).sum();
    let mut request = Request { headers: Fields::with_capacity(size), has_body, ..Request::default() };
    for (name, value) in &headers {
        let (name, value) = (name.as_slice(), value.as_slice());
        match name {
            b":method" => request.method = value.to_vec(),
            b":path" => request.target = value.to_vec(),
            b":scheme" => request.scheme = value.to_vec(),
            b":authority" => request.authority = value.to_vec(),
            _ if is_for_rack(name) => request.headers.push(name, value),
            _ => {}
        }
    }
    if request.method == b"CONNECT" {
        return Err(local_reply::CONNECT);
    }
    if !request.target.starts_with(b"/") && request.target != b"*" {
        return Err(local_reply::BAD_TARGET);
    }
    request.protocol = attribute(envoy, Attribute::RequestProtocol);
    request.peer = attribute(envoy, Attribute::SourceAddress);
    Ok(request)
}

/// Whether a field may become an `HTTP_` variable. Names with an underscore would be taken for
/// those with a hyphen, `Proxy` for the variable of that name (<https://httpoxy.org>), and the
/// body is no longer in its transfer coding.
fn is_for_rack(name: &[u8]) -> bool {
    !matches!(name, b"proxy" | b"transfer-encoding") && !name.starts_with(b":") && !name.contains(&b'_')
}

fn attribute<EHF: EnvoyHttpFilter>(envoy: &EHF, id: Attribute) -> Vec<u8> {
    envoy.get_attribute_string(id).map(|value| value.as_slice().to_vec()).unwrap_or_default()
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
