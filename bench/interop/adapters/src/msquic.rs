//! msquic as a client and as a server of the interop matrix, over its own OpenSSL. It has no HTTP/3
//! of its own, so it plays with HTTP/0.9. Its callbacks run in threads of the library.

mod game;

use std::ffi::c_void;
use std::mem::take;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use msquic::ffi::{HQUIC, QUIC_VERSION_SETTINGS};
use msquic::{
    Addr, AllowedCipherSuiteFlags, Api, BufferRef, CertificateFile, Configuration, Connection,
    ConnectionEvent, ConnectionRef, ConnectionShutdownFlags, Credential, CredentialConfig,
    Listener, ListenerEvent, PARAM_CONFIGURATION_VERSION_SETTINGS, PARAM_CONN_LOCAL_ADDRESS,
    PARAM_CONN_REMOTE_ADDRESS, PARAM_CONN_RESUMPTION_TICKET, PARAM_GLOBAL_RETRY_MEMORY_PERCENT,
    Registration, RegistrationConfig, SendFlags, ServerResumptionLevel, Settings, Status, Stream,
    StreamEvent, StreamOpenFlags, StreamRef, StreamShutdownFlags, StreamStartFlags,
};

use game::{ClientGame, Game, MAX_LINE, Result, ServerGame};

const V2: u32 = 0x6b33_43cf;
/// `QUIC_PARAM_CONN_FORCE_KEY_UPDATE` of `msquicp.h`.
const FORCE_KEY_UPDATE: u32 = 0x8500_0000;
const KEY_UPDATES: usize = 2;
/// The wait for tickets, and between key updates.
const PAUSE: Duration = Duration::from_millis(300);
/// The longest wait for the next event of a connection.
const MAX_WAIT: Duration = Duration::from_mins(2);
/// The bytes that a migrating client has received before it moves.
const BEFORE_MOVE: usize = 100_000;

fn main() -> Result<()> {
    let registration = Registration::new(&RegistrationConfig::default()).map_err(told)?;
    match Game::from_args()? {
        Game::Client(game) => {
            let mut ticket = None;
            for paths in game.visits() {
                let visit = Visit::new(&game, &registration, ticket.take())?;
                ticket = visit.play(paths)?;
            }
            Ok(())
        }
        Game::Server(game) => serve(Arc::new(game), &registration),
    }
}

fn told(status: Status) -> String {
    format!("{status:?}")
}

fn settings() -> Settings {
    Settings::new()
        .set_HandshakeIdleTimeoutMs(60_000)
        .set_IdleTimeoutMs(30_000)
        .set_PeerBidiStreamCount(1000)
        .set_StreamRecvWindowDefault(4 << 20)
        .set_ServerResumptionLevel(ServerResumptionLevel::ResumeAndZerortt)
        .set_EcnEnabled()
}

fn credentials(case: &str, credentials: CredentialConfig) -> CredentialConfig {
    if case == "chacha20" {
        let only = AllowedCipherSuiteFlags::CHACHA20_POLY1305_SHA256;
        return credentials.set_allowed_cipher_suites(only);
    }
    credentials
}

fn set<T>(handle: HQUIC, parameter: u32, value: &[T]) -> Result<()> {
    let bytes = u32::try_from(size_of_val(value))?;
    // SAFETY: the slice outlives the call, and the library copies it.
    unsafe { Api::set_param(handle, parameter, bytes, value.as_ptr().cast()) }.map_err(told)?;
    Ok(())
}

/// Sends bytes and the end of the stream. `reclaim` frees the bytes once they are acknowledged.
fn send(stream: &Stream, bytes: Vec<u8>, flags: SendFlags) -> std::result::Result<(), Status> {
    let parts = [BufferRef::from(bytes.as_slice())];
    let kept = Box::into_raw(Box::new((bytes, parts)));
    // SAFETY: the box stays until the library says that it is done with the bytes.
    unsafe {
        stream
            .send(&(*kept).1, flags | SendFlags::FIN, kept.cast())
            .inspect_err(|_| drop(Box::from_raw(kept)))
    }
}

fn reclaim(kept: *const c_void) {
    // SAFETY: this is the pointer that `send` gave to the library, which returns it once.
    drop(unsafe { Box::from_raw(kept.cast_mut().cast::<(Vec<u8>, [BufferRef; 1])>()) });
}

/// Closes a stream that is over: the last act of its callback.
fn close(stream: &StreamRef) {
    // SAFETY: the stream was left to the library, which says that it is over.
    drop(unsafe { Stream::from_raw(stream.as_raw()) });
}

/// What the callbacks tell the thread that waits.
enum Told {
    Connected,
    Part(usize),
    Body(String, Vec<u8>),
    Ticket(Vec<u8>),
    Failed(String),
    Over,
}

struct Visit<'a> {
    game: &'a ClientGame,
    configuration: Configuration,
    connection: Connection,
    tell: Sender<Told>,
    told: Receiver<Told>,
    is_early: bool,
    ticket: Option<Vec<u8>>,
}

impl<'a> Visit<'a> {
    fn new(
        game: &'a ClientGame,
        registration: &Registration,
        ticket: Option<Vec<u8>>,
    ) -> Result<Self> {
        let protocol = [BufferRef::from(game.protocol.as_str())];
        let configuration =
            Configuration::open(registration, &protocol, Some(&settings())).map_err(told)?;
        if game.case == "v2" {
            // SAFETY: the handle is open as long as its owner.
            let handle = unsafe { configuration.as_raw() };
            set(handle, PARAM_CONFIGURATION_VERSION_SETTINGS, &[only(&[V2])])?;
        }
        let trust = CredentialConfig::new_client().set_ca_certificate_file(game.authority.clone());
        configuration
            .load_credential(&credentials(&game.case, trust))
            .map_err(told)?;
        let (tell, told_here) = channel();
        let teller = tell.clone();
        let connection = Connection::open(registration, move |_, event| Ok(hear(&teller, event)))
            .map_err(told)?;
        let visit = Self {
            game,
            configuration,
            connection,
            tell,
            told: told_here,
            is_early: game.case == "zerortt" && ticket.is_some(),
            ticket: None,
        };
        visit.set(PARAM_CONN_REMOTE_ADDRESS, &[Addr::from(game.server)])?;
        if let Some(ticket) = ticket {
            visit.set(PARAM_CONN_RESUMPTION_TICKET, &ticket)?;
        }
        Ok(visit)
    }

    fn set<T>(&self, parameter: u32, value: &[T]) -> Result<()> {
        // SAFETY: the handle is open as long as its owner.
        set(unsafe { self.connection.as_raw() }, parameter, value)
    }

    /// Fetches everything, and returns the last ticket.
    fn play(mut self, paths: &[String]) -> Result<Option<Vec<u8>>> {
        if self.is_early {
            self.ask(paths)?;
        }
        let port = self.game.server.port();
        self.connection
            .start(&self.configuration, "server", port)
            .map_err(told)?;
        self.wait_until(|told| matches!(told, Told::Connected))?;
        if self.game.case == "keyupdate" {
            for _ in 0..KEY_UPDATES {
                self.ask(&paths[..1])?;
                self.wait_until(|told| matches!(told, Told::Body(..)))?;
                self.set::<u8>(FORCE_KEY_UPDATE, &[])?;
                self.linger()?;
            }
        }
        if !self.is_early {
            self.ask(paths)?;
        }
        if self.game.case == "connectionmigration" {
            self.move_away()?;
        }
        let mut left = paths.len();
        self.wait_until(|told| {
            left -= usize::from(matches!(told, Told::Body(..)));
            left == 0
        })?;
        self.linger()?;
        self.connection.shutdown(ConnectionShutdownFlags::NONE, 0);
        self.wait_until(|told| matches!(told, Told::Over))?;
        Ok(self.ticket)
    }

    /// Receives the callbacks' messages until one of them is the awaited one.
    fn wait_until(&mut self, mut is_awaited: impl FnMut(&Told) -> bool) -> Result<()> {
        loop {
            let told = self.told.recv_timeout(MAX_WAIT)?;
            let is_over = is_awaited(&told);
            self.keep(told)?;
            if is_over {
                return Ok(());
            }
        }
    }

    fn linger(&mut self) -> Result<()> {
        let until = Instant::now() + PAUSE;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if let Ok(told) = self.told.recv_timeout(left) {
                self.keep(told)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, told: Told) -> Result<()> {
        match told {
            Told::Body(path, body) => self.game.save(&path, &body)?,
            Told::Ticket(ticket) => self.ticket = Some(ticket),
            Told::Failed(reason) => return Err(reason.into()),
            Told::Connected | Told::Part(_) | Told::Over => {}
        }
        Ok(())
    }

    fn ask(&self, paths: &[String]) -> Result<()> {
        for path in paths {
            let (tell, name, mut body) = (self.tell.clone(), path.clone(), Vec::new());
            let stream = Stream::open(
                &self.connection,
                StreamOpenFlags::NONE,
                move |stream, event| {
                    read(&tell, &name, &mut body, &stream, event);
                    Ok(())
                },
            );
            let stream = stream.map_err(told)?;
            stream.start(StreamStartFlags::NONE).map_err(told)?;
            let flags = if self.is_early {
                SendFlags::ALLOW_0_RTT
            } else {
                SendFlags::NONE
            };
            send(&stream, format!("GET {path}\r\n").into_bytes(), flags).map_err(told)?;
            // SAFETY: its callback closes it.
            unsafe { stream.into_raw() };
        }
        Ok(())
    }

    /// Goes on from another port in the middle of a transfer.
    fn move_away(&mut self) -> Result<()> {
        let mut received = 0;
        self.wait_until(|told| {
            received += if let Told::Part(bytes) = told {
                *bytes
            } else {
                0
            };
            received > BEFORE_MOVE
        })?;
        let here = self.connection.get_local_addr().map_err(told)?;
        let here = here.as_socket().ok_or("no local address")?;
        let there = SocketAddr::new(here.ip(), here.port() ^ 1);
        self.set(PARAM_CONN_LOCAL_ADDRESS, &[Addr::from(there)])
    }
}

fn only(versions: &[u32; 1]) -> QUIC_VERSION_SETTINGS {
    QUIC_VERSION_SETTINGS {
        AcceptableVersions: versions.as_ptr(),
        OfferedVersions: versions.as_ptr(),
        FullyDeployedVersions: versions.as_ptr(),
        AcceptableVersionsLength: 1,
        OfferedVersionsLength: 1,
        FullyDeployedVersionsLength: 1,
    }
}

fn hear(tell: &Sender<Told>, event: ConnectionEvent) {
    let told = match event {
        ConnectionEvent::Connected { .. } => Told::Connected,
        ConnectionEvent::ResumptionTicketReceived { resumption_ticket } => {
            Told::Ticket(resumption_ticket.to_vec())
        }
        ConnectionEvent::ShutdownInitiatedByTransport { status, error_code } => {
            Told::Failed(format!("closed: {status:?}, {error_code:#x}"))
        }
        ConnectionEvent::ShutdownInitiatedByPeer { error_code } => {
            Told::Failed(format!("closed by the peer: {error_code:#x}"))
        }
        ConnectionEvent::ShutdownComplete { .. } => Told::Over,
        _ => return,
    };
    tell.send(told).ok();
}

fn read(
    tell: &Sender<Told>,
    path: &str,
    body: &mut Vec<u8>,
    stream: &StreamRef,
    event: StreamEvent,
) {
    let told = match event {
        StreamEvent::Receive { buffers, .. } => {
            let before = body.len();
            buffers
                .iter()
                .for_each(|part| body.extend_from_slice(part.as_bytes()));
            Told::Part(body.len() - before)
        }
        StreamEvent::PeerSendShutdown => Told::Body(path.to_owned(), take(body)),
        StreamEvent::PeerSendAborted { error_code } => {
            Told::Failed(format!("{path}: reset, {error_code:#x}"))
        }
        StreamEvent::SendComplete { client_context, .. } => return reclaim(client_context),
        StreamEvent::ShutdownComplete { .. } => return close(stream),
        _ => return,
    };
    tell.send(told).ok();
}

fn serve(game: Arc<ServerGame>, registration: &Registration) -> Result<()> {
    if game.case == "retry" {
        // With no memory for handshakes, each client must prove its address.
        set(
            std::ptr::null_mut(),
            PARAM_GLOBAL_RETRY_MEMORY_PERCENT,
            &[0_u16],
        )?;
    }
    let protocol = [BufferRef::from("hq-interop")];
    let configuration =
        Configuration::open(registration, &protocol, Some(&settings())).map_err(told)?;
    let files = CertificateFile::new(game.key.clone(), game.certificate.clone());
    let identity = CredentialConfig::new().set_credential(Credential::CertificateFile(files));
    configuration
        .load_credential(&credentials(&game.case, identity))
        .map_err(told)?;
    let address = Addr::from(game.address);
    let listener = Listener::open(registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            let game = game.clone();
            connection.set_callback_handler(move |connection, event| {
                attend(&game, &connection, event);
                Ok(())
            });
            connection.set_configuration(&configuration)?;
        }
        Ok(())
    });
    let listener = listener.map_err(told)?;
    listener.start(&protocol, Some(&address)).map_err(told)?;
    loop {
        std::thread::park();
    }
}

fn attend(game: &Arc<ServerGame>, connection: &ConnectionRef, event: ConnectionEvent) {
    match event {
        ConnectionEvent::Connected { .. } => give_ticket(connection),
        ConnectionEvent::PeerStreamStarted { stream, .. } => {
            let (game, mut line) = (game.clone(), Vec::new());
            stream.set_callback_handler(move |stream, event| {
                answer(&game, &mut line, &stream, event);
                Ok(())
            });
        }
        // SAFETY: the connection was left to the library, which says that it is over.
        ConnectionEvent::ShutdownComplete { .. } => unsafe {
            drop(Connection::from_raw(connection.as_raw()));
        },
        _ => {}
    }
}

fn give_ticket(connection: &ConnectionRef) {
    if let Some(send) = Api::get_ffi().ConnectionSendResumptionTicket {
        // SAFETY: the handle is open, and there is no data to point to.
        unsafe { send(connection.as_raw(), 0, 0, std::ptr::null()) };
    }
}

fn answer(game: &ServerGame, line: &mut Vec<u8>, stream: &StreamRef, event: StreamEvent) {
    match event {
        StreamEvent::Receive { buffers, .. } => {
            let room = MAX_LINE.saturating_sub(line.len());
            line.extend(buffers.iter().flat_map(|part| part.as_bytes()).take(room));
        }
        StreamEvent::PeerSendShutdown => {
            let sent = game
                .answer(line)
                .map(|body| send(stream, body, SendFlags::NONE));
            if !matches!(sent, Some(Ok(()))) {
                stream.shutdown(StreamShutdownFlags::ABORT, 1).ok();
            }
        }
        StreamEvent::SendComplete { client_context, .. } => reclaim(client_context),
        StreamEvent::ShutdownComplete { .. } => close(stream),
        _ => {}
    }
}
