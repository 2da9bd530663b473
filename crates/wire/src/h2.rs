//! HTTP/2 for a server, sans-I/O: frames, header blocks with HPACK, windows, and the states of
//! streams. Bytes from the client go in, bytes for it come out. RFC 9113, RFC 7541, RFC 8441.

mod code;
mod frame;
mod frame_writer;
mod hpack;

mod reader;
mod request_stream;
mod server;

pub use code::{Code, ConnectionError};
pub use hpack::write_line;
pub use server::{Arrival, HeadError, Server, ServerConfig, StreamGoneError, Tally};
