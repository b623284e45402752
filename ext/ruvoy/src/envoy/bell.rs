//! Rings the owner thread once for all that a worker tells it in one turn of its event loop.
//!
//! The first stream of a turn that finds the owner thread asleep commits an event to itself, which
//! runs at the turn's end; a burst rings earlier. Ringing costs a system call, the event does not.

use std::cell::Cell;

use crate::exchange::{MAIL, Notice, Stream};

/// The event that a bell commits.
pub const BELL: u64 = MAIL + 1;

/// After so many streams a worker does not wait for the end of its turn.
const BURST: u32 = 16;

thread_local! {
    /// How many streams of this worker wait for the bell.
    static WAITING: Cell<u32> = const { Cell::new(0) };
}

/// A stream's part in ringing: whether it carries the event.
#[derive(Debug, Default)]
pub struct Bell {
    carries: bool,
}

impl Bell {
    /// Sees to it that the owner thread wakes soon, if the notice asks for that.
    pub fn ring_soon(&mut self, notice: Notice, stream: &Stream) {
        if notice == Notice::None {
            return;
        }
        let waiting = WAITING.get() + 1;
        WAITING.set(waiting);
        if waiting >= BURST {
            Self::ring_now(stream);
        } else if waiting == 1 {
            self.carries = true;
            stream.commit_event(BELL);
        }
    }

    /// The event arrived, or its stream ends and it never will.
    pub fn ring(&mut self, stream: &Stream) {
        if std::mem::take(&mut self.carries) {
            Self::ring_now(stream);
        }
    }

    fn ring_now(stream: &Stream) {
        WAITING.set(0);
        stream.exchange().ring();
    }
}
