//! The part of a request body that has left Envoy and that the application has not read yet.

use std::collections::VecDeque;

use super::fields::Fields;

/// What a read finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// Bytes, at least one.
    Data(Vec<u8>),
    /// Nothing has landed; an event follows when something does.
    Pending,
    /// The body is complete and read.
    End,
    /// The stream is gone: there is no knowing whether the body was complete.
    Gone,
}

/// A queue of landed chunks. The stream's lock guards it.
#[derive(Debug, Default)]
pub struct Input {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that were read.
    consumed: usize,
    held: usize,
    ended: bool,
    /// The owner thread waits for the next bytes or the end.
    pub waiting: bool,
    /// Envoy holds more than was pulled.
    pub more_in_envoy: bool,
    /// The client holds the body back until it is asked for it (`expect: 100-continue`).
    pub held_back: bool,
    /// The trailers, once they came.
    pub trailers: Option<Fields>,
}

impl Input {
    /// Bytes held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Whether the end has landed.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Appends a chunk.
    pub fn land(&mut self, chunk: Vec<u8>) {
        self.held += chunk.len();
        if !chunk.is_empty() {
            self.chunks.push_back(chunk);
        }
    }

    /// Marks the end.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Takes at most `max` bytes, of one chunk.
    pub fn read(&mut self, max: usize) -> Read {
        let Some(first) = self.chunks.front_mut() else {
            return if self.ended { Read::End } else { Read::Pending };
        };
        let available = first.len() - self.consumed;
        let data = if available > max {
            let start = self.consumed;
            self.consumed += max;
            first[start..start + max].to_vec()
        } else {
            let mut whole = std::mem::take(first);
            whole.drain(..self.consumed);
            self.chunks.pop_front();
            self.consumed = 0;
            whole
        };
        self.held -= data.len();
        Read::Data(data)
    }

    /// Drops what is held; returns how much it was.
    pub fn clear(&mut self) -> usize {
        self.chunks.clear();
        self.consumed = 0;
        std::mem::take(&mut self.held)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read_in_parts_and_in_order() {
        let mut input = Input::default();
        assert_eq!(input.read(4), Read::Pending);
        input.land(b"abcdef".to_vec());
        input.land(Vec::new());
        input.land(b"g".to_vec());
        input.end();
        assert_eq!(input.held(), 7);
        assert_eq!(input.read(4), Read::Data(b"abcd".to_vec()));
        assert_eq!(input.read(4), Read::Data(b"ef".to_vec()));
        assert_eq!(input.held(), 1);
        assert_eq!(input.read(4), Read::Data(b"g".to_vec()));
        assert_eq!(input.read(4), Read::End);
    }

    #[test]
    fn clearing_tells_what_was_held() {
        let mut input = Input::default();
        input.land(vec![0; 10]);
        input.read(3);
        assert_eq!(input.clear(), 7);
        assert_eq!(input.read(1), Read::Pending);
    }
}
