//! Where the module itself was loaded from.

use std::{
    ffi::{CStr, OsStr},
    mem,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// The path of the shared object that holds this code.
pub fn module() -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid to be written over; the address is one of this object's
    // functions; on success `dli_fname` is a C string that lives as long as the object is loaded.
    let name = unsafe {
        let mut info: libc::Dl_info = mem::zeroed();
        if libc::dladdr(module as *const () as *const _, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    PathBuf::from(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
}
