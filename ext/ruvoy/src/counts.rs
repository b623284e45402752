//! Counts what a request costs, for the gates of `bin/test`. Without the feature `count-allocations` nothing of it is compiled.

/// What is counted besides the heap allocations of this module.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// A commit that makes a worker look into a stream's mailbox.
    Commit,
    /// A commit by which a worker rings at the end of its turn.
    Bell,
    /// A write to the owner thread's eventfd.
    Wakeup,
}

/// Any thread: counts one.
#[inline]
pub fn count(what: Count) {
    #[cfg(feature = "count-allocations")]
    counting::add(what);
    #[cfg(not(feature = "count-allocations"))]
    let _ = what;
}

#[cfg(feature = "count-allocations")]
pub mod counting {
    //! The counters.

    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Count;
    use crate::ffi;

    static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    pub(super) fn add(what: Count) {
        COUNTS[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted so far, by name.
    pub fn all() -> [(&'static str, u64); 4] {
        let count = |what: Count| COUNTS[what as usize].load(Ordering::Relaxed);
        [
            ("allocations", ffi::allocator::allocations()),
            ("commits", count(Count::Commit)),
            ("bells", count(Count::Bell)),
            ("wakeups", count(Count::Wakeup)),
        ]
    }
}
