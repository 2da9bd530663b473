//! What is read of a request's body before a connection is asked for. Connections to backends are few, and bodies come as
//! slowly as their clients like: who sends nothing holds nothing.

use std::rc::Rc;

use super::{Broken, Source};
use crate::config::Limits;
use crate::patrol::Post;
use crate::request::Refusal;
use crate::upstream::Upstream;

/// For all requests of one thread to one upstream. Beyond that connections are asked for at once.
const MAX_HELD: usize = 64 * 1024 * 1024;

/// The first part of a body.
pub(super) struct Ahead {
    pub(super) bytes: Vec<u8>,
    /// It is all of it.
    pub(super) whole: bool,
    /// What `upstream` has counted of it.
    counted: usize,
    upstream: Rc<Upstream>,
}

impl Ahead {
    pub(super) fn new(upstream: &Rc<Upstream>) -> Self {
        Self {
            bytes: Vec::new(),
            whole: false,
            counted: 0,
            upstream: upstream.clone(),
        }
    }

    /// Reads until the body is there, or as much of it as `limits` want, or their time is over.
    pub(super) async fn read(
        &mut self,
        body: &mut impl Source,
        limits: &Limits,
        post: &Post,
    ) -> Result<(), Broken> {
        let reading = self.read_on(body, limits);
        // In time or not, what is there is there.
        post.within(Some(limits.body_ahead_time.0), reading)
            .await
            .unwrap_or(Ok(()))
    }

    async fn read_on(&mut self, body: &mut impl Source, limits: &Limits) -> Result<(), Broken> {
        let enough = usize::try_from(limits.body_ahead.0).unwrap_or(usize::MAX);
        while self.bytes.len() < enough && self.upstream.ahead().get() < MAX_HELD {
            if !body.next(&mut self.bytes).await? {
                self.whole = true;
                return Ok(());
            }
            self.count();
            if self.bytes.len() as u64 > limits.body.0 {
                return Err(Refusal::BodyTooLarge.into());
            }
        }
        Ok(())
    }

    fn count(&mut self) {
        let held = self.upstream.ahead();
        held.set(held.get() + self.bytes.len() - self.counted);
        self.counted = self.bytes.len();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let held = self.upstream.ahead();
        held.set(held.get().saturating_sub(self.counted));
    }
}
