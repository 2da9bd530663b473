//! A placeholder for an engine that was not built in: it only says how to build it.

use std::net::SocketAddr;

use super::{Engine, Job, Side, Station};
use crate::error::{PerfError, PlanError};
use crate::identity::{Identity, Trust};
use crate::plan::Knobs;

pub(super) struct Absent {
    engine: &'static str,
    remedy: &'static str,
}

pub(super) const S2N: Absent = Absent {
    engine: "s2n",
    remedy: "this program was built without it; build with --features s2n",
};

impl Absent {
    fn refused<T>(&self) -> Result<T, PlanError> {
        Err(PlanError::cannot(self.engine, "quic", self.remedy))
    }
}

impl Engine for Absent {
    fn check(&self, _: &Knobs) -> Result<(), PlanError> {
        self.refused()
    }

    fn listen(&self, _: SocketAddr, _: &Identity, _: &Job) -> Result<Box<dyn Station>, PerfError> {
        Ok(self.refused()?)
    }

    fn drive(&self, _: SocketAddr, _: &Trust, _: &Job) -> Result<Side, PerfError> {
        Ok(self.refused()?)
    }
}
