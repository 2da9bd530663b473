//! What the application is told about its streams: what happened, what a read gave, and why one was
//! refused.

use thiserror::Error;

use super::{Dir, StreamId};

/// Something happened to a stream. The application then acts until it is told `Blocked`, or that 0
/// bytes were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer opened one or more: accept until there is none.
    Opened(Dir),
    /// New bytes, the end or a reset: read. Told once for all that came since the last such event
    /// was polled.
    Readable(StreamId),
    /// A write that was cut short may go on.
    Writable(StreamId),
    /// The peer has acknowledged all of it, the end too.
    Finished(StreamId),
    /// The peer wants no more of it, for this reason: the stream was reset with the same code. RFC
    /// 9000 §3.5.
    Stopped(StreamId, u64),
    /// The peer lets this side open more, after it was refused one.
    Available(Dir),
}

/// What reading into a buffer gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// The number of bytes, never 0.
    Bytes(usize),
    /// Nothing yet: [`StreamEvent::Readable`] follows.
    Blocked,
    /// All was read. It is said once: from then on the stream is unknown.
    End,
}

/// What a stream has ready to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peek<'a> {
    /// Never empty; more may follow it behind.
    Bytes(&'a [u8]),
    /// Nothing yet: [`StreamEvent::Readable`] follows.
    Blocked,
    /// All was read. It is said once: from then on the stream is unknown.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Said once: from then on the stream is unknown.
    #[error("the peer reset the stream with code {0:#x}")]
    Reset(u64),
    #[error("the stream was never opened, cannot be read, was stopped, or is over")]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WriteError {
    #[error("the peer wants no more of the stream (code {0:#x})")]
    Stopped(u64),
    #[error("the stream's end was written, or it was reset")]
    Finished,
    #[error("the stream was never opened, cannot be written, or is over")]
    Unknown,
}

/// What went over the streams so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StreamCounters {
    /// Bytes sent for the first time.
    pub(crate) bytes_sent: u64,
    /// Bytes sent again.
    pub(crate) bytes_resent: u64,
    /// Bytes that the peer has, up to the first that it does not have, over all streams.
    pub(crate) bytes_acked: u64,
    /// Bytes that came for the first time: up to the highest offset of each stream.
    pub(crate) bytes_received: u64,
    /// Streams that this side opened.
    pub(crate) opened: u64,
    /// Streams that the peer opened.
    pub(crate) accepted: u64,
    /// How often the peer said that it had more to send than it was let.
    pub(crate) peer_blocked: u64,
}
