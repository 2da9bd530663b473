//! quiche as a client and as a server of the interop matrix. It does no input or output of its own:
//! `client.rs` and `server.rs` each have one socket and one loop.

#[path = "../game.rs"]
mod game;

mod client;
mod server;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use quiche::{Config, Connection, ConnectionId, Error, RecvInfo};

use game::{Game, Result};

const MAX_DATAGRAM: usize = 1350;
const ID_LENGTH: usize = 16;
/// The longest wait for a datagram, whatever the timers say.
const MAX_WAIT: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    match Game::from_args()? {
        Game::Client(game) => client::run(&game),
        Game::Server(game) => server::run(&game),
    }
}

fn config(protocols: &[&[u8]]) -> Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(protocols)?;
    config.set_max_idle_timeout(30_000);
    config.set_max_recv_udp_payload_size(MAX_DATAGRAM);
    config.set_max_send_udp_payload_size(MAX_DATAGRAM);
    config.set_initial_max_data(16 << 20);
    config.set_initial_max_stream_data_bidi_local(6 << 20);
    config.set_initial_max_stream_data_bidi_remote(6 << 20);
    config.set_initial_max_stream_data_uni(1 << 20);
    config.set_initial_max_streams_bidi(1000);
    config.set_initial_max_streams_uni(100);
    // It keeps a path for each id, so it does not follow a client that moves more often.
    config.set_active_connection_id_limit(16);
    // It hands out datagrams with times of departure, which a blocking socket cannot keep.
    config.enable_pacing(false);
    config.log_keys();
    Ok(config)
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    boring::rand::rand_bytes(&mut bytes)?;
    Ok(bytes)
}

fn log_keys(connection: &mut Connection) -> Result<()> {
    if let Some(name) = std::env::var_os("SSLKEYLOGFILE") {
        let file = OpenOptions::new().create(true).append(true).open(name)?;
        connection.set_keylog(Box::new(file));
    }
    Ok(())
}

/// Offers the peer as many connection ids as it accepts, and returns the new ones.
fn offer_ids(connection: &mut Connection) -> Result<Vec<ConnectionId<'static>>> {
    let mut offered = Vec::new();
    while connection.is_established() && connection.scids_left() > 0 {
        let id = ConnectionId::from_vec(random::<ID_LENGTH>()?.to_vec());
        let token = u128::from_be_bytes(random()?);
        connection.new_scid(&id, token, false)?;
        offered.push(id);
    }
    Ok(offered)
}

/// Sends all that is due from this socket.
fn send_all(connection: &mut Connection, socket: &UdpSocket, local: SocketAddr) -> Result<()> {
    let mut out = [0; MAX_DATAGRAM];
    loop {
        match connection.send(&mut out) {
            // A socket that was left behind sends no more.
            Ok((_, info)) if info.from != local => {}
            Ok((length, info)) => {
                socket.send_to(&out[..length], info.to)?;
            }
            Err(Error::Done) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for a datagram until the timeout.
fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    timeout: Option<Duration>,
) -> Result<Option<(usize, SocketAddr)>> {
    let timeout = timeout.unwrap_or(MAX_WAIT).min(MAX_WAIT);
    socket.set_read_timeout(Some(timeout.max(Duration::from_micros(1))))?;
    match socket.recv_from(buffer) {
        Ok(received) => Ok(Some(received)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn take(connection: &mut Connection, datagram: &mut [u8], from: SocketAddr, to: SocketAddr) {
    if let Err(error) = connection.recv(datagram, RecvInfo { from, to }) {
        eprintln!("a datagram: {error:?}");
    }
}
