//! HTTP/3 without I/O: its frames, its streams, and the rules for their content. An endpoint that
//! uses this has no dynamic table, permits no pushes and promises none. RFC 9114, RFC 9204.
//!
//! [`UniStreams`] checks the unidirectional streams of a peer, a [`MessageReader`] checks each
//! stream that carries a request or a response, and a [`MessageWriter`] writes one. The rules for
//! fields are in [`message`](crate::message), their encoding is in [`qpack`](crate::qpack).

mod code;
mod control;
mod frame;
mod message_reader;
mod message_writer;
mod qpack_streams;
mod settings;
#[cfg(test)]
mod tests;
mod uni_streams;

pub use code::{Code, ProtocolError};
pub use message_reader::{MessageError, MessageReader, Part, SectionLimits};
pub use message_writer::MessageWriter;
pub use settings::Settings;
pub use uni_streams::{UniStream, UniStreams, goaway, open_control};
