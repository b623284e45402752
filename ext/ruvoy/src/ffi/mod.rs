//! What the compiler cannot check, and nowhere else: the VM's start and end, signals, the process's exit, streams to
//! clusters, and a few of Ruby's C functions that magnus has no safe form for.

#[cfg(feature = "count-allocations")]
pub mod allocator;
pub mod environment;
pub mod exit;
pub mod file;
pub mod http_stream;
pub mod location;
mod signals;
pub mod value;
pub mod vm;
