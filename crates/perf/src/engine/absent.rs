//! A placeholder for an engine that was not built in: it only says how to build it.

use std::net::SocketAddr;

use super::{Engine, Job, ListeningServer, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::ArmKnobs;

pub(super) struct AbsentEngine(&'static str);

pub(super) const PROTO: AbsentEngine = AbsentEngine("proto");
pub(super) const QUINN: AbsentEngine = AbsentEngine("quinn");
pub(super) const S2N: AbsentEngine = AbsentEngine("s2n");

impl AbsentEngine {
    fn refused<T>(&self) -> Result<T, PlanError> {
        Err(PlanError::Absent(self.0))
    }
}

impl Engine for AbsentEngine {
    fn check(&self, _: &ArmKnobs) -> Result<(), PlanError> {
        self.refused()
    }

    fn listen(
        &self,
        _: SocketAddr,
        _: &ServerIdentity,
        _: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        Ok(self.refused()?)
    }

    fn drive(&self, _: SocketAddr, _: &Trust, _: &Job) -> Result<SideReport, PerfError> {
        Ok(self.refused()?)
    }
}
