//! The eventfd by which a worker wakes the owner thread.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use rustix::event::{EventfdFlags, eventfd};

use crate::{
    counts::{Count, count},
    exchange::{Arc, Wakeup},
};

/// An eventfd.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A new one that does not block.
    ///
    /// # Errors
    ///
    /// The system's, such as too many open files.
    pub fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// The descriptor, open as long as this lives.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Owner thread: makes it unreadable again, before the queue is taken. A worker that has decided to write and comes
    /// to it only later ends the next sleep early, which does no harm.
    pub fn clear(&self) {
        // EAGAIN: it was not readable.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

/// Wakes through a shared eventfd.
pub struct SharedEventFd(pub Arc<EventFd>);

impl Wakeup for SharedEventFd {
    fn wake(&self) {
        count(Count::Wakeup);
        // The one error of a write to an eventfd, EAGAIN, means that it is readable already.
        let _ = rustix::io::write(&self.0.0, &1_u64.to_ne_bytes());
    }
}
