//! Between Rust's slices and the ABI's arrays, without the heap in the usual case.

use crate::abi::{
    self, envoy_dynamic_module_type_envoy_buffer as EnvoyBuf,
    envoy_dynamic_module_type_envoy_http_header as EnvoyHeader, envoy_dynamic_module_type_module_buffer as ModuleBuf,
    envoy_dynamic_module_type_module_http_header as ModuleHeader,
};
use crate::{EnvoyBuffer, EnvoyMutBuffer};
use std::borrow::Cow;
use std::mem::{align_of, offset_of, size_of, MaybeUninit};

type Pair<'a> = (EnvoyBuffer<'a>, EnvoyBuffer<'a>);

// Arrays of Envoy's buffers and headers are read in place as arrays of our views. Rust promises no
// layout for a tuple, so the build stops if it ever differs.
const _: () = {
    assert!(size_of::<EnvoyBuffer>() == size_of::<EnvoyBuf>());
    assert!(align_of::<EnvoyBuffer>() == align_of::<EnvoyBuf>());
    assert!(size_of::<EnvoyMutBuffer>() == size_of::<EnvoyBuf>());
    assert!(size_of::<Pair>() == size_of::<EnvoyHeader>());
    assert!(align_of::<Pair>() == align_of::<EnvoyHeader>());
    assert!(offset_of!(Pair, 0) == offset_of!(EnvoyHeader, key_ptr));
    assert!(offset_of!(Pair, 1) == offset_of!(EnvoyHeader, value_ptr));
};

/// Envoy's array of headers as pairs of views.
///
/// # Safety
///
/// `headers` is null or holds `size` headers, all of it readable for `'a`.
pub(crate) unsafe fn pairs<'a>(headers: *const EnvoyHeader, size: usize) -> &'a [Pair<'a>] {
    if headers.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: the layouts are the same, see above; the caller vouches for the memory.
    unsafe { std::slice::from_raw_parts(headers.cast(), size) }
}

/// Envoy's array of buffers as views.
///
/// # Safety
///
/// `buffers` is null or holds `size` buffers, all of it readable for `'a`.
pub(crate) unsafe fn views<'a>(buffers: *const EnvoyBuf, size: usize) -> &'a [EnvoyBuffer<'a>] {
    if buffers.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: the layouts are the same, see above; the caller vouches for the memory.
    unsafe { std::slice::from_raw_parts(buffers.cast(), size) }
}

/// A buffer of Envoy's as bytes.
///
/// # Safety
///
/// The buffer's pointer is null or readable for `'a`.
pub(crate) unsafe fn bytes<'a>(buffer: EnvoyBuf) -> &'a [u8] {
    if buffer.ptr.is_null() || buffer.length == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for the memory.
    unsafe { std::slice::from_raw_parts(buffer.ptr.cast(), buffer.length) }
}

/// A buffer of Envoy's as text; what is no UTF-8 is replaced.
///
/// # Safety
///
/// As for [`bytes`].
pub(crate) unsafe fn text<'a>(buffer: EnvoyBuf) -> Cow<'a, str> {
    // SAFETY: the caller's promise is the same.
    String::from_utf8_lossy(unsafe { bytes(buffer) })
}

/// A list that Envoy writes: `fill` gets the place for `size` elements of the ABI's type `A` and
/// answers whether it wrote them all.
///
/// # Safety
///
/// `A` and `T` have the same layout, and `fill` answers `true` only when all `size` are written.
pub(crate) unsafe fn filled<A, T>(size: usize, fill: impl FnOnce(*mut A) -> bool) -> Option<Vec<T>> {
    if size == 0 {
        return None;
    }
    let mut list: Vec<T> = Vec::with_capacity(size);
    if !fill(list.as_mut_ptr().cast()) {
        return None;
    }
    // SAFETY: the capacity is `size`, and by the caller's promise all elements are written.
    unsafe { list.set_len(size) };
    Some(list)
}

/// Calls `body` with `headers` as an array of the ABI.
pub(crate) fn with_headers<R>(headers: &[(&str, &[u8])], body: impl FnOnce(*mut ModuleHeader, usize) -> R) -> R {
    let convert = |(key, value): &(&str, &[u8])| ModuleHeader {
        key_ptr: key.as_ptr().cast(),
        key_length: key.len(),
        value_ptr: value.as_ptr().cast(),
        value_length: value.len(),
    };
    with_array::<_, _, _, 32>(headers, convert, body)
}

/// Calls `body` with `texts` as an array of the ABI.
pub(crate) fn with_texts<R>(texts: &[&str], body: impl FnOnce(*mut ModuleBuf, usize) -> R) -> R {
    with_array::<_, _, _, 8>(texts, |text| abi::module_buffer(text.as_bytes()), body)
}

// Up to N elements live on the stack.
fn with_array<S, A: Copy, R, const N: usize>(
    source: &[S],
    convert: impl Fn(&S) -> A,
    body: impl FnOnce(*mut A, usize) -> R,
) -> R {
    if source.len() > N {
        let mut list: Vec<A> = source.iter().map(convert).collect();
        return body(list.as_mut_ptr(), list.len());
    }
    let mut array: [MaybeUninit<A>; N] = [const { MaybeUninit::uninit() }; N];
    for (slot, element) in array.iter_mut().zip(source) {
        slot.write(convert(element));
    }
    body(array.as_mut_ptr().cast(), source.len())
}
