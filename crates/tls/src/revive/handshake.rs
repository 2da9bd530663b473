//! One handshake in memory, up to the point where the client can receive tickets.

use std::sync::Arc;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::ConnectionState;
use rustls::{ClientConfig, Error, ServerConfig, ServerConnection};

/// The longest flight of the client: a hello with the longest name and a made-up key share is
/// shorter.
const MAX_FLIGHT_SIZE: usize = 4096;
/// The largest number of steps: two flights of the client, each encoded and sent in a few.
const MAX_STEPS: usize = 32;

/// Returns the client's side after it has received the server's Finished and sent its own.
pub(super) fn run(
    client: ClientConfig,
    server: ServerConfig,
    name: ServerName<'static>,
) -> Result<KernelConnection<ClientConnectionData>, Error> {
    let mut client = UnbufferedClientConnection::new(Arc::new(client), name)?;
    let mut server = ServerConnection::new(Arc::new(server))?;
    let mut to_client = Vec::new();
    let mut to_server = Vec::new();
    for _ in 0..MAX_STEPS {
        let status = client.process_tls_records(&mut to_client);
        let done = status.discard;
        match status.state? {
            ConnectionState::EncodeTlsData(mut flight) => {
                let mut space = [0; MAX_FLIGHT_SIZE];
                let n = flight.encode(&mut space).map_err(|e| unexpected(&e))?;
                to_server.extend_from_slice(space.get(..n).unwrap_or_default());
            }
            ConnectionState::TransmitTlsData(sent) => sent.done(),
            ConnectionState::BlockedHandshake => {
                to_client.drain(..done);
                answer(&mut server, &mut to_server, &mut to_client)?;
                continue;
            }
            ConnectionState::WriteTraffic(_) => {
                return client.dangerous_into_kernel_connection().map(|(_, c)| c);
            }
            other => return Err(unexpected(&format!("{other:?}"))),
        }
        to_client.drain(..done);
    }
    Err(unexpected(&"too many steps"))
}

fn answer(
    server: &mut ServerConnection,
    received: &mut Vec<u8>,
    sent: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut rest = received.as_slice();
    while !rest.is_empty() {
        server.read_tls(&mut rest).map_err(|e| unexpected(&e))?;
        server.process_new_packets()?;
    }
    received.clear();
    while server.wants_write() {
        server.write_tls(sent).map_err(|e| unexpected(&e))?;
    }
    Ok(())
}

fn unexpected(what: &impl ToString) -> Error {
    Error::General(format!(
        "a handshake in memory failed: {}",
        what.to_string()
    ))
}
