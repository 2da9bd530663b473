//! How many writes a message takes, however much room there is, and what happens to a malformed
//! message.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::pin::pin;
use std::task::Waker;

use super::*;
use crate::StreamError;

/// Accepts up to `room` bytes at a time.
struct Written {
    room: usize,
    writes: Vec<Bytes>,
    is_finished: bool,
}

impl H3Sending for Written {
    fn id(&self) -> u64 {
        0
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>> {
        let part = bytes.split_to(self.room.min(bytes.len()));
        self.writes.push(part);
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_stopped(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn finish(&mut self) -> Result<(), StreamError> {
        self.is_finished = true;
        Ok(())
    }

    fn reset(&mut self, _: Code) {}
}

/// Returns pieces and then the end; records the calls to it.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    done: std::rc::Rc<std::cell::RefCell<Vec<Code>>>,
}

impl H3Receiving for Pieces {
    fn poll_read(
        &mut self,
        _: &mut Context<'_>,
        _: usize,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        Poll::Ready(Ok(self.pieces.pop_front()))
    }

    fn stop(&mut self, code: Code) {
        self.done.borrow_mut().push(code);
    }

    fn close(&self, code: Code, _: &str) {
        self.done.borrow_mut().push(code);
    }
}

const OK: [(&[u8], &[u8]); 1] = [(b":status", b"200")];
const LIMITS: SectionLimits = SectionLimits {
    fields: 10,
    size: 1000,
};

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..1000 {
        if let Poll::Ready(done) = work.as_mut().poll(&mut cx) {
            return done;
        }
    }
    panic!("it does not end");
}

fn sender(room: usize) -> MessageSender<Written> {
    let sending = Written {
        room,
        writes: Vec::new(),
        is_finished: false,
    };
    MessageSender::new(sending, u64::MAX)
}

/// Parses the written message and returns its parts.
fn read(written: &Written) -> String {
    let done = std::rc::Rc::default();
    let receiving = Pieces {
        pieces: written.writes.iter().cloned().collect(),
        done,
    };
    let mut message = MessageStream::new(receiving, Side::Server, LIMITS);
    let mut text = String::new();
    while let Some(part) = run(message.next(10)).unwrap() {
        match part {
            MessagePart::Head(section) => write!(text, "H{}", section.len()).unwrap(),
            MessagePart::Data(data) => text += std::str::from_utf8(&data).unwrap(),
            MessagePart::Trailers(section) => write!(text, "T{}", section.len()).unwrap(),
        }
    }
    text
}

#[test]
fn a_small_message_leaves_in_one_write() {
    let mut sender = sender(usize::MAX);
    sender.section(OK);
    sender.data(b"abc");
    run(sender.send_data("def".into())).unwrap();
    sender.section([(b"x".as_slice(), b"y".as_slice())]);
    assert!(sender.sending.writes.is_empty());
    run(sender.finish()).unwrap();
    assert_eq!(sender.sending.writes.len(), 1);
    assert!(sender.sending.is_finished);
    assert_eq!(read(&sender.sending), "H1abcdefT1");
}

#[test]
fn large_content_is_not_copied() {
    let content = Bytes::from("x".repeat(MAX_COPIED + 1));
    let mut sender = sender(usize::MAX);
    sender.section(OK);
    run(sender.send_data(content.clone())).unwrap();
    run(sender.finish()).unwrap();
    let last = sender.sending.writes.last().unwrap();
    assert_eq!(last.as_ptr(), content.as_ptr());
    let expected = format!("H1{}", "x".repeat(content.len()));
    assert_eq!(read(&sender.sending), expected);
}

#[test]
fn a_message_is_whole_whatever_room_there_is() {
    for room in [1, 2, 7, 1000] {
        let mut sender = sender(room);
        sender.section(OK);
        sender.data(b"abc");
        run(sender.flush()).unwrap();
        sender.data(b"never");
        sender.discard();
        sender.data(b"def");
        run(sender.finish()).unwrap();
        assert_eq!(read(&sender.sending), "H1abcdef");
    }
}

/// RFC 9114 §4.2.2.
#[test]
fn a_section_that_the_peer_does_not_accept_is_not_sent() {
    // ":status: 200" counts 42 bytes.
    for (max_section, is_sent) in [(42, true), (41, false)] {
        let mut sender = sender(usize::MAX);
        sender.max_section = max_section;
        sender.section(OK);
        let sent = run(sender.finish());
        assert_eq!(sent.is_ok(), is_sent, "{sent:?}");
        assert_eq!(sender.sending.writes.is_empty(), !is_sent);
    }
}

#[test]
fn malformed_messages_are_stopped_once_they_may_have_been_answered() {
    let malformed = [1, 4, 0, 0, 0xd9, 0xd9].as_slice();
    let unexpected = [0, 1, 0].as_slice();
    for (bytes, at_once, in_the_end) in [
        (malformed, None, Some(Code::H3_MESSAGE_ERROR)),
        (
            unexpected,
            Some(Code::H3_FRAME_UNEXPECTED),
            Some(Code::H3_FRAME_UNEXPECTED),
        ),
        (&[1, 0x47, 0xff], None, None),
    ] {
        let receiving = Pieces {
            pieces: [Bytes::copy_from_slice(bytes)].into(),
            ..Pieces::default()
        };
        let done = receiving.done.clone();
        let mut message = MessageStream::new(receiving, Side::Server, LIMITS);
        let error = run(message.head()).unwrap_err();
        assert_eq!(run(message.next(1)).unwrap_err(), error);
        assert_eq!(done.borrow().last().copied(), at_once);
        drop(message);
        assert_eq!(done.borrow().last().copied(), in_the_end);
    }
}
