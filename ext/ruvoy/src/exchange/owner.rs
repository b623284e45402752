//! The owner thread's end of the exchange: the batch it works on and the requests it serves.

use super::{
    Exchange, Head, Stream, event,
    sync::{Arc, Ordering, lock},
};

/// What the owner thread is to do next.
#[derive(Debug)]
pub enum Event {
    /// Serve a new request, from now on named by the id; the bits of [`event`] tell what it has.
    Request(u64, u32),
    /// Events of a request that is being served, as bits of [`event`].
    Stream(u64, u32),
    /// End when the requests in flight have ended. Comes once.
    Stop,
}

/// The owner thread's end; only that thread has it.
#[derive(Debug)]
pub struct Owner {
    exchange: Arc<Exchange>,
    batch: Vec<Arc<Stream>>,
    /// The first event of the batch that was not handed out.
    next: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    stop_seen: bool,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    stream: Option<Arc<Stream>>,
}

/// Ids are a slot's index below and its generation above, so that an id is not soon used again.
const SLOT_BITS: u32 = 20;
const GENERATIONS: u32 = 1 << 30;

impl Owner {
    /// The one owner of `exchange`.
    pub fn new(exchange: Arc<Exchange>) -> Self {
        Self { exchange, batch: Vec::new(), next: 0, slots: Vec::new(), free: Vec::new(), stop_seen: false }
    }

    /// The exchange.
    pub fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// Takes all queued events into the batch, in one go; returns how many the batch has.
    pub fn take(&mut self) -> usize {
        self.exchange.idle.store(false, Ordering::SeqCst);
        self.exchange.idle_since_ms.store(0, Ordering::Relaxed);
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            std::mem::swap(&mut self.batch, &mut lock(&self.exchange.queue).streams);
        }
        self.batch.len() - self.next + usize::from(self.must_stop())
    }

    /// The batch's next event, none when it is used up.
    pub fn next_event(&mut self) -> Option<Event> {
        while let Some(stream) = self.batch.get(self.next).map(Arc::clone) {
            self.next += 1;
            let bits = stream.take_events();
            if bits & event::REQUEST != 0 {
                let id = self.reserve();
                if let Some(bits) = stream.start(id) {
                    self.occupy(id, stream);
                    return Some(Event::Request(id, bits));
                }
                self.vacate(id);
            } else if stream.id() != 0 {
                return Some(Event::Stream(stream.id(), bits));
            }
        }
        // References to ended streams are not kept until the next batch.
        self.batch.clear();
        self.next = 0;
        if self.must_stop() {
            self.stop_seen = true;
            return Some(Event::Stop);
        }
        None
    }

    /// Declares the owner thread idle, so that workers ring. Returns false, and does not declare it,
    /// if something has arrived meanwhile.
    pub fn arm(&mut self) -> bool {
        self.exchange.idle.store(true, Ordering::SeqCst);
        if self.next == self.batch.len() && lock(&self.exchange.queue).streams.is_empty() && !self.must_stop() {
            self.exchange.idle_since_ms.store(self.exchange.now_ms(), Ordering::Relaxed);
            return true;
        }
        self.exchange.idle.store(false, Ordering::SeqCst);
        false
    }

    /// The stream of a request that is being served.
    pub fn stream(&self, id: u64) -> Option<&Arc<Stream>> {
        let slot = self.slots.get(slot_index(id))?;
        slot.stream.as_ref().filter(|stream| stream.id() == id)
    }

    /// Ends the service of a request.
    pub fn release(&mut self, id: u64) {
        if self.stream(id).is_none() {
            return;
        }
        if let Some(stream) = self.slots[slot_index(id)].stream.take() {
            stream.release();
        }
        self.vacate(id);
    }

    /// The owner thread cannot go on: nothing is queued any more, and every request that was queued
    /// or being served is answered with `head` and `body`, or reset if its response had begun.
    pub fn abandon(&mut self, head: &Head, body: &[u8]) {
        self.exchange.gone.store(true, Ordering::Release);
        let queued = {
            let mut queue = lock(&self.exchange.queue);
            queue.closed = true;
            std::mem::take(&mut queue.streams)
        };
        let served = self.slots.drain(..).filter_map(|slot| slot.stream);
        let waiting = self.batch.drain(..).skip(self.next).chain(queued);
        let waiting = waiting.filter(|stream| stream.take_events() & event::REQUEST != 0);
        for stream in served.chain(waiting) {
            stream.abandon(head.clone(), body.to_vec());
        }
        self.next = 0;
        self.free.clear();
    }

    fn must_stop(&self) -> bool {
        !self.stop_seen && self.exchange.stopping.load(Ordering::SeqCst)
    }

    fn reserve(&mut self) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation % (GENERATIONS - 1) + 1;
        (u64::from(slot.generation) << SLOT_BITS) | u64::from(index)
    }

    fn occupy(&mut self, id: u64, stream: Arc<Stream>) {
        self.slots[slot_index(id)].stream = Some(stream);
    }

    fn vacate(&mut self, id: u64) {
        self.free.push(u32::try_from(slot_index(id)).unwrap_or(u32::MAX));
    }
}

fn slot_index(id: u64) -> usize {
    usize::try_from(id & ((1 << SLOT_BITS) - 1)).unwrap_or(usize::MAX)
}
