//! Bootstrap extensions: what runs once in the server, beside its listeners.

mod envoy_impl;
mod hooks;
#[cfg(test)]
mod hooks_test;
mod traits;

pub use traits::*;
