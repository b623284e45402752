//! `Ruvoy::Native::Context`: what a worker copied for `env["ruvoy.context"]`, turned into Ruby values when asked for.

use magnus::{
    Class, Error, IntoValue, Module, Object, RHash, RModule, RString, Ruby, Value, function, method, value::ReprValue,
};

use super::native;
use crate::exchange::{Arc, Context, Item, Metadata};

/// A context on the owner thread; it outlives its request.
#[magnus::wrap(class = "Ruvoy::Native::Context", free_immediately)]
struct NativeContext(Arc<Context>);

/// Defines the class and `Ruvoy::Native.context`.
///
/// # Errors
///
/// What Ruby raises.
pub fn define(native: RModule) -> Result<(), Error> {
    let ruby = Ruby::get_with(native);
    let class = native.define_class("Context", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_method("route_name", method!(NativeContext::route_name, 0))?;
    class.define_method("connection", method!(NativeContext::connection, 0))?;
    class.define_method("tls", method!(NativeContext::tls, 0))?;
    class.define_method("dynamic_metadata", method!(NativeContext::dynamic_metadata, 0))?;
    class.define_method("route_metadata", method!(NativeContext::route_metadata, 0))?;
    native.define_singleton_method("context", function!(context, 1))
}

fn context(ruby: &Ruby, id: u64) -> Result<Option<Value>, Error> {
    let context = native::stream(ruby, id)?.and_then(|stream| stream.extensions().context.clone());
    Ok(context.map(|context| ruby.into_value(NativeContext(context))))
}

impl NativeContext {
    fn route_name(ruby: &Ruby, this: &Self) -> Option<RString> {
        this.0.route_name.as_deref().map(|name| text(ruby, name))
    }

    fn connection(ruby: &Ruby, this: &Self) -> Result<RHash, Error> {
        let connection = &this.0.connection;
        hash(
            ruby,
            [
                ("id", connection.id.into_value_with(ruby)),
                ("source_address", text(ruby, &connection.source_address).as_value()),
                ("source_port", connection.source_port.into_value_with(ruby)),
                ("destination_address", text(ruby, &connection.destination_address).as_value()),
                ("destination_port", connection.destination_port.into_value_with(ruby)),
                ("protocol", text(ruby, &connection.protocol).as_value()),
            ],
        )
    }

    fn tls(ruby: &Ruby, this: &Self) -> Result<Option<RHash>, Error> {
        let Some(tls) = &this.0.tls else { return Ok(None) };
        let optional = |value: &Option<Vec<u8>>| value.as_deref().map(|value| text(ruby, value)).into_value_with(ruby);
        let certificate = tls.peer_certificate.as_ref().map(|certificate| {
            hash(
                ruby,
                [
                    ("subject", optional(&certificate.subject)),
                    ("uri_san", optional(&certificate.uri_san)),
                    ("dns_san", optional(&certificate.dns_san)),
                    ("sha256_digest", optional(&certificate.sha256_digest)),
                ],
            )
        });
        let tls = hash(
            ruby,
            [
                ("version", text(ruby, &tls.version).as_value()),
                ("server_name", optional(&tls.server_name)),
                ("mtls", tls.mtls.into_value_with(ruby)),
                ("peer_certificate", certificate.transpose()?.into_value_with(ruby)),
            ],
        );
        tls.map(Some)
    }

    fn dynamic_metadata(ruby: &Ruby, this: &Self) -> Result<RHash, Error> {
        metadata(ruby, &this.0.dynamic_metadata)
    }

    fn route_metadata(ruby: &Ruby, this: &Self) -> Result<RHash, Error> {
        metadata(ruby, &this.0.route_metadata)
    }
}

fn metadata(ruby: &Ruby, metadata: &Metadata) -> Result<RHash, Error> {
    let namespaces = ruby.hash_new();
    for (namespace, entries) in metadata {
        let values = ruby.hash_new();
        for (key, entry) in entries {
            values.aset(text(ruby, key), item(ruby, entry)?)?;
        }
        values.freeze();
        namespaces.aset(text(ruby, namespace), values)?;
    }
    namespaces.freeze();
    Ok(namespaces)
}

fn item(ruby: &Ruby, item: &Item) -> Result<Value, Error> {
    Ok(match item {
        Item::Number(number) => number.into_value_with(ruby),
        Item::String(bytes) => text(ruby, bytes).as_value(),
        Item::Bool(truth) => truth.into_value_with(ruby),
        Item::List(items) => {
            let list = ruby.ary_new_capa(items.len());
            for one in items {
                list.push(self::item(ruby, one)?)?;
            }
            list.freeze();
            list.as_value()
        }
    })
}

fn hash<const N: usize>(ruby: &Ruby, entries: [(&str, Value); N]) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    for (key, value) in entries {
        hash.aset(text(ruby, key.as_bytes()), value)?;
    }
    hash.freeze();
    Ok(hash)
}

/// A frozen string: UTF-8, which Envoy's texts are, or binary where one is not.
fn text(ruby: &Ruby, bytes: &[u8]) -> RString {
    let string = match std::str::from_utf8(bytes) {
        Ok(text) => ruby.str_new(text),
        Err(_) => ruby.str_from_slice(bytes),
    };
    string.freeze();
    string
}
