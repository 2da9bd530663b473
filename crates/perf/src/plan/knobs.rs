//! The knobs of an arm, and how each is written. Arms and engines decide which knobs they have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::range;
use crate::error::PlanError;

/// The default size of mirrored datagrams in bytes: what fits a packet of 1500 bytes over IPv6.
const MIRRORED: u16 = 1452;
pub(super) const DEFAULT_WRITE: usize = 64 * 1024;

/// The knobs of one arm, with all defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmKnobs {
    pub congestion: Congestion,
    pub cipher: Cipher,
    /// The bytes that the application writes at once.
    pub write_size: usize,
    /// Packets per acknowledgement; `None` is the engine's default.
    pub ack_every: Option<AckEvery>,
    /// The largest number of datagrams per system call; `None` is the engine's default.
    pub gso: Option<usize>,
    pub datagram: DatagramLength,
    /// Whether packets are sealed by our own AES-GCM.
    #[serde(default)]
    pub packet_aead: bool,
}

impl Default for ArmKnobs {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            cipher: Cipher::Aes128,
            write_size: DEFAULT_WRITE,
            ack_every: None,
            gso: None,
            datagram: DatagramLength::Engine,
            packet_aead: false,
        }
    }
}

impl ArmKnobs {
    /// Checks that an engine can make bursts of this size.
    pub(crate) fn check_gso(&self, most: usize) -> Result<(), PlanError> {
        self.gso
            .map_or(Ok(()), |burst| range("--gso", burst as u64, 1, most as u64))
    }
}

/// Knobs as the user set them; `None` keeps the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    pub congestion: Option<Congestion>,
    pub cipher: Option<Cipher>,
    pub write_size: Option<usize>,
    pub ack_every: Option<AckEvery>,
    pub gso: Option<usize>,
    pub datagram: Option<DatagramLength>,
    pub packet_aead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    Cubic,
    Reno,
    Bbr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cipher {
    Aes128,
    Aes256,
    Chacha,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AckEvery {
    Packets(u32),
    /// A fraction of the congestion window.
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatagramLength {
    /// The engine's default.
    Engine,
    /// The UDP payload in bytes.
    Of(u16),
    /// The server uses the size of the client's first datagrams, which is this.
    Mirror(u16),
    /// Path MTU discovery (RFC 8899).
    Discover,
}

impl Congestion {
    pub fn word(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

impl Cipher {
    pub fn word(self) -> &'static str {
        match self {
            Self::Aes128 => "aes128",
            Self::Aes256 => "aes256",
            Self::Chacha => "chacha",
        }
    }
}

impl FromStr for Congestion {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        [Self::Cubic, Self::Reno, Self::Bbr]
            .into_iter()
            .find(|control| control.word() == text)
            .ok_or_else(|| wrong("congestion control", text, "choose cubic, reno or bbr"))
    }
}

impl FromStr for Cipher {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        [Self::Aes128, Self::Aes256, Self::Chacha]
            .into_iter()
            .find(|cipher| cipher.word() == text)
            .ok_or_else(|| wrong("cipher", text, "choose aes128, aes256 or chacha"))
    }
}

impl FromStr for AckEvery {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(packets @ 1..=10_000) => Ok(Self::Packets(packets)),
            _ => Err(wrong(
                "number of packets",
                text,
                "write 1 to 10000 packets for an acknowledgement, or auto",
            )),
        }
    }
}

impl FromStr for DatagramLength {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text.parse() {
            _ if text == "mirror" => Ok(Self::Mirror(MIRRORED)),
            _ if text == "discover" => Ok(Self::Discover),
            Ok(bytes) => Ok(Self::Of(bytes)),
            _ if let Some(Ok(bytes)) = text.strip_prefix("mirror").map(str::parse) => {
                Ok(Self::Mirror(bytes))
            }
            _ => Err(wrong(
                "datagram size",
                text,
                "write the bytes of a UDP payload, from 1200 on, mirror, mirror1350 or discover",
            )),
        }
    }
}

impl fmt::Display for AckEvery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// Parses a number of bytes: 65536, 64k, 1m, 2g. k, m and g are powers of 1024; kB, MB and GB of
/// 1000.
pub fn size(text: &str) -> Result<u64, PlanError> {
    let how = "write bytes, as in 65536, 64k or 2GB";
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "m" | "M" | "MiB" => 1 << 20,
        "g" | "G" | "GiB" => 1 << 30,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(wrong("size", text, how)),
    };
    let number: u64 = digits.parse().map_err(|_| wrong("size", text, how))?;
    number
        .checked_mul(unit)
        .ok_or_else(|| wrong("size", text, how))
}

fn wrong(what: &'static str, text: &str, how: &'static str) -> PlanError {
    PlanError::Value {
        what,
        text: text.into(),
        how,
    }
}
