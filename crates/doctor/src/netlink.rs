//! Reading tables from the kernel over netlink: request a dump, walk its messages (RFC 3549).
//!
//! What the messages say is left to `routes`, `links` and `metrics`, how they are laid out to `roundtrip_wire::netlink`.

pub(crate) mod links;
pub(crate) mod metrics;
pub(crate) mod routes;

use std::io::{self, Read};
use std::time::Duration;

use roundtrip_wire::netlink::{Request, messages};
use socket2::{Domain, Protocol, Socket, Type};

/// A router may hold a million routes; beyond this much the answer is cut.
const MOST_BYTES: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends one request and hands the payload of each answering message to `each`.
fn exchange(protocol: i32, request: Request, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let domain = Domain::from(libc::AF_NETLINK);
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let is_dump = request.is_dump();
    // Without an address a netlink socket speaks to the kernel.
    socket.send(&request.finish())?;
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let length = (&socket).read(&mut buffer)?;
        total += length;
        for message in messages(buffer.get(..length).unwrap_or_default()) {
            if message.is_done() {
                return Ok(());
            }
            if let Some(outcome) = message.outcome() {
                return outcome;
            }
            each(message.payload);
        }
        if total > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if length == 0 || !is_dump {
            return Ok(());
        }
    }
}

#[cfg(test)]
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut request = Request::query(0);
    let header = Request::query(0).finish().len();
    request.attribute(kind, value);
    request.finish().split_off(header)
}
