//! One way to carry bytes, with its knobs: a value that is written as one word, `quic+ack10+gso1`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Congestion;
use super::knobs::{ArmKnobs, Cipher, DEFAULT_WRITE, DatagramLength, Tuning};
use crate::error::PlanError;

const QUIC: &str = "quic";
pub(crate) const PACKET_AEAD: &str = "packetaead";
const SEALED: &str = "tls and quic";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub transport: ArmTransport,
    pub engine: EngineName,
    pub knobs: ArmKnobs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArmTransport {
    Tcp,
    Tls,
    Quic,
}

/// The implementation of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    Kernel,
    Rustls,
    /// Crate `quic`.
    Own,
    /// quinn-proto, in our own loop.
    Proto,
    Quinn,
    /// s2n-quic, if the program was built with it.
    S2n,
}

impl ArmTransport {
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Tls, Self::Quic];

    pub fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => QUIC,
        }
    }

    fn engine(self) -> EngineName {
        match self {
            Self::Tcp => EngineName::Kernel,
            Self::Tls => EngineName::Rustls,
            Self::Quic => EngineName::Own,
        }
    }
}

impl EngineName {
    pub const OF_QUIC: [Self; 4] = [Self::Own, Self::Proto, Self::Quinn, Self::S2n];

    pub fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Rustls => "rustls",
            Self::Own => "own",
            Self::Proto => "proto",
            Self::Quinn => "quinn",
            Self::S2n => "s2n",
        }
    }
}

impl Arm {
    pub fn new(transport: ArmTransport) -> Self {
        Self {
            transport,
            engine: transport.engine(),
            knobs: ArmKnobs::default(),
        }
    }

    /// Parses an arm. General knobs apply if they concern it; the arm's own knobs override them.
    fn read(text: &str, general: &Tuning, engine: Option<EngineName>) -> Result<Self, PlanError> {
        let unknown = || PlanError::Arm { text: text.into() };
        let mut words = text.split('+');
        let mut name = words.next().unwrap_or_default().split('/');
        let transport = ArmTransport::ALL
            .into_iter()
            .find(|transport| name.clone().next() == Some(transport.word()))
            .ok_or_else(unknown)?;
        let mut arm = Self::new(transport);
        name.next();
        if let Some(engine) = engine.filter(|_| transport == ArmTransport::Quic) {
            arm.engine = engine;
        }
        if let Some(named) = name.next() {
            arm.engine = named.parse()?;
        }
        let mut tuning = general.concerning(transport);
        for word in words {
            tuning.hear(word, text)?;
        }
        tuning.refuse_foreign(text, transport)?;
        arm.knobs = tuning.over(arm.knobs);
        Ok(arm)
    }

    /// Parses all arms. Each general knob has to concern at least one.
    pub fn read_all<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        general: &Tuning,
        engine: Option<EngineName>,
    ) -> Result<Vec<Self>, PlanError> {
        let read = |text| Self::read(text, general, engine);
        let arms: Vec<Self> = texts.into_iter().map(read).collect::<Result<_, _>>()?;
        general.refuse_idle(&arms)?;
        let has_quic = arms.iter().any(|arm| arm.transport == ArmTransport::Quic);
        if engine.is_some() && !has_quic {
            return Err(PlanError::Idle {
                knob: "engine",
                concerns: QUIC,
            });
        }
        Ok(arms)
    }
}

impl Tuning {
    /// Each knob that was set, and the transports that support it.
    fn turned(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, &'static [ArmTransport])> {
        const QUIC_ALONE: &[ArmTransport] = &[ArmTransport::Quic];
        [
            self.cipher.map(|_| {
                (
                    "cipher",
                    SEALED,
                    &[ArmTransport::Tls, ArmTransport::Quic][..],
                )
            }),
            self.ack_every.map(|_| ("ack-every", QUIC, QUIC_ALONE)),
            self.gso.map(|_| ("gso", QUIC, QUIC_ALONE)),
            self.datagram.map(|_| ("datagram", QUIC, QUIC_ALONE)),
            self.packet_aead.then_some((PACKET_AEAD, QUIC, QUIC_ALONE)),
        ]
        .into_iter()
        .flatten()
    }

    /// Rejects general knobs that concern no arm: they are a mistake.
    fn refuse_idle(&self, arms: &[Arm]) -> Result<(), PlanError> {
        for (knob, concerns, who) in self.turned() {
            if !arms.iter().any(|arm| who.contains(&arm.transport)) {
                return Err(PlanError::Idle { knob, concerns });
            }
        }
        Ok(())
    }

    fn refuse_foreign(&self, arm: &str, transport: ArmTransport) -> Result<(), PlanError> {
        let foreign = self.turned().find(|(_, _, who)| !who.contains(&transport));
        foreign.map_or(Ok(()), |(knob, concerns, _)| {
            Err(PlanError::Foreign {
                arm: arm.into(),
                knob,
                transport: transport.word(),
                concerns,
            })
        })
    }

    fn concerning(&self, transport: ArmTransport) -> Self {
        let mut tuning = *self;
        if transport != ArmTransport::Quic {
            (tuning.ack_every, tuning.gso, tuning.datagram) = (None, None, None);
            tuning.packet_aead = false;
        }
        if transport == ArmTransport::Tcp {
            tuning.cipher = None;
        }
        tuning
    }

    /// Parses one word of an arm.
    fn hear(&mut self, word: &str, arm: &str) -> Result<(), PlanError> {
        let place = |digits: char| digits.is_ascii_digit();
        let number = |prefix: &str| {
            let rest = word.strip_prefix(prefix)?;
            rest.starts_with(place).then_some(rest)
        };
        if let Some(packets) = word.strip_prefix("ack") {
            self.ack_every = Some(packets.parse()?);
        } else if let Some(burst) = number("gso") {
            self.gso = Some(super::size(burst)? as usize);
        } else if let Some(bytes) = number("datagram") {
            self.datagram = Some(bytes.parse()?);
        } else if word == "discover" || word.starts_with("mirror") {
            self.datagram = Some(word.parse()?);
        } else if word == PACKET_AEAD {
            self.packet_aead = true;
        } else if let Some(bytes) = number("write") {
            self.write_size = Some(super::size(bytes)? as usize);
        } else if let Ok(cipher) = word.parse::<Cipher>() {
            self.cipher = Some(cipher);
        } else if let Ok(control) = word.parse::<Congestion>() {
            self.congestion = Some(control);
        } else {
            return Err(PlanError::Value {
                what: "knob",
                text: format!("{word}` in `{arm}"),
                how: "known are ackN, gsoN, datagramN, mirrorN, discover, writeN, aes128, aes256, chacha, packetaead, cubic, reno and bbr",
            });
        }
        Ok(())
    }

    fn over(self, knobs: ArmKnobs) -> ArmKnobs {
        ArmKnobs {
            congestion: self.congestion.unwrap_or(knobs.congestion),
            cipher: self.cipher.unwrap_or(knobs.cipher),
            write_size: self.write_size.unwrap_or(knobs.write_size),
            ack_every: self.ack_every.or(knobs.ack_every),
            gso: self.gso.or(knobs.gso),
            datagram: self.datagram.unwrap_or(knobs.datagram),
            packet_aead: self.packet_aead || knobs.packet_aead,
        }
    }
}

impl FromStr for EngineName {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        Self::OF_QUIC
            .into_iter()
            .find(|engine| engine.word() == text)
            .ok_or_else(|| PlanError::Value {
                what: "engine",
                text: text.into(),
                how: "choose own, proto, quinn or s2n",
            })
    }
}

impl FromStr for Arm {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        Self::read(text, &Tuning::default(), None)
    }
}

/// Writes the arm as one word, with only those knobs that were set.
impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transport.word())?;
        if self.engine != self.transport.engine() {
            write!(f, "/{}", self.engine.word())?;
        }
        let (knobs, plain) = (&self.knobs, ArmKnobs::default());
        if let Some(packets) = knobs.ack_every {
            write!(f, "+ack{packets}")?;
        }
        if let Some(burst) = knobs.gso {
            write!(f, "+gso{burst}")?;
        }
        match knobs.datagram {
            DatagramLength::Engine => {}
            DatagramLength::Of(bytes) => write!(f, "+datagram{bytes}")?,
            DatagramLength::Mirror(bytes) => write!(f, "+mirror{bytes}")?,
            DatagramLength::Discover => f.write_str("+discover")?,
        }
        if knobs.write_size != DEFAULT_WRITE {
            write!(f, "+write{}", knobs.write_size)?;
        }
        if knobs.cipher != plain.cipher {
            write!(f, "+{}", knobs.cipher.word())?;
        }
        if knobs.packet_aead {
            write!(f, "+{PACKET_AEAD}")?;
        }
        if knobs.congestion != Congestion::Cubic {
            write!(f, "+{}", knobs.congestion.word())?;
        }
        Ok(())
    }
}
