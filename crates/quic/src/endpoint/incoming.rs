//! The first packets of clients: accepted, refused, or answered by Retry or version negotiation.
//! RFC 9000 §5.2.2, §6.1 and §8.1.

use roundtrip_wire::quic::{ConnectionId, LongKind, LongPacket, Packet, Packets};

use super::issuer::EndpointIssuer;
use super::tokens::{self, Occasion, Proof};
use super::{Endpoint, Handle, Retry, ServerConfig};
use crate::connection::{Connection, ConnectionSetup, FirstInitial, Random};
use crate::{Code, RecvMeta, Time};

/// A client's Initial packets come in datagrams of at least this size. RFC 9000 §14.1.
const MIN_FIRST_DATAGRAM: usize = 1200;
/// The destination that a client makes up has at least this many bytes. RFC 9000 §7.2.
const MIN_FIRST_ID: usize = 8;

impl Endpoint {
    /// Handles a datagram with a long header whose destination is unknown.
    pub(super) fn receive_first(
        &mut self,
        now: Time,
        way: &RecvMeta,
        datagram: &mut [u8],
    ) -> Option<Handle> {
        let server = &self.server.clone()?;
        let size = datagram.len();
        let (arrival, version) = match Packets::new(datagram).next()?.ok()? {
            Packet::Unknown {
                destination,
                source,
                ..
            } if size >= MIN_FIRST_DATAGRAM => {
                self.answers.negotiate_version(way, destination, source);
                self.strays.other_version += 1;
                return None;
            }
            Packet::Long(packet)
                if packet.kind == LongKind::Initial && size >= MIN_FIRST_DATAGRAM =>
            {
                let arrival = self.admit(now, way, &packet, size, server)?;
                (arrival, packet.version)
            }
            Packet::Long(packet) if packet.kind == LongKind::ZeroRtt => {
                let destination = packet.destination;
                self.early_0rtt.keep(now, way, destination, datagram);
                self.strays.overtook += 1;
                return None;
            }
            _ => return None,
        };
        let handle = self.table.reserve()?;
        let opening = ConnectionSetup {
            transport: server.transport.clone(),
            version,
            remote: way.remote,
            local: way.local,
            issuer: Box::new(EndpointIssuer::server(
                self.secrets.clone(),
                self.owner(handle),
                server.tokens,
                Random::new(&self.random.seed()),
            )),
            seed: self.random.seed(),
        };
        let sessions = server.sessions.as_ref();
        let sessions = sessions.map(|sessions| sessions.for_connection(way.remote.ip()));
        let begun = Connection::server(now, opening, &server.tls, sessions, &arrival);
        let Ok(mut connection) = begun else {
            self.table.release(handle);
            return None;
        };
        if server.holds {
            connection.hold();
        }
        connection.receive(now, way, datagram);
        // Nothing in it was authentic, so it was not a client's first flight.
        if connection.stats().packets_received == 0 {
            self.table.release(handle);
            return None;
        }
        let first = (way.remote, arrival.destination);
        let is_unvalidated = connection.is_unvalidated();
        self.enter(handle, connection, Some(first));
        self.firsts.insert(first, handle);
        self.served += 1;
        if is_unvalidated {
            self.unvalidated.begin();
        }
        self.arrived.push_back(handle);
        self.settle(handle);
        while let Some((way, mut datagram)) = self.early_0rtt.take(now, &first) {
            self.deliver(now, &way, &mut datagram, handle);
        }
        self.relieve();
        Some(handle)
    }

    /// Decides whether an Initial packet may begin a connection. If not, it may get an answer.
    fn admit(
        &mut self,
        now: Time,
        way: &RecvMeta,
        packet: &LongPacket<'_>,
        size: usize,
        server: &ServerConfig,
    ) -> Option<FirstInitial> {
        if packet.destination.len() < MIN_FIRST_ID {
            return None;
        }
        if let Some(farewell) = self.unvalidated.farewell(&(way.remote, packet.destination)) {
            self.answers.repeat(now, way, farewell);
            return None;
        }
        let secrets = self.secrets.clone();
        let vault = secrets.vault.as_ref()?;
        let destination = packet.destination;
        let occasion = Occasion {
            version: packet.version,
            now,
            remote: way.remote,
        };
        let proof = if packet.token.is_empty() {
            Proof::None
        } else {
            self.tokens
                .check(vault, packet.token, &occasion, &destination)
        };
        if proof == Proof::Spoilt {
            self.answers.refuse(now, way, packet, Code::INVALID_TOKEN);
            self.strays.bad_token += 1;
            return None;
        }
        let budget = server.transport.budget.as_ref();
        let client = way.remote.ip();
        let is_over_budget = budget.is_some_and(|budget| budget.is_exhausted_for(client));
        if is_over_budget || self.served >= server.most_connections {
            self.over_budget += u64::from(is_over_budget);
            let code = Code::CONNECTION_REFUSED;
            self.answers.refuse(now, way, packet, code);
            self.strays.refused += 1;
            return None;
        }
        let must_prove = proof == Proof::None
            && match server.retry {
                Retry::Never => false,
                Retry::Always => true,
                Retry::AboveHandshakes(most) => !self.unvalidated.admits(now, most),
            };
        if must_prove {
            let source = self.random.id();
            let random = &mut self.random;
            let token = tokens::seal_retry(vault, random, &occasion, &destination, &source)?;
            self.answers.retry(way, packet, &source, &token);
            self.strays.retried += 1;
            return None;
        }
        self.tokens_taken += u64::from(proof == Proof::Known);
        Some(arrival(packet, proof, size))
    }
}

fn arrival(packet: &LongPacket<'_>, proof: Proof, size: usize) -> FirstInitial {
    let (original, retry_source): (ConnectionId, _) = match proof {
        Proof::Retried { original } => (original, Some(packet.destination)),
        _ => (packet.destination, None),
    };
    FirstInitial {
        original,
        retry_source,
        destination: packet.destination,
        source: packet.source,
        validated: proof != Proof::None,
        datagram: u16::try_from(size).unwrap_or(u16::MAX),
    }
}
