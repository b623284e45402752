//! Borrowed views of memory that Envoy owns.

use std::marker::PhantomData;

/// Bytes that Envoy owns, readable until the hook returns or a setter is called on the same object.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EnvoyBuffer<'a> {
    raw_ptr: *const u8,
    length: usize,
    _marker: PhantomData<&'a [u8]>,
}

impl Default for EnvoyBuffer<'_> {
    fn default() -> Self {
        Self { raw_ptr: std::ptr::null(), length: 0, _marker: PhantomData }
    }
}

impl EnvoyBuffer<'_> {
    /// A view of a static string, for tests.
    pub fn new(static_str: &'static str) -> Self {
        Self { raw_ptr: static_str.as_ptr(), length: static_str.len(), _marker: PhantomData }
    }

    /// A view of `length` bytes from `raw_ptr`; a null pointer is an empty view.
    ///
    /// # Safety
    ///
    /// The bytes must stay readable and unchanged for the lifetime that the caller gives the view.
    pub unsafe fn new_from_raw(raw_ptr: *const u8, length: usize) -> Self {
        Self { raw_ptr, length, _marker: PhantomData }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        if self.raw_ptr.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: whoever made the view vouched for `length` readable bytes during its lifetime.
        unsafe { std::slice::from_raw_parts(self.raw_ptr, self.length) }
    }
}

impl<'a> From<&'a [u8]> for EnvoyBuffer<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { raw_ptr: bytes.as_ptr(), length: bytes.len(), _marker: PhantomData }
    }
}

/// Bytes that Envoy owns and that may be changed in place; otherwise like [`EnvoyBuffer`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EnvoyMutBuffer<'a> {
    raw_ptr: *mut u8,
    length: usize,
    _marker: PhantomData<&'a mut [u8]>,
}

impl Default for EnvoyMutBuffer<'_> {
    fn default() -> Self {
        Self { raw_ptr: std::ptr::null_mut(), length: 0, _marker: PhantomData }
    }
}

impl EnvoyMutBuffer<'_> {
    /// A view of static memory, for tests.
    pub fn new(static_str: &'static mut [u8]) -> Self {
        Self { raw_ptr: static_str.as_mut_ptr(), length: static_str.len(), _marker: PhantomData }
    }

    /// A view of `length` bytes from `raw_ptr`; a null pointer is an empty view.
    ///
    /// # Safety
    ///
    /// The bytes must stay valid for the lifetime that the caller gives the view, and nobody else may
    /// touch them during it.
    pub unsafe fn new_from_raw(raw_ptr: *mut u8, length: usize) -> Self {
        Self { raw_ptr, length, _marker: PhantomData }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        if self.raw_ptr.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: whoever made the view vouched for `length` readable bytes during its lifetime.
        unsafe { std::slice::from_raw_parts(self.raw_ptr, self.length) }
    }

    /// The bytes, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.raw_ptr.is_null() || self.length == 0 {
            return &mut [];
        }
        // SAFETY: whoever made the view vouched for `length` bytes that nobody else touches during its lifetime.
        unsafe { std::slice::from_raw_parts_mut(self.raw_ptr, self.length) }
    }
}
