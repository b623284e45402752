//! Builds the Rack env of a request: the one place where Rust knows Rack's names, for speed.
//!
//! <https://github.com/rack/rack/blob/main/SPEC.rdoc#the-environment->

use std::collections::HashMap;

use magnus::{
    Error, RHash, RString, Ruby, Value,
    value::{InnerValue, Opaque, ReprValue},
};

use crate::{
    exchange::{Request, without_port},
    ffi,
};

/// Header names beyond this many are made anew each time: clients choose them.
const MAX_KNOWN_HEADERS: usize = 512;

/// The same for authorities, and for their bytes.
const MAX_KNOWN_AUTHORITIES: usize = 64;
const MAX_KNOWN_AUTHORITY_BYTES: usize = 256;

/// The env keys that every request has, and the host.
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

/// A header that was seen before.
struct KnownHeader {
    key: Opaque<RString>,
    /// The last env that had it.
    env: u64,
}

/// `SERVER_NAME`, and `SERVER_PORT` if the authority has one.
#[derive(Clone, Copy)]
struct Authority {
    name: Opaque<RString>,
    port: Option<Opaque<RString>>,
}

/// Makes envs, remembering the strings that requests have in common.
pub struct EnvBuilder {
    /// Has room, and already an entry, for what every request has: replacing a value is cheaper than growing, and
    /// the usual value needs not even that.
    template: Opaque<RHash>,
    keys: Keys,
    /// Values that recur and are not the usual ones: methods, schemes, protocols and ports.
    values: HashMap<Vec<u8>, Opaque<RString>>,
    headers: HashMap<Vec<u8>, KnownHeader>,
    authorities: HashMap<Vec<u8>, Authority>,
    /// How many envs were begun.
    envs: u64,
}

impl EnvBuilder {
    /// A builder whose envs begin as copies of `template`.
    ///
    /// # Errors
    ///
    /// NoMemoryError.
    pub fn new(ruby: &Ruby, template: RHash) -> Result<Self, Error> {
        let key = |name| permanent_key(ruby, name);
        let keys = Keys {
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
        };
        let template = ffi::value::duplicate(ruby, template)?;
        for key in [keys.path, keys.uri, keys.server_name, keys.server_port, keys.remote_addr] {
            template.aset(key.get_inner_with(ruby), ())?;
        }
        for (key, usual) in keys.with_usual_values() {
            template.aset(key.get_inner_with(ruby), permanent(ruby, usual).get_inner_with(ruby))?;
        }
        ruby.gc_register_mark_object(template);
        let values = ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "https", "80", "443"];
        let protocols = ["HTTP/1.0", "HTTP/2", "HTTP/3"];
        let values = values.iter().chain(&protocols);
        Ok(Self {
            template: template.into(),
            keys,
            values: values.map(|value| (value.as_bytes().to_vec(), permanent(ruby, value.as_bytes()))).collect(),
            headers: HashMap::new(),
            authorities: HashMap::new(),
            envs: 0,
        })
    }

    /// The env of `request`.
    ///
    /// # Errors
    ///
    /// NoMemoryError.
    pub fn build(&mut self, ruby: &Ruby, request: &Request) -> Result<RHash, Error> {
        self.envs += 1;
        let mut env = Entries::new(ffi::value::duplicate(ruby, self.template.get_inner_with(ruby))?);
        let (line, headers) = request.parts();
        let (path, query) = split_target(line.target);
        let authority = self.authority(ruby, line.authority);
        let port = authority.port.map(|port| port.get_inner_with(ruby));
        let port = port.unwrap_or_else(|| self.value(ruby, if line.scheme == b"https" { b"443" } else { b"80" }));
        let key = |key: Opaque<RString>| key.get_inner_with(ruby);
        env.set(key(self.keys.path), ruby.str_from_slice(path))?;
        env.set(key(self.keys.uri), ruby.str_from_slice(line.target))?;
        env.set(key(self.keys.server_name), key(authority.name))?;
        env.set(key(self.keys.server_port), port)?;
        env.set(key(self.keys.remote_addr), ruby.str_from_slice(without_port(line.peer)))?;
        let values = [line.method, query, line.protocol, line.scheme];
        for ((name, usual), value) in self.keys.with_usual_values().into_iter().zip(values) {
            if value != usual {
                env.set(key(name), self.value(ruby, value))?;
            }
        }
        if !line.authority.is_empty() {
            env.set(key(self.keys.host), ruby.str_from_slice(line.authority))?;
        }
        for (name, value) in headers {
            self.header(ruby, &mut env, (name, value))?;
        }
        env.finish()
    }

    fn header(&mut self, ruby: &Ruby, env: &mut Entries, (name, value): (&[u8], &[u8])) -> Result<(), Error> {
        if name == b"upgrade" {
            let list = ruby.ary_new();
            for protocol in value.split(|&byte| byte == b',') {
                list.push(ruby.str_from_slice(protocol.trim_ascii()))?;
            }
            env.set(self.keys.protocol.get_inner_with(ruby), list)?;
        }
        let value = ruby.str_from_slice(value);
        let (key, first) = self.header_key(ruby, name);
        if first {
            return env.set(key, value);
        }
        let Some(earlier) = env.get(key)? else { return env.set(key, value) };
        let joined = ffi::value::with_bytes(earlier, <[u8]>::to_vec);
        let joined = ruby.str_from_slice(&joined);
        joined.cat(separator(name));
        joined.buf_append(value)?;
        env.set(key, joined)
    }

    /// The env key of a header, and whether it is surely the request's first field of that name.
    fn header_key(&mut self, ruby: &Ruby, name: &[u8]) -> (RString, bool) {
        if let Some(known) = self.headers.get_mut(name) {
            let last = std::mem::replace(&mut known.env, self.envs);
            return (known.key.get_inner_with(ruby), last != self.envs && name != b"host");
        }
        let key = env_key(name);
        if self.headers.len() < MAX_KNOWN_HEADERS {
            let key = permanent_key(ruby, &key);
            self.headers.insert(name.to_vec(), KnownHeader { key, env: self.envs });
            (key.get_inner_with(ruby), name != b"host")
        } else {
            (ruby.str_new(&key), false)
        }
    }

    fn authority(&mut self, ruby: &Ruby, authority: &[u8]) -> Authority {
        if let Some(known) = self.authorities.get(authority) {
            return *known;
        }
        let (name, port) = split_authority(authority);
        let known = self.authorities.len() < MAX_KNOWN_AUTHORITIES && authority.len() <= MAX_KNOWN_AUTHORITY_BYTES;
        let make = |bytes| if known { permanent(ruby, bytes) } else { ruby.str_from_slice(bytes).into() };
        let made = Authority { name: make(name), port: port.map(make) };
        if known {
            self.authorities.insert(authority.to_vec(), made);
        }
        made
    }

    fn value(&self, ruby: &Ruby, value: &[u8]) -> RString {
        match self.values.get(value) {
            Some(known) => known.get_inner_with(ruby),
            None => ruby.str_from_slice(value),
        }
    }
}

impl Keys {
    /// Those of which most requests have the same value, which the template therefore has.
    fn with_usual_values(&self) -> [(Opaque<RString>, &'static [u8]); 4] {
        [(self.method, b"GET"), (self.query, b""), (self.server_protocol, b"HTTP/1.1"), (self.scheme, b"http")]
    }
}

/// Entries on their way into a hash, several at a time. It must stay on the stack, where Ruby's collector looks.
struct Entries {
    hash: RHash,
    waiting: [(Value, Value); Self::AT_ONCE],
    count: usize,
}

impl Entries {
    const AT_ONCE: usize = 24;

    fn new(hash: RHash) -> Self {
        Self { hash, waiting: [(hash.as_value(), hash.as_value()); Self::AT_ONCE], count: 0 }
    }

    fn set(&mut self, key: RString, value: impl ReprValue) -> Result<(), Error> {
        if self.count == Self::AT_ONCE {
            self.flush()?;
        }
        self.waiting[self.count] = (key.as_value(), value.as_value());
        self.count += 1;
        Ok(())
    }

    fn get(&mut self, key: RString) -> Result<Option<RString>, Error> {
        self.flush()?;
        Ok(self.hash.get(key).and_then(RString::from_value))
    }

    fn flush(&mut self) -> Result<(), Error> {
        let count = std::mem::take(&mut self.count);
        ffi::value::set_entries(self.hash, &self.waiting[..count])
    }

    fn finish(mut self) -> Result<RHash, Error> {
        self.flush()?;
        Ok(self.hash)
    }
}

/// A frozen binary string that lives as long as the VM.
fn permanent(ruby: &Ruby, bytes: &[u8]) -> Opaque<RString> {
    let string = ruby.str_from_slice(bytes);
    string.freeze();
    ruby.gc_register_mark_object(string);
    string.into()
}

/// The string that a literal of the same text is, so that as a key it is found without comparing bytes.
fn permanent_key(ruby: &Ruby, name: &str) -> Opaque<RString> {
    let key = ruby.str_new(name).to_interned_str();
    ruby.gc_register_mark_object(key);
    key.into()
}

/// `content-type` → `CONTENT_TYPE`, `x-y` → `HTTP_X_Y`.
fn env_key(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let upper = name.chars().map(|char| if char == '-' { '_' } else { char.to_ascii_uppercase() });
    match &*name {
        "content-type" | "content-length" => upper.collect(),
        _ => "HTTP_".chars().chain(upper).collect(),
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
        assert_eq!(env_key(b"content-length"), "CONTENT_LENGTH");
        assert_eq!(env_key(b"x-request-id"), "HTTP_X_REQUEST_ID");
        assert_eq!(separator(b"cookie"), "; ");
        assert_eq!(separator(b"accept"), ", ");
    }
}
