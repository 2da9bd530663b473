//! QUIC by our own engine: one thread, one socket, no runtime. A burst leaves by one call, what came is taken in by few,
//! and nobody hands anything to anybody else.

mod answers;
mod lanes;
mod turns;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_quic::{
    AckPolicy, ClientConfig, CongestionControl, Connection, DatagramSize, Peek, ServerConfig,
    StreamId, Transport, WriteError,
};

use super::{Engine, Job, PATIENCE, Side, Station};
use crate::account::Meter;
use crate::error::{PerfError, PlanError};
use crate::identity::{Identity, Trust};
use crate::plan::{AckEvery, Congestion, Datagram, Knobs, Role, range};
use crate::protocol::NAME;
use answers::Answers;
use lanes::Lanes;
use turns::Turns;

/// More than any work has lanes.
const STREAMS: u64 = 20_000;
/// Of one `sendmsg`.
const MOST_BURST: u64 = 64;

pub(super) struct Own;

impl Engine for Own {
    fn check(&self, knobs: &Knobs) -> Result<(), PlanError> {
        match knobs.gso {
            Some(burst) => range("--gso", burst as u64, 1, MOST_BURST),
            None => Ok(()),
        }
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &Identity,
        job: &Job,
    ) -> Result<Box<dyn Station>, PerfError> {
        let mut tls = identity.server(job.knobs.cipher)?;
        // RFC 9001 §4.6.1: early data is as much as the transport allows, or none.
        tls.max_early_data_size = 0;
        let config = ServerConfig::new(Arc::new(tls), transport(&job.knobs, Role::Server));
        let turns = Turns::open(at, Some(config))?;
        Ok(Box::new(Serving {
            address: turns.address()?,
            turns,
            job: job.clone(),
        }))
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<Side, PerfError> {
        let here: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let mut turns = Turns::open(SocketAddr::new(here, 0), None)?;
        let tls = Arc::new(trust.client(job.knobs.cipher)?);
        let config = ClientConfig::new(tls, transport(&job.knobs, Role::Client));
        for _ in 0..job.work.connections {
            turns.connect(&config, to, NAME)?;
        }
        let mut lanes = Lanes::new(job);
        turns.run(&mut lanes, Lanes::is_connected, Some(PATIENCE))?;
        let meter = Meter::start(job.core);
        lanes.begin();
        turns.run(&mut lanes, Lanes::is_done, None)?;
        let usage = meter.read();
        let mut side = lanes.into_side();
        (side.usage, side.wire) = (usage, turns.wire());
        turns.close()?;
        Ok(side)
    }
}

struct Serving {
    turns: Turns,
    address: SocketAddr,
    job: Job,
}

impl Station for Serving {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<Side, PerfError> {
        let Self { mut turns, job, .. } = *self;
        let mut answers = Answers::new(&job);
        turns.run(&mut answers, Answers::has_begun, Some(PATIENCE))?;
        turns.run(&mut answers, Answers::is_over, None)?;
        let mut side = answers.into_side();
        side.wire = turns.wire();
        Ok(side)
    }
}

fn transport(knobs: &Knobs, role: Role) -> Arc<Transport> {
    let mut transport = Transport {
        idle_timeout: PATIENCE,
        bidi_streams: STREAMS,
        congestion: match knobs.congestion {
            Congestion::Cubic => CongestionControl::Cubic,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Bbr => CongestionControl::Bbr,
        },
        ..Transport::default()
    };
    match knobs.ack_every {
        Some(AckEvery::Packets(packets)) => {
            transport.ask_acks = AckPolicy::Every(packets.into());
            transport.ack_every = packets.into();
        }
        Some(AckEvery::Auto) => transport.ask_acks = AckPolicy::EighthOfWindow,
        None => {}
    }
    if let Some(burst) = knobs.gso {
        transport.burst = burst;
    }
    match knobs.datagram {
        Datagram::Engine => {}
        Datagram::Of(bytes) => transport.datagram = DatagramSize::Fixed(bytes),
        Datagram::Mirror(bytes) => {
            transport.datagram = match role {
                Role::Client => DatagramSize::Fixed(bytes),
                Role::Server => DatagramSize::Mirror,
            };
        }
        Datagram::Discover => transport.datagram = DatagramSize::Discover,
    }
    Arc::new(transport)
}

/// Writes what is left, as far as it goes; true when it is all written, and the stream's end with it.
fn pour(
    connection: &mut Connection,
    stream: StreamId,
    payload: &Bytes,
    left: &mut u64,
) -> Result<bool, WriteError> {
    while *left > 0 {
        let part = payload
            .len()
            .min(usize::try_from(*left).unwrap_or(usize::MAX));
        let taken = connection.write(stream, payload.slice(..part))?;
        *left -= taken as u64;
        if taken < part {
            return Ok(false);
        }
    }
    connection.finish(stream)?;
    Ok(true)
}

/// Reads what there is and forgets it; true at the stream's end.
fn drain(
    connection: &mut Connection,
    stream: StreamId,
    mut see: impl FnMut(&[u8]),
) -> Result<bool, PerfError> {
    loop {
        let count = match connection.peek(stream).map_err(broken)? {
            Peek::Bytes(bytes) => {
                see(bytes);
                bytes.len()
            }
            Peek::Blocked => return Ok(false),
            Peek::End => return Ok(true),
        };
        connection.consume(stream, count);
    }
}

fn broken(error: impl std::fmt::Display) -> PerfError {
    PerfError::Stream(error.to_string())
}
