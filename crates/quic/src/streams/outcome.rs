//! The results for the application: events of its streams, results of reads, and reasons for
//! refused calls.

use thiserror::Error;

use super::{Dir, StreamId};

/// Something happened to a stream. The application then acts until a call returns `Blocked` or
/// takes 0 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer opened one or more streams: accept until none is left.
    Opened(Dir),
    /// There are new bytes, the end, or a reset: read. There is one event for everything that came
    /// since the last such event was polled.
    Readable(StreamId),
    /// A write that was cut short can continue.
    Writable(StreamId),
    /// The peer has acknowledged everything, including the end.
    Finished(StreamId),
    /// The peer has stopped the stream with this code, and the stream was reset with the same code.
    /// RFC 9000 §3.5.
    Stopped(StreamId, u64),
    /// The peer now lets this side open more streams, after an attempt was refused.
    Available(Dir),
}

/// What reading into a buffer returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// The number of bytes, never 0.
    Bytes(usize),
    /// Nothing yet: [`StreamEvent::Readable`] follows.
    Blocked,
    /// Everything was read. This is returned once: from then on the stream is unknown.
    End,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peek<'a> {
    /// Never empty; more may follow.
    Bytes(&'a [u8]),
    /// Nothing yet: [`StreamEvent::Readable`] follows.
    Blocked,
    /// Everything was read. This is returned once: from then on the stream is unknown.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The peer has reset the stream. This is returned once: from then on the stream is unknown.
    #[error("the peer reset the stream with code {0:#x}, or this side abandoned it with this code")]
    Reset(u64),
    #[error("the stream was never opened, cannot be read, was stopped, or has ended")]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WriteError {
    #[error("the peer stopped the stream (code {0:#x})")]
    Stopped(u64),
    #[error("the stream was finished or reset")]
    Finished,
    #[error("the stream was never opened, cannot be written, or has ended")]
    Unknown,
}

/// What was sent and received on all streams so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StreamCounters {
    /// Bytes sent for the first time.
    pub(crate) bytes_sent: u64,
    /// Bytes sent again.
    pub(crate) bytes_resent: u64,
    /// Bytes that the peer has acknowledged without a gap, over all streams.
    pub(crate) bytes_acked: u64,
    /// Bytes that came for the first time: up to the highest offset of each stream.
    pub(crate) bytes_received: u64,
    /// Streams that this side opened.
    pub(crate) opened: u64,
    /// Streams that the peer opened.
    pub(crate) accepted: u64,
    /// Streams that were given up because of a hole.
    pub(crate) given_up: u64,
    /// How often the peer reported that it had more to send than its limit allowed.
    pub(crate) peer_blocked: u64,
}
