//! Bootstrap extensions: what runs once in the server, beside its listeners.

mod envoy_impl;
mod hooks;
mod traits;

pub use traits::*;
