//! The server: all connections over one socket.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};

use quiche::h3::{self, Header, NameValue};
use quiche::{Config, Connection, ConnectionId, Error, PathEvent, Type};

use crate::game::{MAX_LINE, Result, ServerGame};
use crate::{
    ID_LENGTH, MAX_DATAGRAM, config, log_keys, offer_ids, random, receive, send_all, take,
};

pub(crate) fn run(game: &ServerGame) -> Result<()> {
    let mut config = config(&[b"hq-interop", b"h3"])?;
    config.load_cert_chain_from_pem_file(&game.certificate)?;
    config.load_priv_key_from_pem_file(&game.key)?;
    config.enable_early_data();
    let socket = UdpSocket::bind(game.address)?;
    let server = Server {
        game,
        config,
        socket,
        visitors: HashMap::new(),
        numbers: HashMap::new(),
        last: 0,
    };
    server.run()
}

struct Server<'a> {
    game: &'a ServerGame,
    config: Config,
    socket: UdpSocket,
    visitors: HashMap<u64, Visitor>,
    /// The number of the visitor that a connection id belongs to.
    numbers: HashMap<Vec<u8>, u64>,
    last: u64,
}

impl Server<'_> {
    fn run(mut self) -> Result<()> {
        let local = self.game.address;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let timeout = self
                .visitors
                .values()
                .filter_map(|v| v.connection.timeout())
                .min();
            let received = receive(&self.socket, &mut buffer, timeout)?;
            for visitor in self.visitors.values_mut() {
                if visitor
                    .connection
                    .timeout()
                    .is_some_and(|left| left.is_zero())
                {
                    visitor.connection.on_timeout();
                }
            }
            if let Some((length, from)) = received
                && let Some(number) = self.number(&mut buffer[..length], from)?
                && let Some(visitor) = self.visitors.get_mut(&number)
            {
                take(&mut visitor.connection, &mut buffer[..length], from, local);
                visitor.advance(self.game);
                for id in offer_ids(&mut visitor.connection)? {
                    self.numbers.insert(id.to_vec(), number);
                }
            }
            for visitor in self.visitors.values_mut() {
                if let Err(error) = send_all(&mut visitor.connection, &self.socket, local) {
                    eprintln!("sending: {error}");
                    visitor.connection.close(false, 1, b"").ok();
                }
            }
            self.visitors
                .retain(|_, visitor| !visitor.connection.is_closed());
            // quiche closes a connection whose first packet is damaged; the next one begins anew.
            self.numbers
                .retain(|_, number| self.visitors.contains_key(number));
        }
    }

    /// Finds the visitor of a datagram, or begins with a new one.
    fn number(&mut self, datagram: &mut [u8], from: SocketAddr) -> Result<Option<u64>> {
        let Ok(header) = quiche::Header::from_slice(datagram, ID_LENGTH) else {
            return Ok(None);
        };
        if let Some(number) = self.numbers.get(&header.dcid[..]) {
            return Ok(Some(*number));
        }
        let mut out = [0; MAX_DATAGRAM];
        if header.ty != Type::Initial {
            return Ok(None);
        }
        if !quiche::version_is_supported(header.version) {
            let length = quiche::negotiate_version(&header.scid, &header.dcid, &mut out)?;
            self.socket.send_to(&out[..length], from)?;
            return Ok(None);
        }
        let fresh = ConnectionId::from_vec(random::<ID_LENGTH>()?.to_vec());
        let token = header.token.as_deref().unwrap_or_default();
        let (id, original) = if self.game.case != "retry" {
            (fresh, None)
        } else if token.is_empty() {
            // The token is the id that the client chose: nobody else is on this path.
            let (theirs, chosen) = (&header.scid, &header.dcid);
            let version = header.version;
            let length = quiche::retry(theirs, chosen, &fresh, chosen, version, &mut out)?;
            self.socket.send_to(&out[..length], from)?;
            return Ok(None);
        } else {
            (header.dcid.clone(), Some(ConnectionId::from_ref(token)))
        };
        let local = self.game.address;
        let mut connection = quiche::accept(&id, original.as_ref(), local, from, &mut self.config)?;
        log_keys(&mut connection)?;
        self.last += 1;
        for known in [&id, &header.dcid] {
            self.numbers.insert(known.to_vec(), self.last);
        }
        self.visitors.insert(self.last, Visitor::new(connection));
        Ok(Some(self.last))
    }
}

/// A connection, its half-read requests, and its half-sent answers.
struct Visitor {
    connection: Connection,
    h3: Option<h3::Connection>,
    lines: HashMap<u64, Vec<u8>>,
    /// Each with the length that was sent.
    answers: HashMap<u64, (Vec<u8>, usize)>,
}

impl Visitor {
    fn new(connection: Connection) -> Self {
        let (lines, answers) = (HashMap::new(), HashMap::new());
        Self {
            connection,
            h3: None,
            lines,
            answers,
        }
    }

    fn advance(&mut self, game: &ServerGame) {
        if !(self.connection.is_established() || self.connection.is_in_early_data()) {
            return;
        }
        while let Some(event) = self.connection.path_event_next() {
            if let PathEvent::New(local, peer) = event {
                self.connection.probe_path(local, peer).ok();
            }
        }
        let read = if self.connection.application_proto() == b"h3" {
            self.read_h3(game)
        } else {
            self.read(game)
        };
        if let Err(error) = read.and_then(|()| self.write()) {
            eprintln!("a connection: {error}");
            self.connection.close(true, 1, b"").ok();
        }
    }

    fn read(&mut self, game: &ServerGame) -> Result<()> {
        let mut part = [0; MAX_LINE];
        for stream in self.connection.readable() {
            while let Ok((length, is_end)) = self.connection.stream_recv(stream, &mut part) {
                let line = self.lines.entry(stream).or_default();
                line.extend_from_slice(&part[..length]);
                if line.len() > MAX_LINE {
                    return Err("a request is too long".into());
                }
                if is_end && let Some(line) = self.lines.remove(&stream) {
                    let body = game.answer(&line).ok_or("no such document")?;
                    self.answers.insert(stream, (body, 0));
                    break;
                }
            }
        }
        Ok(())
    }

    fn read_h3(&mut self, game: &ServerGame) -> Result<()> {
        if self.h3.is_none() {
            let config = h3::Config::new()?;
            self.h3 = Some(h3::Connection::with_transport(
                &mut self.connection,
                &config,
            )?);
        }
        while let Some(h3) = &mut self.h3 {
            match h3.poll(&mut self.connection) {
                Ok((stream, h3::Event::Headers { list, .. })) => {
                    let path = list.iter().find(|field| field.name() == b":path");
                    let path = path.map(|field| String::from_utf8_lossy(field.value()));
                    let body = path.and_then(|path| game.document(&path));
                    let body = body.ok_or("no such document")?;
                    let head = [Header::new(b":status", b"200")];
                    h3.send_response(&mut self.connection, stream, &head, false)?;
                    self.answers.insert(stream, (body, 0));
                }
                Ok(_) => {}
                Err(h3::Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let streams: Vec<u64> = self.answers.keys().copied().collect();
        for stream in streams {
            let Some((body, sent)) = self.answers.get_mut(&stream) else {
                continue;
            };
            let rest = &body[*sent..];
            let more = match &mut self.h3 {
                Some(h3) => match h3.send_body(&mut self.connection, stream, rest, true) {
                    Ok(more) => more,
                    Err(h3::Error::Done | h3::Error::StreamBlocked) => continue,
                    Err(error) => return Err(error.into()),
                },
                None => match self.connection.stream_send(stream, rest, true) {
                    Ok(more) => more,
                    Err(Error::Done) => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            *sent += more;
            if *sent == body.len() {
                self.answers.remove(&stream);
            }
        }
        Ok(())
    }
}
