//! Upstream calls of a stream, on both threads: the stream's lock, events and byte counts around [`Calls`].
//!
//! [`Calls`]: super::calls::Calls

use super::{
    Gone,
    calls::{Answer, CallCommand, CallId, Failure, Target},
    fields::Fields,
    mailbox::{Command, Head},
    stream::{Notice, Stream, event},
    sync::{Arc, lock},
};

/// Owner thread.
impl Stream {
    /// A new call.
    ///
    /// # Errors
    ///
    /// Why there can be none: the request has ended, or it has too many calls.
    pub fn open_call(&self, target: Target) -> Result<CallId, Failure> {
        let mut state = lock(&self.state);
        if state.gone {
            return Err(Failure::Abandoned);
        }
        state.calls.open(target).ok_or(Failure::TooMany)
    }

    /// Sends a call's request, with its whole body or none where it follows in pieces.
    pub fn start_call(&self, id: CallId, fields: Fields, body: Option<Vec<u8>>) {
        let bytes = body.as_ref().map_or(0, Vec::len);
        let mut state = lock(&self.state);
        if !state.gone && state.calls.start(id, fields, body) {
            self.exchange.budget.add(bytes);
            self.commit(state);
        }
    }

    /// How many bytes of a call's request body may be written now; after 0 an event follows.
    ///
    /// # Errors
    ///
    /// [`Gone`] once the call has ended: nobody wants the rest.
    pub fn call_room(&self, id: CallId) -> Result<usize, Gone> {
        let mut state = lock(&self.state);
        let held = state.calls.outgoing(id).filter(|_| !state.gone).ok_or(Gone)?;
        let room = self.room(held);
        if room == 0 {
            state.calls.wait_for_room(id);
        }
        Ok(room)
    }

    /// Sends a piece of a call's request body, of no more than [`Stream::call_room`] bytes.
    pub fn write_call(&self, id: CallId, bytes: Vec<u8>) {
        let count = bytes.len();
        let mut state = lock(&self.state);
        if !state.gone && state.calls.write(id, bytes) {
            self.exchange.budget.add(count);
            self.commit(state);
        }
    }

    /// Ends a call's request body.
    pub fn finish_call(&self, id: CallId) {
        let mut state = lock(&self.state);
        if !state.gone && state.calls.finish(id) {
            self.commit(state);
        }
    }

    /// The head of a call's answer. After [`Answer::Pending`] an event follows.
    pub fn call_head(&self, id: CallId) -> Answer<Head> {
        lock(&self.state).calls.head(id)
    }

    /// Some of the body of a call's answer, about `max` bytes. After [`Answer::Pending`] an event follows.
    pub fn read_call(&self, id: CallId, max: usize) -> Answer<Vec<u8>> {
        let answer = lock(&self.state).calls.read(id, max);
        if let Answer::Ready(bytes) = &answer {
            self.exchange.budget.subtract(bytes.len());
        }
        answer
    }

    /// Moves what has landed of the body of a call's answer into the response, as far as there is room, and tells how much
    /// that was. An event follows after 0 (no room there) and [`Answer::Pending`].
    ///
    /// # Errors
    ///
    /// [`Gone`] where nobody would receive it.
    pub fn pass_call(&self, id: CallId) -> Result<Answer<usize>, Gone> {
        let mut state = lock(&self.state);
        if state.gone {
            return Err(Gone);
        }
        let room = self.room_or_wait(&mut state);
        if room == 0 {
            return Ok(Answer::Ready(0));
        }
        let bytes = match state.calls.take(id, room) {
            Answer::Ready(bytes) => bytes,
            Answer::Pending => return Ok(Answer::Pending),
            Answer::End => return Ok(Answer::End),
            Answer::Failed(failure) => return Ok(Answer::Failed(failure)),
        };
        let count = bytes.len();
        if state.mailbox.push(Command::Data(bytes)) {
            self.commit(state);
        } else {
            self.exchange.budget.subtract(count);
        }
        Ok(Answer::Ready(count))
    }

    /// The calls for which something has happened.
    pub fn take_ready_calls(&self) -> Vec<CallId> {
        lock(&self.state).calls.take_ready()
    }

    /// Forgets a call; one in flight is cancelled because of `failure`.
    pub fn forget_call(&self, id: CallId, failure: Failure) {
        let mut state = lock(&self.state);
        let (held, in_flight) = state.calls.forget(id, failure);
        self.exchange.budget.subtract(held);
        if in_flight && !state.gone {
            self.commit(state);
        }
    }
}

/// Worker.
impl Stream {
    /// The next command about a call.
    pub fn next_call_command(&self) -> Option<CallCommand> {
        let (command, held) = lock(&self.state).calls.next_command()?;
        self.exchange.budget.subtract(held);
        Some(command)
    }

    /// After commands were carried out: tells a writer that waits once half of its room is free.
    pub fn tell_call_writers(self: &Arc<Self>) -> Notice {
        let told = lock(&self.state).calls.tell_writers(self.limits.buffer_bytes / 2);
        self.post_if(told, event::UPSTREAM)
    }

    /// Lands the head of a call's answer.
    pub fn land_call_head(self: &Arc<Self>, id: CallId, head: Head) -> Notice {
        let told = lock(&self.state).calls.land_head(id, head);
        self.post_if(told, event::UPSTREAM)
    }

    /// Lands a piece of the body of a call's answer.
    ///
    /// # Errors
    ///
    /// Why the call must be ended: there is no room for it, and nothing that could make the upstream wait.
    pub fn land_call(self: &Arc<Self>, id: CallId, bytes: Vec<u8>) -> Result<Notice, Failure> {
        let mut state = lock(&self.state);
        // An answer that is not wanted any more needs no room.
        let Some((limit, held)) = state.calls.room(id) else { return Ok(Notice::None) };
        if held + bytes.len() > limit {
            return Err(if state.calls.is_whole(id) { Failure::TooLarge } else { Failure::Overflow });
        }
        if self.exchange.budget.room(held, limit, self.limits.total_buffer_bytes) < bytes.len() {
            return Err(Failure::TotalOverflow);
        }
        self.exchange.budget.add(bytes.len());
        let told = state.calls.land(id, bytes);
        drop(state);
        Ok(self.post_if(told, event::UPSTREAM))
    }

    /// Ends a call, well or not.
    pub fn end_call(self: &Arc<Self>, id: CallId, end: Result<(), Failure>) -> Notice {
        let (dropped, told) = lock(&self.state).calls.end(id, end);
        self.exchange.budget.subtract(dropped);
        self.post_if(told, event::UPSTREAM)
    }
}
