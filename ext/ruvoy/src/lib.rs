//! The dynamic module `ruvoy_fiber`: Envoy's streams in, Rack requests on an embedded CRuby out.
//!
//! - `config`: the filter configuration
//! - `counts`: what a request costs, for the gates
//! - `exchange`: where workers and the owner thread meet; plain Rust
//! - `envoy`: filters, on the workers; the only importer of the SDK
//! - `ruby`: the owner thread; the only importer of magnus
//! - `ffi`: what the compiler cannot check
//! - `wakeup`: the eventfd between them

mod config;
mod counts;
mod envoy;
mod exchange;
mod ffi;
mod ruby;
mod wakeup;
