//! TCP without anything on top.

use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;

use super::channel::{BufferedSocket, Channel};
use super::lanes::{self, ChannelMaker};
use super::{Engine, Job, ListeningServer, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::ArmKnobs;

pub(super) struct TcpEngine;

/// The socket itself.
pub(super) struct TcpChannel(BufferedSocket);

impl Engine for TcpEngine {
    fn check(&self, _: &ArmKnobs) -> Result<(), PlanError> {
        Ok(())
    }

    fn listen(
        &self,
        at: SocketAddr,
        _: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        lanes::listen(Self, at, job)
    }

    fn drive(&self, to: SocketAddr, _: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        lanes::drive(self, to, job)
    }
}

impl ChannelMaker for TcpEngine {
    type Channel = TcpChannel;

    fn open(&self, line: BufferedSocket) -> Result<TcpChannel, PerfError> {
        Ok(TcpChannel(line))
    }
}

impl Channel for TcpChannel {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.shut()
    }

    fn line(&self) -> &BufferedSocket {
        &self.0
    }
}

impl BufRead for TcpChannel {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl Read for TcpChannel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}
