//! The Ruby side: the owner thread's main function, the methods of `Ruvoy::Native`, and the env.
//!
//! Everything here runs on the owner thread, except where it says otherwise.

mod context;
mod env;
mod native;
#[cfg(all(test, not(loom)))]
mod tests;
mod upstream;
pub mod vm;
