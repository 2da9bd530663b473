//! Values that TOML has no types for: durations, sizes, networks, and where a secret is.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use roundtrip_model::parse_duration;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};

/// `"90ms"`, `"30s"`, `"10min"`, `"12h"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Self).map_err(D::Error::custom)
    }
}

/// A number of bytes, or `"64KiB"`, `"10MiB"`, `"1GiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, as in 65536, \"64KiB\" or \"10MiB\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Bytes, E> {
                let wrong = || E::invalid_value(Unexpected::Signed(number), &self);
                u64::try_from(number).map(Bytes).map_err(|_| wrong())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Bytes, E> {
                Ok(Bytes(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                Bytes::parse(text).ok_or_else(|| {
                    E::custom(format!(
                        "`{text}` is not a valid size; write it like 65536, \"64KiB\" or \"10MiB\""
                    ))
                })
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl Bytes {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let shift = match text.get(digits.len()..).unwrap_or_default().trim() {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => 64,
        };
        let number = digits.parse::<u64>().ok();
        number?.checked_mul(1_u64.checked_shl(shift)?).map(Self)
    }
}

/// `"10.0.0.0/8"`, `"2001:db8::/32"`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address.parse().ok()?, bits.parse().ok()?),
            None => {
                let address: IpAddr = text.parse().ok()?;
                (address, width(address))
            }
        };
        (bits <= width(address)).then_some(Self { address, bits })
    }

    /// How the network should be written if the address has bits beyond the prefix: `10.0.0.0/8`
    /// for `10.0.0.7/8`.
    pub(crate) fn misspelled(&self) -> Option<String> {
        let host_bits = width(self.address) - self.bits;
        let mask = u128::MAX.checked_shl(host_bits.into()).unwrap_or(0);
        let network = number(self.address) & mask;
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4((network as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(network.into()),
        };
        (address != self.address).then(|| format!("{address}/{}", self.bits))
    }

    /// An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        width(address) == width(self.address)
            && (number(address) ^ number(self.address))
                .checked_shr(u32::from(width(address) - self.bits))
                .unwrap_or(0)
                == 0
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || {
            D::Error::custom(format!(
                "`{text}` is not a valid network; write it like 10.0.0.0/8 or ::1"
            ))
        };
        Self::parse(&text).ok_or_else(wrong)
    }
}

/// `{ file = "/path" }` or `{ env = "NAME" }`: a secret is never in the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFrom {
    File(PathBuf),
    Env(String),
}

/// No error repeats the value, because it may be the secret.
impl<'de> Deserialize<'de> for SecretFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Either {
            file: Option<PathBuf>,
            env: Option<String>,
        }

        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = SecretFrom;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "{ file = \"/path\" } or { env = \"NAME\" }: a secret is never in this file itself",
                )
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SecretFrom, A::Error> {
                let either = Either::deserialize(MapAccessDeserializer::new(map))?;
                match (either.file, either.env) {
                    (Some(path), None) => Ok(SecretFrom::File(path)),
                    (None, Some(name)) => Ok(SecretFrom::Env(name)),
                    _ => Err(A::Error::custom(
                        "give only one of them: { file = \"/path\" } or { env = \"NAME\" }",
                    )),
                }
            }
        }

        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct One<T> {
        v: T,
    }

    fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
        let read: Result<One<T>, _> = toml::from_str(&format!("v = {text}"));
        read.map(|one| one.v).map_err(|e| e.to_string())
    }

    #[test]
    fn times_and_sizes() {
        assert_eq!(read::<Span>("\"30s\""), Ok(Span::seconds(30)));
        assert!(read::<Span>("30").is_err());
        for (text, bytes) in [("7", 7), ("\"64KiB\"", 65536), ("\"2 MiB\"", 2 << 20)] {
            assert_eq!(read::<Bytes>(text), Ok(Bytes(bytes)), "{text}");
        }
        for bad in ["-1", "\"\"", "\"KiB\"", "\"9kb\"", "\"99999999999GiB\""] {
            assert!(read::<Bytes>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn networks_hold_addresses() {
        for (network, address, holds) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::", true),
            ("::/0", "2001:db8::1", true),
            ("::1", "::1", true),
            ("::1", "::2", false),
        ] {
            let network = Network::parse(network).unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                holds,
                "{address}"
            );
        }
        for bad in ["", "10.0.0.0/33", "x/8", "10.0.0.0/", "::/129"] {
            assert!(Network::parse(bad).is_none(), "{bad}");
        }
    }
}
