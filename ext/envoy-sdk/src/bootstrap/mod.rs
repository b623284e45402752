//! Bootstrap extensions: what runs once in the server, beside its listeners.

mod traits;

pub use traits::*;
