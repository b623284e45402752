//! Ruby's C functions that magnus has no safe form for. All need a `&Ruby` or a value, the proof
//! that the caller holds the VM's lock.

use magnus::{
    Error, RHash, RString, Ruby, TryConvert, Value,
    rb_sys::{AsRawValue, FromRawValue, protect},
};

/// Calls `read` with the string's bytes, which must not call Ruby.
pub fn with_bytes<T>(string: RString, read: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: `read` cannot reach Ruby through its argument and by contract does not call it, so
    // nothing moves or changes the bytes meanwhile; `string` is on the stack and so is kept.
    read(unsafe { string.as_slice() })
}

/// A new hash with the entries of `hash`, in order, not frozen.
///
/// # Errors
///
/// NoMemoryError.
pub fn duplicate(ruby: &Ruby, hash: RHash) -> Result<RHash, Error> {
    let _ = ruby;
    // SAFETY: the argument is a Hash, and what `rb_hash_dup` raises is caught by `protect`.
    let copy = protect(|| unsafe { rb_sys::rb_hash_dup(hash.as_raw()) })?;
    // SAFETY: `protect` returned the value that `rb_hash_dup` made.
    RHash::try_convert(unsafe { magnus::Value::from_raw(copy) })
}

/// Sets entries, which must lie on the stack, where the collector sees them.
///
/// # Errors
///
/// What Ruby raises: NoMemoryError, or FrozenError.
pub fn set_entries(hash: RHash, entries: &[(Value, Value)]) -> Result<(), Error> {
    let set_all = || {
        for (key, value) in entries {
            // SAFETY: the first argument is a Hash; what this raises is caught by `protect`, and the loop has nothing
            // to drop.
            unsafe { rb_sys::rb_hash_aset(hash.as_raw(), key.as_raw(), value.as_raw()) };
        }
        hash.as_raw()
    };
    protect(set_all).map(|_| ())
}
