//! TCP without anything on top.

use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;

use super::channel::{Channel, Line};
use super::lanes::{self, Ends};
use super::{Engine, Job, Side, Station};
use crate::error::{PerfError, PlanError};
use crate::identity::{Identity, Trust};
use crate::plan::Knobs;

pub(super) struct Tcp;

/// The line itself.
pub(super) struct Plain(Line);

impl Engine for Tcp {
    fn check(&self, _: &Knobs) -> Result<(), PlanError> {
        Ok(())
    }

    fn listen(
        &self,
        at: SocketAddr,
        _: &Identity,
        job: &Job,
    ) -> Result<Box<dyn Station>, PerfError> {
        lanes::listen(Self, at, job)
    }

    fn drive(&self, to: SocketAddr, _: &Trust, job: &Job) -> Result<Side, PerfError> {
        lanes::drive(self, to, job)
    }
}

impl Ends for Tcp {
    type Channel = Plain;

    fn open(&self, line: Line) -> Result<Plain, PerfError> {
        Ok(Plain(line))
    }
}

impl Channel for Plain {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.shut()
    }

    fn line(&self) -> &Line {
        &self.0
    }
}

impl BufRead for Plain {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}
