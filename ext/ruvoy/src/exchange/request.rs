//! One request's head, owned: made on the worker, read on the owner thread.

use super::fields::Fields;

/// What the worker copied of a request when its headers arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: Vec<u8>,
    /// The raw request target with its query, such as `/a%2Fb?c=d`.
    pub target: Vec<u8>,
    /// `http` or `https`.
    pub scheme: Vec<u8>,
    /// The authority (`Host`), empty if the client gave none.
    pub authority: Vec<u8>,
    /// Such as `HTTP/1.1`.
    pub protocol: Vec<u8>,
    /// The client's address and port as Envoy has it, such as `192.0.2.1:5000` or `[::1]:5000`.
    pub peer: Vec<u8>,
    /// All other header fields.
    pub headers: Fields,
    /// Whether a body follows the headers.
    pub has_body: bool,
}
