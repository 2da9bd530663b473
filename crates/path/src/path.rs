//! The path itself: what holds it together, in the order in which it comes apart.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::builder::Builder;
use crate::counters::Counters;
use crate::error::Error;
use crate::keeper::Keeper;
use crate::namespace::Namespace;
use crate::relay::Relay;

/// An emulated path. Dropping it ends what runs inside and takes everything down.
#[derive(Debug)]
pub struct Path {
    // Fields drop in this order: first what runs inside, then the relay, then the networks.
    pub(crate) _keeper: Keeper,
    pub(crate) relay: Relay,
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
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

    /// Takes it down, and tells what crossed. An error says that the recording is not whole.
    pub fn close(mut self) -> Result<Counters, Error> {
        let written = self.relay.stop();
        let counters = self.counters();
        match (written, self.record.take()) {
            (Err(source), Some(file)) => Err(Error::Recording { file, source }),
            _ => Ok(counters),
        }
    }

    /// What crossed so far, what was lost, and how late the relay released packets.
    pub fn counters(&self) -> Counters {
        self.relay.counters()
    }
}
