//! HTTP/1.x on the wire: heads and the chunked coding, for clients, servers and proxies. RFC 9112.
//!
//! Callers decide what a head means, where a body ends and which trailers may pass, because they
//! differ in that for good reasons. [`Strictness`] says how strictly bytes are parsed.

mod chunked;
mod fields;
mod head;

pub use chunked::{ChunkError, Chunked, ChunkedLimits, write_chunk};
pub use fields::{write_field, write_fields};
pub use head::{
    EMPTY_FIELD, Field, HeadError, RequestHead, ResponseHead, end_of_head, request, response,
    trailers,
};

/// How much of what RFC 9112 forbids is tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// For proxies: refuses anything that two recipients could read differently. Every line ends in
    /// CRLF, and sizes, extensions and trailers of chunks follow the grammar.
    Strict,
    /// A line may end in LF alone (RFC 9112 §2.2), blanks may surround a chunk's size, and
    /// extensions and trailers are skipped unread.
    Tolerant,
    /// Like `Tolerant`, and several spaces may separate the parts of a status line.
    AsCurl,
}
