//! The process's end: a function that runs before Envoy's and libruby's destructors, and the way out
//! that skips them.

use std::{
    ffi::{c_int, c_void},
    panic::catch_unwind,
};

unsafe extern "C" {
    // glibc; the libc crate does not have it.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Has `function` called with the exit status when the process exits in an orderly way.
pub fn at_exit(function: fn(i32)) {
    // SAFETY: a plain function pointer goes through the argument and comes back in `trampoline`.
    unsafe { on_exit(trampoline, function as *mut c_void) };
}

extern "C" fn trampoline(status: c_int, argument: *mut c_void) {
    if argument.is_null() {
        return;
    }
    // SAFETY: `at_exit` is the only one that registers this function, with a `fn(i32)` as argument.
    let function: fn(i32) = unsafe { std::mem::transmute(argument) };
    let _ = catch_unwind(|| function(status));
}

/// Ends the process at once, without destructors: for when threads may still run Ruby.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(status) }
}
