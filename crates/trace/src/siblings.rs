//! A connection that several interfaces saw is reported once: from the place nearest to its client.

use std::collections::HashMap;

use crate::clocks::ClockRelation;
use crate::conversation::Conversation;
use crate::join::{FAR, join};
use crate::vantage::VantagePoint;

/// Finished conversations, and conversations that wait for their counterpart from another
/// interface.
#[derive(Default)]
pub(crate) struct Siblings {
    /// The waiting conversations by their number, which siblings share.
    waiting: HashMap<u64, Conversation>,
    done: Vec<Conversation>,
}

impl Siblings {
    /// Takes a conversation. `waits` says that another interface still sees the same connection.
    ///
    /// `far` relates a second capture to the first, if there is one.
    pub(crate) fn take(
        &mut self,
        conversation: Conversation,
        waits: bool,
        far: Option<&ClockRelation>,
    ) {
        let number = conversation.number;
        let is_far = |conversation: &Conversation| conversation.interface >= FAR;
        let conversation = match (self.waiting.remove(&number), far) {
            (Some(other), Some(relation)) if is_far(&conversation) && !is_far(&other) => {
                join(other, &conversation, relation)
            }
            (Some(other), Some(relation)) if is_far(&other) && !is_far(&conversation) => {
                join(conversation, &other, relation)
            }
            (Some(other), _) if rank(&other) <= rank(&conversation) => joined(other, &conversation),
            (Some(other), _) => joined(conversation, &other),
            (None, _) => conversation,
        };
        if waits {
            self.waiting.insert(number, conversation);
        } else {
            self.done.push(conversation);
        }
    }

    /// Returns each finished conversation once.
    pub(crate) fn drain(&mut self) -> Vec<Conversation> {
        std::mem::take(&mut self.done)
    }
}

/// Joins two conversations; the frames include those of both.
fn joined(mut kept: Conversation, other: &Conversation) -> Conversation {
    kept.frames.0 = kept.frames.0.min(other.frames.0);
    kept.frames.1 = kept.frames.1.max(other.frames.1);
    kept
}

fn rank(conversation: &Conversation) -> u8 {
    match conversation.vantage.place {
        VantagePoint::Client => 0,
        VantagePoint::Unknown => 1,
        VantagePoint::Middle => 2,
        VantagePoint::Server => 3,
    }
}
