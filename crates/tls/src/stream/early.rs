//! The state of a client's early data.

use roundtrip_model::EarlyData;

/// A client's early data: the bytes sent, until the server has accepted or refused them.
pub(super) enum Early {
    Off,
    Open(Vec<u8>),
    Over { accepted: bool },
}

impl Early {
    pub(super) fn fact(&self) -> EarlyData {
        match self {
            Self::Over { accepted: true } => EarlyData::Accepted,
            Self::Over { accepted: false } => EarlyData::Refused,
            Self::Off | Self::Open(_) => EarlyData::NotOffered,
        }
    }
}
