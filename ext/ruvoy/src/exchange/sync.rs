//! The synchronisation primitives of the exchange: the standard library's, or loom's under `--cfg loom`.

/// The standard library's in both cases: only it can be the type of `self`.
pub use std::sync::Arc;

#[cfg(loom)]
pub use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(loom))]
pub use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// Locks `mutex` whether or not a panic happened under it: every critical section of the exchange
/// leaves its data consistent at each step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
