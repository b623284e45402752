//! The methods of `Ruvoy::Native` for `env["ruvoy.upstream"]`, and `Ruvoy::Native::Call`, a call of a request.

use magnus::{
    Class, Error, IntoValue, Module, Object, RArray, RHash, RModule, RString, Ruby, Value, function, method,
    value::{Qtrue, ReprValue},
};

use super::native::{disconnected, pack, stream};
use crate::{
    exchange::{Answer, Arc, CallId, Failure, Stream, Target, Upstream},
    ffi,
};

/// A call, by name: it keeps nothing of the request alive.
#[magnus::wrap(class = "Ruvoy::Native::Call", free_immediately)]
struct NativeCall {
    request: u64,
    call: CallId,
}

/// Defines the methods and the class.
///
/// # Errors
///
/// What Ruby raises.
pub fn define(native: RModule) -> Result<(), Error> {
    let ruby = Ruby::get_with(native);
    native.define_singleton_method("upstream_settings", function!(settings, 1))?;
    native.define_singleton_method("upstream_call", function!(open_whole, 3))?;
    native.define_singleton_method("upstream_stream", function!(open_stream, 3))?;
    native.define_singleton_method("upstream_ready", function!(ready, 1))?;
    let class = native.define_class("Call", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_method("id", method!(NativeCall::id, 0))?;
    class.define_method("start", method!(NativeCall::start, 2))?;
    class.define_method("write", method!(NativeCall::write, 2))?;
    class.define_method("finish", method!(NativeCall::finish, 0))?;
    class.define_method("head", method!(NativeCall::head, 0))?;
    class.define_method("read", method!(NativeCall::read, 1))?;
    class.define_method("pass", method!(NativeCall::pass, 0))?;
    class.define_method("forget", method!(NativeCall::forget, 1))
}

/// The stream of a request and its settings, if it has any and is not released.
struct Offer {
    stream: Arc<Stream>,
    upstream: Arc<Upstream>,
}

fn offer(ruby: &Ruby, id: u64) -> Result<Option<Offer>, Error> {
    let Some(stream) = stream(ruby, id)? else { return Ok(None) };
    let upstream = stream.extensions().upstream.clone();
    Ok(upstream.map(|upstream| Offer { stream, upstream }))
}

/// The clusters, the schemes and hosts of those that have an origin, and the timeout in seconds.
fn settings(ruby: &Ruby, id: u64) -> Result<Option<(Vec<String>, RHash, f64)>, Error> {
    let Some(Offer { upstream, .. }) = offer(ruby, id)? else { return Ok(None) };
    let origins = ruby.hash_new();
    for (cluster, origin) in &upstream.origins {
        origins.aset(cluster.as_str(), (origin.scheme.as_str(), origin.host.as_str()))?;
    }
    Ok(Some((upstream.clusters.clone(), origins, upstream.timeout.as_secs_f64())))
}

/// A call whose answer is wanted whole, or a Symbol: why there can be none.
fn open_whole(ruby: &Ruby, id: u64, cluster: String, timeout_ms: u64) -> Result<Value, Error> {
    open(ruby, id, Target { cluster, timeout_ms, limit: 0, whole: true })
}

/// The same for an answer that is wanted piece by piece.
fn open_stream(ruby: &Ruby, id: u64, cluster: String, timeout_ms: u64) -> Result<Value, Error> {
    open(ruby, id, Target { cluster, timeout_ms, limit: 0, whole: false })
}

fn open(ruby: &Ruby, id: u64, target: Target) -> Result<Value, Error> {
    let Some(Offer { stream, upstream }) = offer(ruby, id)? else { return Ok(failed(ruby, Failure::Abandoned)) };
    let limit = if target.whole { upstream.max_response_bytes } else { upstream.stream_buffer_bytes };
    Ok(match stream.open_call(Target { limit, ..target }) {
        Ok(call) => ruby.into_value(NativeCall { request: id, call }),
        Err(failure) => failed(ruby, failure),
    })
}

/// The calls of a request for which something has happened.
fn ready(ruby: &Ruby, id: u64) -> Result<Vec<CallId>, Error> {
    Ok(stream(ruby, id)?.map(|stream| stream.take_ready_calls()).unwrap_or_default())
}

impl NativeCall {
    fn stream(&self, ruby: &Ruby) -> Result<Option<Arc<Stream>>, Error> {
        stream(ruby, self.request)
    }

    fn id(&self) -> CallId {
        self.call
    }

    /// `body` is the whole body, nil for none, or true where it follows.
    fn start(ruby: &Ruby, this: &Self, fields: RArray, body: Value) -> Result<(), Error> {
        let fields = pack(fields)?;
        let follows = Qtrue::from_value(body).is_some();
        let body = RString::from_value(body).map(|body| ffi::value::with_bytes(body, <[u8]>::to_vec));
        if let Some(stream) = this.stream(ruby)? {
            stream.start_call(this.call, fields, if follows { None } else { Some(body.unwrap_or_default()) });
        }
        Ok(())
    }

    /// How many bytes were taken; 0: no room yet; nil: nobody wants them any more.
    fn write(ruby: &Ruby, this: &Self, string: RString, offset: usize) -> Result<Option<usize>, Error> {
        let Some(stream) = this.stream(ruby)? else { return Ok(None) };
        let Ok(room) = stream.call_room(this.call) else { return Ok(None) };
        let count = room.min(string.len().saturating_sub(offset));
        if count > 0 {
            let bytes = ffi::value::with_bytes(string, |bytes| bytes[offset..offset + count].to_vec());
            stream.write_call(this.call, bytes);
        }
        Ok(Some(count))
    }

    fn finish(ruby: &Ruby, this: &Self) -> Result<(), Error> {
        if let Some(stream) = this.stream(ruby)? {
            stream.finish_call(this.call);
        }
        Ok(())
    }

    /// Status and flat fields; false: nothing yet; a Symbol: why not.
    fn head(ruby: &Ruby, this: &Self) -> Result<Value, Error> {
        let Some(stream) = this.stream(ruby)? else { return Ok(failed(ruby, Failure::Abandoned)) };
        let head = match stream.call_head(this.call) {
            Answer::Ready(head) => head,
            Answer::Pending => return Ok(false.into_value_with(ruby)),
            Answer::Failed(failure) => return Ok(failed(ruby, failure)),
            // An answer without a head is none.
            Answer::End => return Ok(failed(ruby, Failure::Reset)),
        };
        let fields = ruby.ary_new_capa(head.fields.len() * 2);
        for (name, value) in head.fields.iter() {
            fields.push(ruby.str_from_slice(name))?;
            fields.push(ruby.str_from_slice(value))?;
        }
        Ok((head.status, fields).into_value_with(ruby))
    }

    /// About `max` bytes; false: nothing yet; nil: the end; a Symbol: why not.
    fn read(ruby: &Ruby, this: &Self, max: usize) -> Result<Value, Error> {
        let Some(stream) = this.stream(ruby)? else { return Ok(failed(ruby, Failure::Abandoned)) };
        Ok(match stream.read_call(this.call, max) {
            Answer::Ready(bytes) => ruby.str_from_slice(&bytes).as_value(),
            Answer::Pending => false.into_value_with(ruby),
            Answer::End => ().into_value_with(ruby),
            Answer::Failed(failure) => failed(ruby, failure),
        })
    }

    /// Moves bytes into the response; how many, or 0: no room there yet; false, nil and a Symbol as for `read`.
    fn pass(ruby: &Ruby, this: &Self) -> Result<Value, Error> {
        let Some(stream) = this.stream(ruby)? else { return Err(disconnected(ruby)) };
        Ok(match stream.pass_call(this.call).map_err(|_| disconnected(ruby))? {
            Answer::Ready(count) => count.into_value_with(ruby),
            Answer::Pending => false.into_value_with(ruby),
            Answer::End => ().into_value_with(ruby),
            Answer::Failed(failure) => failed(ruby, failure),
        })
    }

    /// The answer is not wanted any more; a call in flight is cancelled.
    fn forget(ruby: &Ruby, this: &Self, timed_out: bool) -> Result<(), Error> {
        if let Some(stream) = this.stream(ruby)? {
            stream.forget_call(this.call, if timed_out { Failure::TimedOut } else { Failure::Abandoned });
        }
        Ok(())
    }
}

fn failed(ruby: &Ruby, failure: Failure) -> Value {
    ruby.to_symbol(failure.name()).as_value()
}
