//! Copies metadata on a worker.
//!
//! The ABI does not tell of which kind a value is, and Envoy logs an error for each wrong guess. So a worker remembers what
//! it found under a key, which is of the same kind the next time, as a rule.

use std::{cell::RefCell, collections::HashMap};

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter, abi::envoy_dynamic_module_type_metadata_source as MetadataSource,
};

use crate::exchange::{Item, Metadata};

/// Keys beyond this many are guessed anew each time: a filter may take them from a request.
const MAX_KNOWN_KEYS: usize = 1024;

/// The kinds of values that have a guess to be wrong about; lists are asked for first, which costs no line in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Bool,
}

thread_local! {
    static KINDS: RefCell<HashMap<String, Kind>> = RefCell::default();
}

/// A value's place.
#[derive(Clone, Copy)]
struct Place<'a> {
    source: MetadataSource,
    namespace: &'a str,
    key: &'a str,
}

/// Copies the namespaces that are there.
pub fn copy<EHF: EnvoyHttpFilter>(envoy: &EHF, source: MetadataSource, namespaces: &[String]) -> Metadata {
    let copied = namespaces.iter().filter_map(|namespace| {
        let keys = envoy.get_metadata_keys(source, namespace)?;
        let entries = keys.iter().filter_map(|key| {
            let place = Place { source, namespace, key: std::str::from_utf8(key.as_slice()).ok()? };
            Some((key.as_slice().to_vec(), item(envoy, place)?))
        });
        Some((namespace.as_bytes().to_vec(), entries.collect()))
    });
    copied.collect()
}

/// A value; none for the kinds that the ABI has no way to: null and nested objects.
fn item<EHF: EnvoyHttpFilter>(envoy: &EHF, place: Place<'_>) -> Option<Item> {
    let name = format!("{:?} {} {}", place.source, place.namespace, place.key);
    match envoy.get_metadata_list_size(place.source, place.namespace, place.key) {
        Some(size) => {
            let elements = (0..size).filter_map(|index| guess(&name, |kind| element(envoy, place, (index, kind))));
            Some(Item::List(elements.collect()))
        }
        None => guess(&name, |kind| value(envoy, place, kind)),
    }
}

/// The value of the kind that is remembered under `name`, or of another.
fn guess(name: &str, value: impl Fn(Kind) -> Option<Item>) -> Option<Item> {
    let known = KINDS.with_borrow(|kinds| kinds.get(name).copied());
    let others = [Kind::String, Kind::Number, Kind::Bool].into_iter().filter(|kind| Some(*kind) != known);
    let (kind, item) = known.into_iter().chain(others).find_map(|kind| Some((kind, value(kind)?)))?;
    if known != Some(kind) {
        remember(name, kind);
    }
    Some(item)
}

fn value<EHF: EnvoyHttpFilter>(envoy: &EHF, Place { source, namespace, key }: Place<'_>, kind: Kind) -> Option<Item> {
    match kind {
        Kind::String => {
            envoy.get_metadata_string(source, namespace, key).map(|text| Item::String(text.as_slice().to_vec()))
        }
        Kind::Number => envoy.get_metadata_number(source, namespace, key).map(Item::Number),
        Kind::Bool => envoy.get_metadata_bool(source, namespace, key).map(Item::Bool),
    }
}

fn element<EHF: EnvoyHttpFilter>(envoy: &EHF, place: Place<'_>, (index, kind): (usize, Kind)) -> Option<Item> {
    let Place { source, namespace, key } = place;
    match kind {
        Kind::String => {
            let text = envoy.get_metadata_list_string(source, namespace, key, index);
            text.map(|text| Item::String(text.as_slice().to_vec()))
        }
        Kind::Number => envoy.get_metadata_list_number(source, namespace, key, index).map(Item::Number),
        Kind::Bool => envoy.get_metadata_list_bool(source, namespace, key, index).map(Item::Bool),
    }
}

fn remember(name: &str, kind: Kind) {
    KINDS.with_borrow_mut(|kinds| {
        if kinds.len() < MAX_KNOWN_KEYS || kinds.contains_key(name) {
            kinds.insert(name.to_owned(), kind);
        }
    });
}
