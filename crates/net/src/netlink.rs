//! Reads tables from the kernel over netlink: sends a request and iterates over the answer (RFC
//! 3549). `roundtrip_wire::netlink` knows the layout of messages, the caller their meaning.

use std::io::{self, Read};
use std::time::Duration;

use roundtrip_wire::netlink::{NetlinkRequest, messages};
use socket2::{Domain, Protocol, Socket, Type};

/// A router can have a million routes; a longer answer is cut off here.
const MAX_BYTES: usize = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(2);

/// Sends one request by a netlink protocol (`NETLINK_ROUTE`, …) and passes the payload of each
/// answering message to `each`.
pub fn ask_kernel(
    protocol: i32,
    request: NetlinkRequest,
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let domain = Domain::from(libc::AF_NETLINK);
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    let is_dump = request.is_dump();
    // A netlink socket without an address talks to the kernel.
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
        if total > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if length == 0 || !is_dump {
            return Ok(());
        }
    }
}
