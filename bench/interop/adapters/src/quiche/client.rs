//! The client: one connection after another, over one socket each.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::h3::{self, Header};
use quiche::{Connection, ConnectionId, Error};

use crate::game::{ClientGame, Result};
use crate::{ID_LENGTH, config, log_keys, offer_ids, random, receive, send_all, take};

/// The wait after the last answer: for tickets, and so that the server receives all
/// acknowledgements.
const PAUSE: Duration = Duration::from_millis(300);
/// The bytes that a migrating client has received before it moves.
const BEFORE_MOVE: usize = 100_000;
/// `ssl_early_data_accepted`.
const EARLY_ACCEPTED: u32 = 2;

pub(crate) fn run(game: &ClientGame) -> Result<()> {
    let (mut session, mut said) = (None, Vec::new());
    for paths in game.visits() {
        let mut visit = Visit::new(game, paths, session.take())?;
        visit.play()?;
        session = visit.connection.session().map(<[u8]>::to_vec);
        let accepted = visit.connection.early_data_reason() == EARLY_ACCEPTED;
        said.push(format!("{{\"early_accepted\": {accepted}}}"));
    }
    println!("{{\"connections\": [{}]}}", said.join(", "));
    Ok(())
}

struct Visit<'a> {
    game: &'a ClientGame,
    socket: UdpSocket,
    local: SocketAddr,
    connection: Connection,
    requests: Requests<'a>,
    has_moved: bool,
}

impl<'a> Visit<'a> {
    fn new(game: &'a ClientGame, paths: &'a [String], session: Option<Vec<u8>>) -> Result<Self> {
        let socket = bind(game.server)?;
        let local = socket.local_addr()?;
        let mut config = config(&[game.protocol.as_bytes()])?;
        config.load_verify_locations_from_file(&game.authority)?;
        config.verify_peer(true);
        if game.case == "zerortt" {
            config.enable_early_data();
        }
        let id = random::<ID_LENGTH>()?;
        let id = ConnectionId::from_ref(&id);
        let mut connection = quiche::connect(Some("server"), &id, local, game.server, &mut config)?;
        log_keys(&mut connection)?;
        if let Some(session) = session {
            connection.set_session(&session)?;
        }
        let requests = Requests {
            waiting: paths,
            running: HashMap::new(),
            next_stream: 0,
            received: 0,
            h3: None,
        };
        Ok(Self {
            game,
            socket,
            local,
            connection,
            requests,
            has_moved: false,
        })
    }

    fn play(&mut self) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        let mut done = None;
        while !self.connection.is_closed() {
            send_all(&mut self.connection, &self.socket, self.local)?;
            match receive(&self.socket, &mut buffer, self.connection.timeout())? {
                Some((length, from)) => {
                    take(
                        &mut self.connection,
                        &mut buffer[..length],
                        from,
                        self.local,
                    );
                }
                None => self.connection.on_timeout(),
            }
            if self.connection.is_established() || self.connection.is_in_early_data() {
                self.requests.advance(self.game, &mut self.connection)?;
            }
            offer_ids(&mut self.connection)?;
            if self.is_time_to_move() {
                self.socket = bind(self.game.server)?;
                self.local = self.socket.local_addr()?;
                self.connection.migrate_source(self.local)?;
                self.has_moved = true;
            }
            if self.requests.are_done() {
                let since = *done.get_or_insert_with(Instant::now);
                if since.elapsed() > PAUSE && !self.connection.is_draining() {
                    let code = if self.requests.h3.is_some() { 0x100 } else { 0 };
                    self.connection.close(true, code, b"").ok();
                    send_all(&mut self.connection, &self.socket, self.local)?;
                    return Ok(());
                }
            }
        }
        let (theirs, ours) = (self.connection.peer_error(), self.connection.local_error());
        let is_late = self.connection.is_timed_out();
        Err(format!("closed: peer {theirs:?}, local {ours:?}, timed out: {is_late}").into())
    }

    fn is_time_to_move(&self) -> bool {
        self.game.case == "connectionmigration"
            && !self.has_moved
            && self.requests.received > BEFORE_MOVE
            && self.connection.available_dcids() > 0
    }
}

fn bind(server: SocketAddr) -> Result<UdpSocket> {
    let any = if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    Ok(UdpSocket::bind(any)?)
}

/// The paths that were not requested yet, and the state of the other requests.
struct Requests<'a> {
    waiting: &'a [String],
    running: HashMap<u64, (&'a str, Vec<u8>)>,
    next_stream: u64,
    received: usize,
    h3: Option<h3::Connection>,
}

impl Requests<'_> {
    fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    fn advance(&mut self, game: &ClientGame, connection: &mut Connection) -> Result<()> {
        if game.protocol == "h3" && self.h3.is_none() {
            let config = h3::Config::new()?;
            self.h3 = Some(h3::Connection::with_transport(connection, &config)?);
        }
        self.ask(connection)?;
        if self.h3.is_some() {
            self.read_h3(game, connection)
        } else {
            self.read(game, connection)
        }
    }

    fn ask(&mut self, connection: &mut Connection) -> Result<()> {
        while let Some((path, others)) = self.waiting.split_first() {
            if connection.peer_streams_left_bidi() == 0 {
                break;
            }
            let stream = match &mut self.h3 {
                Some(h3) => match h3.send_request(connection, &head(path), true) {
                    Ok(stream) => stream,
                    Err(h3::Error::StreamBlocked) => break,
                    Err(error) => return Err(error.into()),
                },
                None => {
                    let number = self.next_stream;
                    connection.stream_send(number, format!("GET {path}\r\n").as_bytes(), true)?;
                    number
                }
            };
            self.next_stream = stream + 4;
            self.running.insert(stream, (path, Vec::new()));
            self.waiting = others;
        }
        Ok(())
    }

    fn read(&mut self, game: &ClientGame, connection: &mut Connection) -> Result<()> {
        let mut part = vec![0; 1 << 16];
        for stream in connection.readable() {
            loop {
                match connection.stream_recv(stream, &mut part) {
                    Ok((length, is_end)) => {
                        self.add(stream, &part[..length])?;
                        if is_end {
                            self.end(game, stream)?;
                            break;
                        }
                    }
                    Err(Error::Done) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn read_h3(&mut self, game: &ClientGame, connection: &mut Connection) -> Result<()> {
        let mut part = vec![0; 1 << 16];
        loop {
            let Some(h3) = &mut self.h3 else {
                return Ok(());
            };
            match h3.poll(connection) {
                Ok((stream, h3::Event::Data)) => {
                    while let Some(h3) = &mut self.h3
                        && let Ok(length) = h3.recv_body(connection, stream, &mut part)
                    {
                        self.add(stream, &part[..length])?;
                    }
                }
                Ok((stream, h3::Event::Finished)) => self.end(game, stream)?,
                Ok((_, h3::Event::Headers { list, .. })) => {
                    if !list.contains(&Header::new(b":status", b"200")) {
                        return Err(format!("{list:?}").into());
                    }
                }
                Ok((_, h3::Event::Reset(code))) => return Err(format!("reset: {code}").into()),
                Ok(_) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn add(&mut self, stream: u64, part: &[u8]) -> Result<()> {
        let (_, body) = self
            .running
            .get_mut(&stream)
            .ok_or("a stream of the server's")?;
        body.extend_from_slice(part);
        self.received += part.len();
        Ok(())
    }

    fn end(&mut self, game: &ClientGame, stream: u64) -> Result<()> {
        let (path, body) = self
            .running
            .remove(&stream)
            .ok_or("a stream of the server's")?;
        game.save(path, &body)
    }
}

fn head(path: &str) -> [Header; 4] {
    [
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", b"server"),
        Header::new(b":path", path.as_bytes()),
    ]
}
