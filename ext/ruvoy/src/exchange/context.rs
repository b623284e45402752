//! What `env["ruvoy.context"]` is made of, owned: copied on the worker, read on the owner thread.

/// What Envoy knows of a request beyond HTTP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The name of the route; none if it has none.
    pub route_name: Option<Vec<u8>>,
    /// The client's connection.
    pub connection: Connection,
    /// Its TLS; none on plaintext.
    pub tls: Option<Tls>,
    /// What filters ahead of this one set for the stream, in the configured namespaces.
    pub dynamic_metadata: Metadata,
    /// What the route says, in the configured namespaces.
    pub route_metadata: Metadata,
}

/// A client's connection; addresses without ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Envoy's number for it.
    pub id: u64,
    /// Where the client is.
    pub source_address: Vec<u8>,
    /// The client's port.
    pub source_port: u64,
    /// Where it connected to.
    pub destination_address: Vec<u8>,
    /// The port that it connected to.
    pub destination_port: u64,
    /// Such as `HTTP/2`.
    pub protocol: Vec<u8>,
}

/// The TLS of a client's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Such as `TLSv1.3`.
    pub version: Vec<u8>,
    /// The name that the client asked for.
    pub server_name: Option<Vec<u8>>,
    /// Whether the client showed a certificate that was accepted.
    pub mtls: bool,
    /// The client's certificate, if it showed one.
    pub peer_certificate: Option<Certificate>,
}

/// What Envoy tells of a certificate: of alternative names only the first of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The subject's distinguished name.
    pub subject: Option<Vec<u8>>,
    /// The first URI among the subject's alternative names.
    pub uri_san: Option<Vec<u8>>,
    /// The first DNS name among them.
    pub dns_san: Option<Vec<u8>>,
    /// The digest of the whole certificate, in hexadecimal digits.
    pub sha256_digest: Option<Vec<u8>>,
}

/// Namespaces with their keys and values.
pub type Metadata = Vec<(Vec<u8>, Vec<(Vec<u8>, Item)>)>;

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Protocol Buffers know no integers here.
    Number(f64),
    /// A text.
    String(Vec<u8>),
    /// A truth value.
    Bool(bool),
    /// Several of these.
    List(Vec<Item>),
}

/// The part of `address:port` before the port, IPv6 without brackets.
pub fn without_port(address: &[u8]) -> &[u8] {
    let host_end = address.iter().rposition(|&byte| byte == b':').unwrap_or(address.len());
    let host = &address[..host_end];
    host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(without_port(b"192.0.2.1:5000"), b"192.0.2.1");
        assert_eq!(without_port(b"[2001:db8::1]:5000"), b"2001:db8::1");
        assert_eq!(without_port(b""), b"");
    }
}
