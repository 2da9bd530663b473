//! Reads a whole body before it leases a connection (`buffer_request`). The body is then sent with
//! its length, and kept, so that a request may be sent again whole.

use std::rc::Rc;

use super::rate::BodyRate;
use super::upload::{Rest, next_in_time};
use super::{Exchange, ExchangeError, PIECE, Sink, Source, over};
use crate::forward::h1::{Response, ResponseBody};
use crate::forward::upstream::{Link, Upstream};
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, add_length};
use crate::record::Limit;

/// The largest number of bytes that are sent together with the head.
const MAX_BEHIND_HEAD: u64 = 64 * 1024;
/// A body is stored in blocks of about this size, so that it is never copied to make room.
const BLOCK: usize = 64 * 1024;

impl<S: Sessions, B: Source, A: Sink> Exchange<'_, S, B, A> {
    pub(super) async fn buffered_link(
        &mut self,
        upstream: &Rc<Upstream>,
    ) -> Result<(Link, Option<Rest>), ExchangeError> {
        if self.asked.says_continue && self.answer.takes_interim() {
            self.say_continue(upstream).await?;
        }
        self.deadlines.waits_for_client(true);
        let (blocks, length) = self.read_whole().await?;
        self.deadlines.waits_for_client(false);
        self.entry.bytes_up += length;
        if self.asked.body.is_chunked() {
            add_length(self.head, length);
        }
        let rest = if length > MAX_BEHIND_HEAD {
            Some(Rest::Whole(blocks))
        } else {
            for block in &blocks {
                self.head.extend_from_slice(block);
            }
            None
        };
        Ok((self.lease(upstream, false).await?, rest))
    }

    /// Returns the blocks, and their length in total.
    async fn read_whole(&mut self) -> Result<(Vec<Vec<u8>>, u64), ExchangeError> {
        let limits = &self.site.policy.limits;
        let most = self.asked.route.buffer_request.min(limits.body.0);
        let (body, deadline, buffer) = (&mut *self.body, &self.deadlines.up, self.buffer);
        let reading = async {
            let (mut blocks, mut block, mut rate) = (Vec::new(), Vec::new(), BodyRate::new(limits));
            let (mut length, mut held) = (0, 0);
            loop {
                let before = block.len();
                let more = if rate.is_required() {
                    next_in_time(body, &mut rate, deadline, &mut block).await?
                } else {
                    body.next(&mut block).await?
                };
                length += (block.len() - before) as u64;
                buffer(held + block.capacity()).map_err(ExchangeError::NoRoom)?;
                if length > most {
                    return Err(BadRequestError::BodyTooLarge.into());
                }
                if !more || block.len() > BLOCK - PIECE {
                    block.shrink_to_fit();
                    held += block.capacity();
                    blocks.push(std::mem::take(&mut block));
                }
                if !more {
                    return Ok((blocks, length));
                }
            }
        };
        tokio::select! {
            biased;
            read = reading => read,
            () = over(self.site, self.asked) => Err(ExchangeError::Over),
        }
    }

    /// RFC 9110 §10.1.1.
    async fn say_continue(&mut self, upstream: &Upstream) -> Result<(), ExchangeError> {
        let response = Response::new(100, "Continue", &[]);
        self.answer.head(&response, ResponseBody::None, &[]);
        let flushed = self
            .deadlines
            .down
            .within(upstream.silence(), self.answer.flush());
        let flushed = flushed.await;
        flushed
            .map_err(|_| ExchangeError::Slow(Limit::ReadRate))?
            .map_err(ExchangeError::Client)
    }
}
