//! The data of records as text. Types that are not listed here have RFC 3597's form.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{escape, name};
use crate::cursor::Cursor;
use crate::dns::{Kind, Service};
use crate::{Result, calendar, hex};

const BASE32_HEX: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
/// The names of the service parameters, by key. RFC 9460 §14.3.2.
const PARAMETERS: [&str; 7] = [
    "mandatory",
    "alpn",
    "no-default-alpn",
    "port",
    "ipv4hint",
    "ech",
    "ipv6hint",
];

pub(super) fn text<'a>(kind: Kind, mut data: Cursor<'a>, message: &'a [u8]) -> Result<String> {
    let all = data.rest();
    let cursor = &mut data;
    let text = match kind.to_string().as_str() {
        "A" => Ipv4Addr::from(cursor.array::<4>()?).to_string(),
        "AAAA" => Ipv6Addr::from(cursor.array::<16>()?).to_string(),
        "CNAME" | "DNAME" | "MB" | "MD" | "MF" | "MG" | "MR" | "NS" | "PTR" => {
            name(cursor, message)?
        }
        "AFSDB" | "KX" | "MX" | "RT" => {
            format!("{} {}", cursor.u16()?, name(cursor, message)?)
        }
        "MINFO" | "RP" => format!("{} {}", name(cursor, message)?, name(cursor, message)?),
        "AVC" | "HINFO" | "NINFO" | "SPF" | "TXT" => strings(cursor)?,
        "SOA" => {
            let names = format!("{} {}", name(cursor, message)?, name(cursor, message)?);
            let numbers = [cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?];
            let [serial, refresh, retry, expire] = numbers;
            format!(
                "{names} {serial} {refresh} {retry} {expire} {}",
                cursor.u32()?
            )
        }
        "SRV" => {
            let numbers = format!("{} {} {}", cursor.u16()?, cursor.u16()?, cursor.u16()?);
            format!("{numbers} {}", name(cursor, message)?)
        }
        "NAPTR" => {
            let mut text = format!("{} {}", cursor.u16()?, cursor.u16()?);
            for _ in 0..3 {
                let _ = write!(text, " {}", string(cursor)?);
            }
            format!("{text} {}", name(cursor, message)?)
        }
        "CAA" => {
            let flags = cursor.u8()?;
            let tag = String::from_utf8_lossy(cursor.vector8()?.rest()).into_owned();
            format!("{flags} {tag} {}", quoted(rest(cursor)?))
        }
        "URI" => {
            let numbers = format!("{} {}", cursor.u16()?, cursor.u16()?);
            format!("{numbers} {}", quoted(rest(cursor)?))
        }
        "CDS" | "DLV" | "DS" | "TA" => {
            let head = format!("{} {} {}", cursor.u16()?, cursor.u8()?, cursor.u8()?);
            format!("{head} {}", hex(rest(cursor)?).to_uppercase())
        }
        "SSHFP" => {
            let head = format!("{} {}", cursor.u8()?, cursor.u8()?);
            format!("{head} {}", hex(rest(cursor)?).to_uppercase())
        }
        "SMIMEA" | "TLSA" => {
            let head = format!("{} {} {}", cursor.u8()?, cursor.u8()?, cursor.u8()?);
            format!("{head} {}", hex(rest(cursor)?))
        }
        "CDNSKEY" | "DNSKEY" => {
            let head = format!("{} {} {}", cursor.u16()?, cursor.u8()?, cursor.u8()?);
            format!("{head} {}", STANDARD.encode(rest(cursor)?))
        }
        "DHCID" | "OPENPGPKEY" => STANDARD.encode(rest(cursor)?),
        "RRSIG" => signature(cursor, message)?,
        "NSEC" => {
            let next = name(cursor, message)?;
            next + &types(cursor)?
        }
        "NSEC3" => {
            let head = hashed(cursor)?;
            let next = base32(cursor.vector8()?.rest());
            format!("{head} {next}{}", types(cursor)?)
        }
        "NSEC3PARAM" => hashed(cursor)?,
        "HTTPS" | "SVCB" => service(cursor, message)?,
        _ => {
            let bytes = rest(cursor)?;
            format!("\\# {} {}", bytes.len(), hex(all))
        }
    };
    data.finish()?;
    Ok(text)
}

fn rest<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    cursor.take(cursor.rest().len())
}

/// Encodes bytes without padding.
fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let bits = (0..5).fold(0_u64, |bits, at| {
            bits << 8 | u64::from(chunk.get(at).copied().unwrap_or_default())
        });
        for digit in 0..(chunk.len() * 8).div_ceil(5) {
            let value = (bits >> (35 - 5 * digit)) as usize & 31;
            text.extend(BASE32_HEX.get(value).map(|byte| char::from(*byte)));
        }
    }
    text
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        escape(*byte, b"\"\\", &mut text);
    }
    text + "\""
}

/// Writes one character string.
fn string(cursor: &mut Cursor<'_>) -> Result<String> {
    Ok(quoted(cursor.vector8()?.rest()))
}

/// Character strings up to the end.
fn strings(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut all = Vec::new();
    while !cursor.is_empty() {
        all.push(string(cursor)?);
    }
    Ok(all.join(" "))
}

fn signature<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<String> {
    let covered = Kind(cursor.u16()?);
    let head = format!(
        "{covered} {} {} {}",
        cursor.u8()?,
        cursor.u8()?,
        cursor.u32()?
    );
    let times = format!("{} {}", time(cursor.u32()?), time(cursor.u32()?));
    let tag = cursor.u16()?;
    let signer = name(cursor, message)?;
    Ok(format!(
        "{head} {times} {tag} {signer} {}",
        STANDARD.encode(rest(cursor)?)
    ))
}

/// `YYYYMMDDHHmmSS`. RFC 4034 §3.2.
fn time(seconds: u32) -> String {
    let time = calendar::rfc3339(u64::from(seconds) * 1000);
    time.chars().filter(char::is_ascii_digit).take(14).collect()
}

/// The algorithm, flags, iterations and salt of NSEC3. RFC 5155 §3.3.
fn hashed(cursor: &mut Cursor<'_>) -> Result<String> {
    let head = format!("{} {} {}", cursor.u8()?, cursor.u8()?, cursor.u16()?);
    let salt = hex(cursor.vector8()?.rest()).to_uppercase();
    let salt = if salt.is_empty() { "-" } else { &salt };
    Ok(format!("{head} {salt}"))
}

/// Writes the types of a bitmap, each after a space. RFC 4034 §4.1.2.
fn types(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut text = String::new();
    while !cursor.is_empty() {
        let window = u16::from(cursor.u8()?) << 8;
        for (place, byte) in (0_u16..).zip(cursor.vector8()?.rest()) {
            for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
                let kind = Kind(window | (place * 8 + bit) & 0xff);
                let _ = write!(text, " {kind}");
            }
        }
    }
    Ok(text)
}

/// RFC 9460 §2.1, with every value in quotes.
fn service<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<String> {
    // Read twice: as a whole, for its rules, and for the case of its name.
    Service::read(&mut cursor.clone(), message)?;
    let mut text = format!("{} {}", cursor.u16()?, name(cursor, message)?);
    while !cursor.is_empty() {
        let key = cursor.u16()?;
        let value = cursor.vector16()?;
        let value = match key {
            0 => joined(&value.collect(|c| c.u16().map(parameter))?),
            1 => joined(&value.collect(|c| Ok(protocol(c.vector8()?.rest())))?),
            3 => value.clone().u16()?.to_string(),
            4 => joined(&value.collect(|c| Ok(Ipv4Addr::from(c.array::<4>()?).to_string()))?),
            5 => STANDARD.encode(value.rest()),
            6 => joined(&value.collect(|c| Ok(Ipv6Addr::from(c.array::<16>()?).to_string()))?),
            _ => quoted(value.rest()).trim_matches('"').to_owned(),
        };
        let _ = write!(text, " {}=\"{value}\"", parameter(key));
    }
    Ok(text)
}

fn joined(parts: &[String]) -> String {
    parts.join(",")
}

fn parameter(key: u16) -> String {
    let known = PARAMETERS.get(usize::from(key));
    known.map_or_else(|| format!("key{key}"), |name| (*name).to_owned())
}

fn protocol(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        escape(*byte, b"\"\\,", &mut text);
    }
    text
}
