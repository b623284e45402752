//! The eventfd by which a worker wakes the owner thread.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::event::{EventfdFlags, eventfd};

use crate::exchange::{Arc, Wakeup};

/// An eventfd that remembers whether it was written.
#[derive(Debug)]
pub struct EventFd {
    fd: OwnedFd,
    written: AtomicBool,
}

impl EventFd {
    /// A new one that does not block.
    ///
    /// # Errors
    ///
    /// The system's, such as too many open files.
    pub fn new() -> io::Result<Arc<Self>> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self { fd, written: AtomicBool::new(false) }))
    }

    /// The descriptor, open as long as this lives.
    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Owner thread: makes it unreadable again, if it was written.
    pub fn clear(&self) {
        if self.written.swap(false, Ordering::AcqRel) {
            // EAGAIN cannot be: `written` is set after the write and cleared here alone.
            let _ = rustix::io::read(&self.fd, &mut [0_u8; 8]);
        }
    }
}

/// Wakes through a shared eventfd.
pub struct SharedEventFd(pub Arc<EventFd>);

impl Wakeup for SharedEventFd {
    fn wake(&self) {
        // The one error of a write to an eventfd, EAGAIN, means that it is readable already.
        let _ = rustix::io::write(&self.0.fd, &1_u64.to_ne_bytes());
        // After the write: a clear in between leaves it readable, and the next clear reads it.
        self.0.written.store(true, Ordering::Release);
    }
}
