//! Counts the bytes that bodies hold, over all streams, against `limits.total_buffer_bytes`.

use super::sync::{AtomicUsize, Ordering};

/// What a body may hold however full the total is, so that every stream moves on.
pub const RESERVE_BYTES: usize = 16 * 1024;

/// The bytes held by all bodies.
#[derive(Debug, Default)]
pub struct Budget {
    held: AtomicUsize,
}

impl Budget {
    /// The bytes held now.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts `bytes` in.
    pub fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` out.
    pub fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How much more a body that holds `holds` bytes may take: up to `limit`, or up to
    /// [`RESERVE_BYTES`] where all bodies together hold `total` or more.
    pub fn room(&self, holds: usize, limit: usize, total: usize) -> usize {
        let limit = if self.held() >= total { limit.min(RESERVE_BYTES) } else { limit };
        limit.saturating_sub(holds)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_its_limit_while_the_total_is_free() {
        let budget = Budget::default();
        budget.add(100);
        assert_eq!(budget.room(40, 1_000_000, 101), 999_960);
        assert_eq!(budget.room(2_000_000, 1_000_000, 101), 0);
    }

    #[test]
    fn a_body_has_the_reserve_when_the_total_is_used_up() {
        let budget = Budget::default();
        budget.add(100);
        assert_eq!(budget.room(0, 1_000_000, 100), RESERVE_BYTES);
        assert_eq!(budget.room(RESERVE_BYTES, 1_000_000, 100), 0);
        assert_eq!(budget.room(0, 4096, 100), 4096);
        budget.subtract(100);
        assert_eq!(budget.held(), 0);
    }
}
