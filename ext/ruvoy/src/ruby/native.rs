//! The methods of `Ruvoy::Native`: the contract between this module and lib/ruvoy.
//!
//! A request is an Integer there. No lock and no borrow of the owner is held while Ruby is called,
//! because Ruby may raise, collect garbage or switch fibers.

use std::{cell::RefCell, os::fd::RawFd};

use magnus::{
    Error, ExceptionClass, IntoValue, Module, Object, RArray, RHash, RModule, RString, Ruby, Value, function,
    value::{Lazy, ReprValue},
};

use super::{context, env::EnvBuilder, upstream};
use crate::{
    envoy::log,
    exchange::{Arc, Event, Fields, Head, Owner, Read, Stream},
    ffi,
    wakeup::EventFd,
};

/// What the owner thread has; only that thread.
struct Native {
    owner: Owner,
    wakeup: Arc<EventFd>,
    buffer_bytes: usize,
    env: Option<EnvBuilder>,
}

thread_local! {
    static NATIVE: RefCell<Option<Native>> = const { RefCell::new(None) };
}

static CLIENT_DISCONNECTED: Lazy<ExceptionClass> =
    Lazy::new(|ruby| ruby.eval("Ruvoy::ClientDisconnected").unwrap_or_else(|_| ruby.exception_io_error()));

/// Bits of an event's Integer below its request's id.
const EVENT_BITS: u32 = 8;

/// Gives the calling thread the owner's end and defines `Ruvoy::Native`.
///
/// # Errors
///
/// What Ruby raises.
pub fn define(ruby: &Ruby, owner: Owner, wakeup: Arc<EventFd>, buffer_bytes: usize) -> Result<RModule, Error> {
    NATIVE.with_borrow_mut(|native| *native = Some(Native { owner, wakeup, buffer_bytes, env: None }));
    let module = ruby.define_module("Ruvoy")?.define_module("Native")?;
    module.define_singleton_method("wakeup_fd", function!(wakeup_fd, 0))?;
    module.define_singleton_method("take", function!(take, 1))?;
    module.define_singleton_method("next_event", function!(next_event, 0))?;
    module.define_singleton_method("arm", function!(arm, 0))?;
    module.define_singleton_method("template=", function!(set_template, 1))?;
    module.define_singleton_method("env", function!(env, 1))?;
    module.define_singleton_method("read", function!(read, 2))?;
    module.define_singleton_method("request_trailers", function!(request_trailers, 1))?;
    module.define_singleton_method("respond", function!(respond, 4))?;
    module.define_singleton_method("informational", function!(informational, 3))?;
    module.define_singleton_method("start", function!(start, 3))?;
    module.define_singleton_method("write", function!(write, 3))?;
    module.define_singleton_method("write_file", function!(write_file, 4))?;
    module.define_singleton_method("finish", function!(finish, -1))?;
    module.define_singleton_method("reset", function!(reset, 1))?;
    module.define_singleton_method("release", function!(release, 1))?;
    context::define(module)?;
    upstream::define(module)?;
    module.define_singleton_method("log", function!(write_log, 2))?;
    module.define_singleton_method("buffer_bytes", function!(buffer_bytes_limit, 0))?;
    module.define_singleton_method("inflight", function!(inflight, 0))?;
    #[cfg(feature = "count-allocations")]
    module.define_singleton_method("counts", function!(counts, 0))?;
    Ok(module)
}

/// Ends the owner's end: every request that is left is answered by `head` and `body` or reset.
pub fn abandon(head: &Head, body: &[u8]) {
    NATIVE.with_borrow_mut(|native| {
        if let Some(native) = native {
            native.owner.abandon(head, body);
        }
    });
}

fn with<T>(ruby: &Ruby, use_native: impl FnOnce(&mut Native) -> T) -> Result<T, Error> {
    NATIVE.with_borrow_mut(|native| match native {
        Some(native) => Ok(use_native(native)),
        None => Err(Error::new(
            ruby.exception_thread_error(),
            "a request belongs to the server's own thread; hand values, not the request, to other threads",
        )),
    })
}

/// The stream of a request; none once it was released.
pub(super) fn stream(ruby: &Ruby, id: u64) -> Result<Option<Arc<Stream>>, Error> {
    with(ruby, |native| native.owner.stream(id).map(Arc::clone))
}

pub(super) fn disconnected(ruby: &Ruby) -> Error {
    Error::new(ruby.get_inner(&CLIENT_DISCONNECTED), "the client has left")
}

fn wakeup_fd(ruby: &Ruby) -> Result<RawFd, Error> {
    with(ruby, |native| native.wakeup.raw())
}

/// Takes the queued events, after the eventfd ended a sleep if `woken`.
fn take(ruby: &Ruby, woken: bool) -> Result<usize, Error> {
    with(ruby, |native| {
        if woken {
            native.wakeup.clear();
        }
        native.owner.take()
    })
}

fn next_event(ruby: &Ruby) -> Result<Option<u64>, Error> {
    let event = with(ruby, |native| native.owner.next_event())?;
    Ok(event.map(|event| match event {
        Event::Request(id, bits) | Event::Stream(id, bits) => id << EVENT_BITS | u64::from(bits),
        Event::Stop => 0,
    }))
}

fn arm(ruby: &Ruby) -> Result<bool, Error> {
    with(ruby, |native| native.owner.arm())
}

fn set_template(ruby: &Ruby, template: RHash) -> Result<(), Error> {
    let builder = EnvBuilder::new(ruby, template)?;
    with(ruby, |native| native.env = Some(builder))
}

fn env(ruby: &Ruby, id: u64) -> Result<RHash, Error> {
    let request = stream(ruby, id)?.and_then(|stream| stream.take_request());
    // The builder leaves the cell while Ruby values are made.
    let builder = with(ruby, |native| native.env.take())?;
    let (Some(request), Some(mut builder)) = (request, builder) else {
        return Err(Error::new(ruby.exception_arg_error(), format!("request {id} has no env, or it was taken before")));
    };
    let env = builder.build(ruby, &request);
    with(ruby, |native| native.env = Some(builder))?;
    env
}

fn read(ruby: &Ruby, id: u64, max: usize) -> Result<Value, Error> {
    let Some(stream) = stream(ruby, id)? else { return Err(disconnected(ruby)) };
    match stream.read(max.max(1)) {
        Read::Data(bytes) => Ok(ruby.str_from_slice(&bytes).into_value_with(ruby)),
        Read::Pending => Ok(false.into_value_with(ruby)),
        Read::End => Ok(().into_value_with(ruby)),
        Read::Gone => Err(disconnected(ruby)),
    }
}

fn request_trailers(ruby: &Ruby, id: u64) -> Result<Option<RHash>, Error> {
    let Some(trailers) = stream(ruby, id)?.and_then(|stream| stream.trailers()) else { return Ok(None) };
    let hash = ruby.hash_new();
    for (name, value) in trailers.iter() {
        let (name, value) = (ruby.str_from_slice(name), ruby.str_from_slice(value));
        match hash.get(name).and_then(RString::from_value) {
            Some(earlier) => {
                earlier.cat(", ");
                earlier.buf_append(value)?;
            }
            None => hash.aset(name, value)?,
        }
    }
    Ok(Some(hash))
}

/// A whole response. If it has a body, its length is added to the fields.
fn respond(ruby: &Ruby, id: u64, status: u16, fields: RArray, body: Option<RString>) -> Result<(), Error> {
    let mut fields = pack(fields)?;
    let body = body.map(|body| {
        fields.push_number(b"content-length", body.len());
        ffi::value::with_bytes(body, <[u8]>::to_vec)
    });
    if let Some(stream) = stream(ruby, id)? {
        stream.respond(Head { status, fields }, body.unwrap_or_default());
    }
    Ok(())
}

fn informational(ruby: &Ruby, id: u64, status: u16, fields: RArray) -> Result<(), Error> {
    let head = Head { status, fields: pack(fields)? };
    if let Some(stream) = stream(ruby, id)? {
        stream.informational(head);
    }
    Ok(())
}

fn start(ruby: &Ruby, id: u64, status: u16, fields: RArray) -> Result<(), Error> {
    let head = Head { status, fields: pack(fields)? };
    if let Some(stream) = stream(ruby, id)? {
        stream.head(head);
    }
    Ok(())
}

/// The stream and the room for `wanted` bytes of response.
fn room(ruby: &Ruby, id: u64, wanted: usize) -> Result<(Arc<Stream>, usize), Error> {
    let stream = stream(ruby, id)?.ok_or_else(|| disconnected(ruby))?;
    let room = stream.output_room().map_err(|_| disconnected(ruby))?;
    Ok((stream, room.min(wanted)))
}

fn write(ruby: &Ruby, id: u64, string: RString, offset: usize) -> Result<usize, Error> {
    let (stream, count) = room(ruby, id, string.len().saturating_sub(offset))?;
    if count > 0 {
        stream.write(ffi::value::with_bytes(string, |bytes| bytes[offset..offset + count].to_vec()));
    }
    Ok(count)
}

fn write_file(ruby: &Ruby, id: u64, fileno: RawFd, offset: u64, length: usize) -> Result<i64, Error> {
    let (stream, count) = room(ruby, id, length)?;
    if count == 0 {
        return Ok(0);
    }
    let bytes = ffi::file::read_at(fileno, offset, count).map_err(|error| system_call_error(ruby, &error))?;
    if bytes.is_empty() {
        return Ok(-1);
    }
    let count = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    stream.write(bytes);
    Ok(count)
}

fn system_call_error(ruby: &Ruby, error: &std::io::Error) -> Error {
    let class = ruby.class_object().const_get::<_, magnus::RClass>("SystemCallError");
    let exception = class.and_then(|class| {
        class.funcall::<_, _, magnus::Exception>("new", ("the file of the response body", error.raw_os_error()))
    });
    exception.map_or_else(|error| error, Error::from)
}

fn finish(ruby: &Ruby, arguments: &[Value]) -> Result<(), Error> {
    let arguments = magnus::scan_args::scan_args::<(u64,), (Option<Option<RArray>>,), (), (), (), ()>(arguments)?;
    let trailers = arguments.optional.0.flatten().map(pack).transpose()?.unwrap_or_default();
    if let Some(stream) = stream(ruby, arguments.required.0)? {
        stream.finish(trailers);
    }
    Ok(())
}

fn reset(ruby: &Ruby, id: u64) -> Result<(), Error> {
    if let Some(stream) = stream(ruby, id)? {
        stream.reset();
    }
    Ok(())
}

fn release(ruby: &Ruby, id: u64) -> Result<(), Error> {
    with(ruby, |native| native.owner.release(id))
}

fn buffer_bytes_limit(ruby: &Ruby) -> Result<usize, Error> {
    with(ruby, |native| native.buffer_bytes)
}

fn inflight(ruby: &Ruby) -> Result<usize, Error> {
    with(ruby, |native| native.owner.exchange().inflight())
}

/// For the gates: what this module has done so far.
#[cfg(feature = "count-allocations")]
fn counts(ruby: &Ruby) -> Result<RHash, Error> {
    let counts = ruby.hash_new();
    for (name, count) in crate::counts::counting::all() {
        counts.aset(name, count)?;
    }
    Ok(counts)
}

/// Any Ruby thread.
fn write_log(level: u8, message: RString) {
    let message = ffi::value::with_bytes(message, |bytes| String::from_utf8_lossy(bytes).into_owned());
    log::write(log::Level::from_number(level), &message);
}

/// Packs a flat Array of names and values, these without whitespace around them: HTTP/2 allows none
/// (RFC 9113 section 8.2.1), and in HTTP/1 it means nothing.
pub(super) fn pack(fields: RArray) -> Result<Fields, Error> {
    // Room for a content length besides.
    let mut packed = Fields::with_capacity((fields.len() + 2) * 24);
    let pairs = (0..fields.len() / 2).map(|pair| isize::try_from(pair * 2).unwrap_or_default());
    for at in pairs {
        let (name, value): (RString, RString) = (fields.entry(at)?, fields.entry(at + 1)?);
        ffi::value::with_bytes(name, |name| {
            ffi::value::with_bytes(value, |value| packed.push(name, value.trim_ascii()))
        });
    }
    Ok(packed)
}
