//! Reads files whose descriptors Ruby owns.

use std::{
    fs::File,
    io,
    mem::ManuallyDrop,
    os::{fd::FromRawFd, unix::fs::FileExt},
};

/// Reads at most `length` bytes at `offset` of the open descriptor `fileno`.
///
/// # Errors
///
/// The system's, such as a bad descriptor.
pub fn read_at(fileno: i32, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    if fileno < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the descriptor stays Ruby's: it is only borrowed for this call and never closed here,
    // and one that is not open makes the system call fail.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fileno) });
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
