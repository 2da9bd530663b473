//! A connection that is followed, whatever carries it.

use crate::key::FlowKey;
use crate::quic::QuicFlow;
use crate::relations::ConnectionEnd;
use crate::tcp::TcpFlow;
use crate::vantage::Vantage;

/// The approximate memory of a connection in bytes, beside what its content holds, and including
/// the allocator's overhead.
const PER_FLOW: usize = 4 << 10;

pub(crate) enum Carried {
    Tcp(Box<TcpFlow>),
    Quic(Box<QuicFlow>),
}

/// A connection that is followed.
pub(crate) struct Flow {
    /// The number of the connection, in the order in which connections began; the same on all
    /// interfaces that see it.
    pub(crate) number: u64,
    pub(crate) last: u64,
    /// The place from which the connection was seen, if a part of it was reported.
    pub(crate) vantage: Option<Vantage>,
    /// The memory that the flow holds, in bytes.
    pub(crate) weight: usize,
    pub(crate) carried: Carried,
}

impl Flow {
    pub(crate) fn new(number: u64, at: u64, carried: Carried) -> Self {
        Self {
            number,
            last: at,
            vantage: None,
            weight: 0,
            carried,
        }
    }

    /// A value that distinguishes the connection from others between the same ports.
    pub(crate) fn mark(&self) -> Option<u32> {
        match &self.carried {
            Carried::Tcp(flow) => flow.first[0],
            Carried::Quic(flow) => Some(flow.mark),
        }
    }

    /// The sequence number of the connection's SYN.
    pub(crate) fn first_sequence(&self) -> Option<u32> {
        match &self.carried {
            Carried::Tcp(flow) if flow.syn.is_some() => flow.first[0],
            _ => None,
        }
    }

    /// Whether this connection was opened to repeat the request that crossed the end of another
    /// connection.
    pub(crate) fn repeats(
        &self,
        at: FlowKey,
        key: FlowKey,
        other: &TcpFlow,
        end: &ConnectionEnd,
    ) -> bool {
        let Carried::Tcp(flow) = &self.carried else {
            return false;
        };
        let ends = (flow.client.ip(), flow.server) == (other.client.ip(), other.server);
        let began = flow.began();
        let is_new = flow.syn.is_some() && at.interface == key.interface;
        is_new && ends && end.is_repeated_at(began)
    }

    /// Records that the connection was seen again. Returns by how many bytes its memory grew.
    pub(crate) fn note(&mut self, at: u64) -> usize {
        self.last = at;
        let before = self.weight;
        self.weight = self.weigh().max(before);
        self.weight - before
    }

    pub(crate) fn weigh(&self) -> usize {
        PER_FLOW
            + match &self.carried {
                Carried::Tcp(flow) => flow.held(),
                Carried::Quic(flow) => flow.held(),
            }
    }
}
