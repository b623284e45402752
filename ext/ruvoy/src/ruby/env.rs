//! Builds the Rack env of a request: the one place where Rust knows Rack's names, for speed.
//!
//! <https://github.com/rack/rack/blob/main/SPEC.rdoc#the-environment->

use std::collections::HashMap;

use magnus::{
    Error, RHash, RString, Ruby,
    value::{InnerValue, Opaque, ReprValue},
};

use crate::{
    exchange::{Request, without_port},
    ffi,
};

/// Header names beyond this many are made anew each time: clients choose them.
const MAX_KNOWN_HEADERS: usize = 512;

/// The env keys that every request has.
struct Keys {
    method: Opaque<RString>,
    path: Opaque<RString>,
    query: Opaque<RString>,
    uri: Opaque<RString>,
    server_name: Opaque<RString>,
    server_port: Opaque<RString>,
    server_protocol: Opaque<RString>,
    remote_addr: Opaque<RString>,
    scheme: Opaque<RString>,
    host: Opaque<RString>,
    protocol: Opaque<RString>,
}

/// Makes envs, remembering the strings that requests have in common.
pub struct EnvBuilder {
    template: Opaque<RHash>,
    keys: Keys,
    /// Values that recur: methods, schemes, protocols and ports.
    values: HashMap<Vec<u8>, Opaque<RString>>,
    headers: HashMap<Vec<u8>, Opaque<RString>>,
    empty: Opaque<RString>,
}

impl EnvBuilder {
    /// A builder whose envs begin as copies of `template`.
    pub fn new(ruby: &Ruby, template: RHash) -> Self {
        ruby.gc_register_mark_object(template);
        let key = |name: &str| permanent(ruby, name.as_bytes());
        let values = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "http", "https", "80", "443"];
        let protocols = ["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"];
        let values = values.iter().chain(&protocols);
        Self {
            template: template.into(),
            keys: Keys {
                method: key("REQUEST_METHOD"),
                path: key("PATH_INFO"),
                query: key("QUERY_STRING"),
                uri: key("REQUEST_URI"),
                server_name: key("SERVER_NAME"),
                server_port: key("SERVER_PORT"),
                server_protocol: key("SERVER_PROTOCOL"),
                remote_addr: key("REMOTE_ADDR"),
                scheme: key("rack.url_scheme"),
                host: key("HTTP_HOST"),
                protocol: key("rack.protocol"),
            },
            values: values.map(|value| (value.as_bytes().to_vec(), permanent(ruby, value.as_bytes()))).collect(),
            headers: HashMap::new(),
            empty: permanent(ruby, b""),
        }
    }

    /// The env of `request`.
    ///
    /// # Errors
    ///
    /// NoMemoryError.
    pub fn build(&mut self, ruby: &Ruby, request: &Request) -> Result<RHash, Error> {
        let env = ffi::value::duplicate(ruby, self.template.get_inner_with(ruby))?;
        let set = |key: Opaque<RString>, value: RString| env.aset(key.get_inner_with(ruby), value);
        let (line, headers) = request.parts();
        let (path, query) = split_target(line.target);
        let (name, port) = split_authority(line.authority);
        let port = port.unwrap_or(if line.scheme == b"https" { b"443" } else { b"80" });
        set(self.keys.method, self.value(ruby, line.method))?;
        set(self.keys.path, ruby.str_from_slice(path))?;
        set(self.keys.query, self.value(ruby, query))?;
        set(self.keys.uri, ruby.str_from_slice(line.target))?;
        set(self.keys.server_name, ruby.str_from_slice(name))?;
        set(self.keys.server_port, self.value(ruby, port))?;
        set(self.keys.server_protocol, self.value(ruby, line.protocol))?;
        set(self.keys.remote_addr, ruby.str_from_slice(without_port(line.peer)))?;
        set(self.keys.scheme, self.value(ruby, line.scheme))?;
        if !line.authority.is_empty() {
            set(self.keys.host, ruby.str_from_slice(line.authority))?;
        }
        for (name, value) in headers {
            self.header(ruby, env, (name, value))?;
        }
        Ok(env)
    }

    fn header(&mut self, ruby: &Ruby, env: RHash, (name, value): (&[u8], &[u8])) -> Result<(), Error> {
        if name == b"upgrade" {
            let list = ruby.ary_new();
            for protocol in value.split(|&byte| byte == b',') {
                list.push(ruby.str_from_slice(protocol.trim_ascii()))?;
            }
            env.aset(self.keys.protocol.get_inner_with(ruby), list)?;
        }
        let key = self.header_key(ruby, name).get_inner_with(ruby);
        let value = ruby.str_from_slice(value);
        match env.get(key).and_then(RString::from_value) {
            Some(earlier) => {
                let joined = ffi::value::with_bytes(earlier, <[u8]>::to_vec);
                let joined = ruby.str_from_slice(&joined);
                joined.cat(separator(name));
                joined.buf_append(value)?;
                env.aset(key, joined)
            }
            None => env.aset(key, value),
        }
    }

    fn header_key(&mut self, ruby: &Ruby, name: &[u8]) -> Opaque<RString> {
        if let Some(key) = self.headers.get(name) {
            return *key;
        }
        let key = env_key(name);
        if self.headers.len() < MAX_KNOWN_HEADERS {
            let permanent = permanent(ruby, &key);
            self.headers.insert(name.to_vec(), permanent);
            permanent
        } else {
            ruby.str_from_slice(&key).into()
        }
    }

    fn value(&self, ruby: &Ruby, value: &[u8]) -> RString {
        let known = if value.is_empty() { Some(&self.empty) } else { self.values.get(value) };
        match known {
            Some(known) => known.get_inner_with(ruby),
            None => ruby.str_from_slice(value),
        }
    }
}

/// A frozen string that lives as long as the VM.
fn permanent(ruby: &Ruby, bytes: &[u8]) -> Opaque<RString> {
    let string = ruby.str_from_slice(bytes);
    string.freeze();
    ruby.gc_register_mark_object(string);
    string.into()
}

/// `content-type` → `CONTENT_TYPE`, `x-y` → `HTTP_X_Y`.
fn env_key(name: &[u8]) -> Vec<u8> {
    let upper = name.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() });
    match name {
        b"content-type" | b"content-length" => upper.collect(),
        _ => b"HTTP_".iter().copied().chain(upper).collect(),
    }
}

/// What joins repeated fields: RFC 9110 section 5.3, and RFC 9113 section 8.2.3 for cookies.
fn separator(name: &[u8]) -> &'static str {
    if name == b"cookie" { "; " } else { ", " }
}

/// Path and query of a request target. The target `*` of OPTIONS stays as it is.
fn split_target(target: &[u8]) -> (&[u8], &[u8]) {
    match target.iter().position(|&byte| byte == b'?') {
        Some(at) => (&target[..at], &target[at + 1..]),
        None => (target, b""),
    }
}

/// Host (IPv6 with its brackets, as in a URI) and port of an authority.
fn split_authority(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    let host_end = if authority.first() == Some(&b'[') {
        authority.iter().position(|&byte| byte == b']').map_or(authority.len(), |at| at + 1)
    } else {
        authority.iter().position(|&byte| byte == b':').unwrap_or(authority.len())
    };
    let (host, rest) = authority.split_at(host_end);
    let port = rest.strip_prefix(b":").filter(|port| !port.is_empty());
    (if host.is_empty() { b"localhost" } else { host }, port)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(split_target(b"/a%2Fb?c=d?e"), (&b"/a%2Fb"[..], &b"c=d?e"[..]));
        assert_eq!(split_target(b"/?"), (&b"/"[..], &b""[..]));
        assert_eq!(split_target(b"*"), (&b"*"[..], &b""[..]));
    }

    #[test]
    fn authorities() {
        assert_eq!(split_authority(b"a.test:81"), (&b"a.test"[..], Some(&b"81"[..])));
        assert_eq!(split_authority(b"a.test"), (&b"a.test"[..], None));
        assert_eq!(split_authority(b"a.test:"), (&b"a.test"[..], None));
        assert_eq!(split_authority(b"[::1]:81"), (&b"[::1]"[..], Some(&b"81"[..])));
        assert_eq!(split_authority(b"[::1]"), (&b"[::1]"[..], None));
        assert_eq!(split_authority(b""), (&b"localhost"[..], None));
    }

    #[test]
    fn names() {
        assert_eq!(env_key(b"content-length"), b"CONTENT_LENGTH");
        assert_eq!(env_key(b"x-request-id"), b"HTTP_X_REQUEST_ID");
        assert_eq!(separator(b"cookie"), "; ");
        assert_eq!(separator(b"accept"), ", ");
    }
}
