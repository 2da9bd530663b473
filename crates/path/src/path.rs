//! The path itself: what holds it together, in the order in which it comes apart.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::builder::Builder;
use crate::counters::Counters;
use crate::error::Error;
use crate::keeper::Keeper;
use crate::namespace::Namespace;
use crate::relay::Relay;
use crate::uplink::Uplink;

/// An emulated path. Dropping it ends what runs inside and takes everything down.
#[derive(Debug)]
pub struct Path {
    // Fields drop in this order: first what runs inside, then the relay, then the networks.
    pub(crate) _keeper: Keeper,
    pub(crate) uplink: Option<Uplink>,
    /// None where the wire is bare.
    pub(crate) relay: Option<Relay>,
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    pub(crate) mtu: u16,
    pub(crate) record: Option<PathBuf>,
    pub(crate) _relay_network: OwnedFd,
}

impl Path {
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn client(&self) -> &Namespace {
        &self.client
    }

    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Lets the inside reach the network of the calling process, through the path: see `uplink`. For root only.
    pub fn connect_uplink(&mut self) -> Result<(), Error> {
        self.uplink = Some(Uplink::make(&self.client, &self.server, self.mtu)?);
        Ok(())
    }

    /// Takes it down, and tells what crossed. An error says that the recording is not whole.
    pub fn close(mut self) -> Result<Counters, Error> {
        let written = self.relay.as_mut().map_or(Ok(()), Relay::stop);
        let counters = self.counters();
        match (written, self.record.take()) {
            (Err(source), Some(file)) => Err(Error::Recording { file, source }),
            _ => Ok(counters),
        }
    }

    /// What crossed so far, what was lost, and how late the relay released packets. On a bare wire nobody counts: all is 0.
    pub fn counters(&self) -> Counters {
        self.relay
            .as_ref()
            .map_or_else(Counters::default, Relay::counters)
    }
}
