//! Whether a plan can be carried out: by the engines of this program, and over its path.

use crate::engine::{self, Job, Pulse};
use crate::error::PlanError;
use crate::identity;
use crate::plan::{
    Arm, ArmTransport, DatagramLength, EngineName, PACKET_AEAD, PerfPlan, SideRole, UDP_OVERHEAD,
    range,
};

const MAX_WRITE: u64 = 1 << 20;

impl PerfPlan {
    /// Finds contradictions, before anything is created.
    pub fn check(&self) -> Result<(), PlanError> {
        range("--rounds", u64::from(self.rounds), 1, 1000)?;
        self.work.check()?;
        for (place, arm) in self.arms.iter().enumerate() {
            arm.check()?;
            self.fits(arm)?;
            if self.arms.iter().take(place).any(|other| other == arm) {
                return Err(PlanError::Twice(arm.to_string()));
            }
        }
        let both = self.pin.sender.zip(self.pin.receiver);
        if both.is_some_and(|(sender, receiver)| sender == receiver) {
            return Err(PlanError::Contradiction {
                one: "one core for the sender",
                other: "the same core for the receiver",
                why: "then neither side's cost could be measured; name two, or --pin none",
            });
        }
        Ok(())
    }

    /// The job of one side of an arm.
    pub fn job(&self, arm: &Arm, role: SideRole, pulse: &Pulse) -> Job {
        let is_sender = role == self.work.sender();
        Job {
            work: self.work,
            knobs: arm.knobs,
            core: if is_sender {
                self.pin.sender
            } else {
                self.pin.receiver
            },
            pulse: pulse.clone(),
        }
    }

    /// Rejects datagrams that are too long for the path: they would never arrive.
    fn fits(&self, arm: &Arm) -> Result<(), PlanError> {
        let (DatagramLength::Of(size) | DatagramLength::Mirror(size)) = arm.knobs.datagram else {
            return Ok(());
        };
        let mtu = self.terrain.ends().map_or(u16::MAX, |ends| ends.mtu);
        let most = mtu.saturating_sub(UDP_OVERHEAD);
        range("--datagram", size.into(), 1200, most.into())
    }
}

impl Arm {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let write = self.knobs.write_size as u64;
        range("--write-size", write, 1, MAX_WRITE)?;
        if (self.transport == ArmTransport::Quic) != EngineName::OF_QUIC.contains(&self.engine) {
            let instead = "engines are chosen for quic, among own, proto, quinn and s2n";
            let what = self.transport.word();
            return Err(PlanError::cannot(self.engine.word(), what, instead));
        }
        self.check_packet_aead()?;
        engine::by_name(self.engine).check(&self.knobs)
    }

    /// Rejects our own AES-GCM if it is not available: another cipher would be used, and the figure
    /// would be about that one.
    fn check_packet_aead(&self) -> Result<(), PlanError> {
        let instead = if !self.knobs.packet_aead {
            return Ok(());
        } else if self.engine != EngineName::Own {
            "its packets are sealed by aws-lc; write quic/own, or omit packetaead"
        } else if let Some(instead) = identity::lacks_packet_aead(self.knobs.cipher) {
            instead
        } else {
            return Ok(());
        };
        Err(PlanError::cannot(self.engine.word(), PACKET_AEAD, instead))
    }
}
