//! Bodies of messages: stored bytes, or a pattern of any length that is never copied. `BodyPieces`
//! splits them for sending.

use bytes::Bytes;

pub(crate) const PATTERN_SIZE: usize = 64 * 1024;

/// Lines of 64 characters, so that a body of any size is readable.
static PATTERN: [u8; PATTERN_SIZE] = pattern();

#[allow(clippy::large_stack_arrays)] // evaluated by the compiler: it is on no stack
const fn pattern() -> [u8; PATTERN_SIZE] {
    let line = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";
    let mut bytes = [0; PATTERN_SIZE];
    let mut at = 0;
    while at < PATTERN_SIZE {
        bytes[at] = line[at % line.len()];
        at += 1;
    }
    bytes
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerBody {
    Held(Bytes),
    /// The pattern, repeated to this length in bytes.
    Fill(u64),
    /// The body of the request.
    Echo,
}

impl AnswerBody {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Held(bytes) => bytes.len() as u64,
            Self::Fill(length) => *length,
            Self::Echo => 0,
        }
    }

    pub(crate) fn pieces(self, size: usize) -> BodyPieces {
        BodyPieces {
            body: self,
            sent: 0,
            size: size.max(1),
        }
    }

    /// The whole body at once.
    pub(crate) fn collect(self) -> Vec<u8> {
        self.pieces(PATTERN_SIZE).flatten().collect()
    }
}

#[derive(Debug)]
pub(crate) struct BodyPieces {
    body: AnswerBody,
    sent: u64,
    size: usize,
}

impl BodyPieces {
    pub(crate) fn left(&self) -> u64 {
        self.body.len().saturating_sub(self.sent)
    }

    /// Ends the body after `at` bytes.
    pub(crate) fn truncate(&mut self, at: u64) {
        match &mut self.body {
            AnswerBody::Held(bytes) => bytes.truncate(usize::try_from(at).unwrap_or(usize::MAX)),
            AnswerBody::Fill(length) => *length = at.min(*length),
            AnswerBody::Echo => {}
        }
    }
}

impl Iterator for BodyPieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let piece = match &self.body {
            _ if left == 0 => return None,
            AnswerBody::Held(bytes) => {
                let from = self.sent as usize;
                bytes.slice(from..from + left.min(self.size))
            }
            AnswerBody::Fill(_) => {
                let from = self.sent as usize % PATTERN_SIZE;
                let length = left.min(self.size).min(PATTERN_SIZE - from);
                Bytes::from_static(PATTERN.get(from..from + length).unwrap_or_default())
            }
            AnswerBody::Echo => return None,
        };
        self.sent += piece.len() as u64;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_the_body(length in 0_u64..300_000, size in 1_usize..100_000) {
            let whole = AnswerBody::Fill(length).collect();
            prop_assert_eq!(whole.len() as u64, length);
            prop_assert!(whole.chunks(64).all(|line| line.starts_with(b"0123456789"[..line.len().min(10)].as_ref())));
            let cut: Vec<u8> = AnswerBody::Fill(length).pieces(size).flatten().collect();
            prop_assert_eq!(&cut, &whole);
            let held: Vec<u8> = AnswerBody::Held(whole.clone().into()).pieces(size).flatten().collect();
            prop_assert_eq!(&held, &whole);
        }

        #[test]
        fn a_cut_body_ends_where_it_was_cut(length in 0_u64..10_000, at in 0_u64..20_000, size in 1_usize..5_000) {
            for body in [AnswerBody::Fill(length), AnswerBody::Held(AnswerBody::Fill(length).collect().into())] {
                let mut pieces = body.pieces(size);
                pieces.truncate(at);
                prop_assert_eq!(pieces.flatten().count() as u64, at.min(length));
            }
        }
    }
}
