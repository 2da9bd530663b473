//! The path itself: owns all its parts, and drops them in the right order.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::counters::PathCounters;
use crate::error::PathError;
use crate::namespace::Namespace;
use crate::reaper::Reaper;
use crate::relay::Relay;
use crate::uplink::Uplink;

/// An emulated path. Dropping it ends everything that runs inside and removes the networks.
#[derive(Debug)]
pub struct Path {
    // Fields drop in this order: first the processes inside, then the relay, then the networks.
    pub(crate) _reaper: Reaper,
    pub(crate) uplink: Option<Uplink>,
    /// The relay; `None` on a bare wire.
    pub(crate) relay: Option<Relay>,
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    pub(crate) mtu: u16,
    pub(crate) record: Option<PathBuf>,
    pub(crate) _relay_network: OwnedFd,
}

impl Path {
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Connects the inside to the network of the calling process, through the path; see `uplink`.
    /// Needs root.
    pub fn connect_uplink(&mut self) -> Result<(), PathError> {
        self.uplink = Some(Uplink::make(&self.client, &self.server, self.mtu)?);
        Ok(())
    }

    /// Removes the path, and returns its counters. An error means that the recording is incomplete.
    pub fn close(mut self) -> Result<PathCounters, PathError> {
        let written = self.relay.as_mut().map_or(Ok(()), Relay::stop);
        let counters = self.counters();
        match (written, self.record.take()) {
            (Err(source), Some(file)) => Err(PathError::Recording { file, source }),
            _ => Ok(counters),
        }
    }

    /// The packets that crossed so far, those that were lost, and how late the relay released
    /// packets. All are 0 on a bare wire.
    pub fn counters(&self) -> PathCounters {
        self.relay
            .as_ref()
            .map_or_else(PathCounters::default, Relay::counters)
    }
}
