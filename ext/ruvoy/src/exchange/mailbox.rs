//! What the owner thread has for a stream's worker: the response, command by command.

use std::collections::VecDeque;

use super::fields::Fields;

/// Status and header fields of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status, 100 to 599.
    pub status: u16,
    /// The fields, without `:status`.
    pub fields: Fields,
}

/// One message from the owner thread to the worker, which carries it out in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// An informational response such as 103; the final head is still to come.
    Informational(Head),
    /// A whole response: head, body (perhaps none) and end.
    Complete(Head, Vec<u8>),
    /// The head of a response whose body follows.
    Head(Head),
    /// A piece of the body.
    Data(Vec<u8>),
    /// The end of the body, with trailers if there are any.
    End(Fields),
    /// The response cannot be completed: the client must see an error.
    Reset,
}

impl Command {
    /// The body bytes that the command carries.
    pub fn body_len(&self) -> usize {
        match self {
            Self::Data(bytes) | Self::Complete(_, bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Whether it must wait for the client to read: only body bytes do.
    fn waits(&self) -> bool {
        matches!(self, Self::Data(_))
    }
}

/// How far the owner thread has come with the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Nothing but informational responses.
    #[default]
    Nothing,
    /// The head is sent or on its way.
    Head,
    /// The end (or the reset) is sent or on its way.
    End,
}

/// Small pieces of a body are put together up to this size.
const MERGE_BYTES: usize = 16 * 1024;

/// A queue of commands. The stream's lock guards it.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// The next command; in most responses the only one, which therefore takes no memory of its own.
    next: Option<Command>,
    /// Those after it; empty while there is no next one.
    later: VecDeque<Command>,
    held: usize,
    progress: Progress,
    /// An event for the worker is on its way.
    pub committed: bool,
    /// The owner thread waits for room.
    pub waiting: bool,
}

impl Mailbox {
    /// Body bytes held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How far the response is.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Appends `command`, unless the response was ended before. Returns whether it was taken.
    pub fn push(&mut self, command: Command) -> bool {
        let reached = match command {
            Command::Informational(_) if self.progress == Progress::Nothing => Progress::Nothing,
            Command::Head(_) if self.progress == Progress::Nothing => Progress::Head,
            Command::Complete(..) if self.progress == Progress::Nothing => Progress::End,
            Command::Data(_) if self.progress == Progress::Head => Progress::Head,
            Command::End(_) if self.progress == Progress::Head => Progress::End,
            Command::Reset if self.progress < Progress::End => Progress::End,
            _ => return false,
        };
        self.progress = reached;
        self.held += command.body_len();
        match (self.later.back_mut().or(self.next.as_mut()), command) {
            (Some(Command::Data(last)), Command::Data(next)) if last.len() + next.len() <= MERGE_BYTES => {
                last.extend_from_slice(&next);
            }
            (None, command) => self.next = Some(command),
            (Some(_), command) => self.later.push_back(command),
        }
        true
    }

    /// Appends 100 (Continue), unless a response has begun. Returns whether it was taken.
    pub fn ask_for_body(&mut self) -> bool {
        self.push(Command::Informational(Head { status: 100, fields: Fields::default() }))
    }

    /// The next command; none where it is body data and the client is `blocked`.
    pub fn pop(&mut self, blocked: bool) -> Option<Command> {
        if blocked && self.next.as_ref().is_some_and(Command::waits) {
            // A reset overtakes the body that it makes worthless.
            return (self.later.back() == Some(&Command::Reset)).then_some(Command::Reset);
        }
        let command = self.next.take()?;
        self.next = self.later.pop_front();
        self.held -= command.body_len();
        Some(command)
    }

    /// Drops everything; returns how many body bytes were held.
    pub fn clear(&mut self) -> usize {
        self.next = None;
        self.later.clear();
        std::mem::take(&mut self.held)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn head() -> Head {
        Head { status: 200, fields: Fields::default() }
    }

    #[test]
    fn a_response_goes_through_in_order() {
        let mut mailbox = Mailbox::default();
        assert!(mailbox.push(Command::Informational(Head { status: 103, fields: Fields::default() })));
        assert!(mailbox.push(Command::Head(head())));
        assert!(!mailbox.push(Command::Informational(head())), "too late");
        assert!(mailbox.push(Command::Data(vec![1; MERGE_BYTES])));
        assert!(mailbox.push(Command::Data(vec![2])));
        assert!(mailbox.push(Command::Data(vec![3])));
        assert!(mailbox.push(Command::End(Fields::default())));
        assert!(!mailbox.push(Command::Reset), "the response was complete");
        assert_eq!(mailbox.held(), MERGE_BYTES + 2);
        let mut popped = Vec::new();
        while let Some(command) = mailbox.pop(false) {
            popped.push(command);
        }
        assert_eq!(popped.len(), 5);
        assert_eq!(popped[3], Command::Data(vec![2, 3]), "small pieces go together");
        assert_eq!(mailbox.held(), 0);
    }

    #[test]
    fn body_data_waits_for_a_blocked_client_and_heads_do_not() {
        let mut mailbox = Mailbox::default();
        mailbox.push(Command::Head(head()));
        mailbox.push(Command::Data(vec![1]));
        assert_eq!(mailbox.pop(true), Some(Command::Head(head())));
        assert_eq!(mailbox.pop(true), None);
        mailbox.push(Command::Reset);
        assert_eq!(mailbox.pop(true), Some(Command::Reset));
    }

    #[test]
    fn commands_out_of_order_are_not_taken() {
        let mut mailbox = Mailbox::default();
        assert!(!mailbox.push(Command::Data(vec![1])));
        assert!(!mailbox.push(Command::End(Fields::default())));
        assert!(mailbox.push(Command::Complete(head(), vec![1, 2])));
        assert!(!mailbox.push(Command::Head(head())));
        assert_eq!(mailbox.progress(), Progress::End);
        assert_eq!(mailbox.clear(), 2);
        assert_eq!(mailbox.pop(false), None);
    }
}
