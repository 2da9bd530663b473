//! The properties of a path by name, with the form of their values. Flags, experiment files and
//! presets all use these words, so that a word means the same everywhere.

use std::str::FromStr;

use crate::builder::Builder;
use crate::direction::Direction;
use crate::link::{self, Link};
use crate::presets::PRESETS;

/// One property of a path.
#[derive(Debug)]
pub struct PathWord {
    pub name: &'static str,
    /// The form of the property's value.
    pub value: &'static str,
    pub help: &'static str,
    apply: fn(&mut Builder, &str) -> Result<(), String>,
}

/// Why a property could not be set.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WordError {
    #[error("a path has no `{word}`; its properties are {}", names())]
    Unknown { word: String },
    #[error("{word}: {why}")]
    Value { word: &'static str, why: String },
}

/// All words. If a value can differ by direction, the prefix `up:` (client to server) or `down:`
/// selects one.
pub const WORDS: &[PathWord] = &[
    PathWord {
        name: "preset",
        value: "NAME",
        help: "A named network, such as transatlantic, 3g or starlink; other words add to it or change it",
        apply: |path, text| apply_preset(path, text),
    },
    PathWord {
        name: "rtt",
        value: "TIME",
        help: "Round-trip time, half of it each way",
        apply: |path, text| {
            let rtt = roundtrip_model::parse_duration(text)?;
            let up = rtt / 2;
            let links = &mut path.current().link;
            (links.up.delay, links.down.delay) = (up, rtt.saturating_sub(up));
            Ok(())
        },
    },
    PathWord {
        name: "delay",
        value: "TIME",
        help: "One-way delay",
        apply: |path, text| {
            each(path, text, |link, text| {
                put(&mut link.delay, roundtrip_model::parse_duration(text))
            })
        },
    },
    PathWord {
        name: "jitter",
        value: "TIME[,SHAPE]",
        help: "Additional delay that varies, up to TIME; SHAPE is uniform, normal, exponential or pareto. Packets keep their order",
        apply: |path, text| each(path, text, |link, text| put_some(&mut link.jitter, text)),
    },
    PathWord {
        name: "loss",
        value: "WHICH",
        help: "Lose packets: 1%, 1%x4 (in bursts of 4), nth:3+7 (by number), or the first syn, syn-ack, fin, data, \
               last (a write's last segment) or client-hello; syn*2 is the first two. Repeatable",
        apply: |path, text| each(path, text, |link, text| add(&mut link.loss, text)),
    },
    PathWord {
        name: "reorder",
        value: "SHARE[,TIME]",
        help: "Hold back this share of packets by TIME (1 ms), so that others overtake them",
        apply: |path, text| each(path, text, |link, text| put_some(&mut link.reorder, text)),
    },
    PathWord {
        name: "duplicate",
        value: "SHARE",
        help: "Deliver this share of packets twice",
        apply: |path, text| {
            each(path, text, |link, text| {
                put(&mut link.duplicate, link::parse_share(text))
            })
        },
    },
    PathWord {
        name: "corrupt",
        value: "SHARE[,unnoticed]",
        help: "Flip a bit in this share of packets; the receiver's checksum finds it, unless unnoticed",
        apply: |path, text| each(path, text, |link, text| put_some(&mut link.corrupt, text)),
    },
    PathWord {
        name: "rate",
        value: "RATE",
        help: "Bottleneck: 20mbit, 500kbit, 1gbit, or trace:FILE in mahimahi's format",
        apply: |path, text| each(path, text, |link, text| put_some(&mut link.rate, text)),
    },
    PathWord {
        name: "queue",
        value: "SIZE[,codel]",
        help: "Queue in front of the bottleneck: 100ms (the default) or 64kB; drop-tail, or codel",
        apply: |path, text| each(path, text, |link, text| put(&mut link.queue, text.parse())),
    },
    PathWord {
        name: "mtu",
        value: "BYTES",
        help: "Longest IP packet, 1280 or more, known to both ends [1500]",
        apply: |path, text| {
            let mtu = text
                .parse()
                .map_err(|_| format!("`{text}` is not a number of bytes"))?;
            path.set_mtu(mtu).map_err(|error| error.to_string())
        },
    },
    PathWord {
        name: "hole",
        value: "BYTES[,silent]",
        help: "A smaller MTU somewhere on the path; the sender learns of it by ICMP, or not at all (silent)",
        apply: |path, text| each(path, text, |link, text| put_some(&mut link.mtu, text)),
    },
    PathWord {
        name: "outage",
        value: "FROM-UNTIL[/EVERY]",
        help: "Carry nothing from 2s to 3s (2s-3s), or a tenth of a second out of each 15 (0s-100ms/15s). Repeatable",
        apply: |path, text| each(path, text, |link, text| add(&mut link.outages, text)),
    },
    PathWord {
        name: "middlebox",
        value: "NAME[:ARGUMENT]",
        help: "Add a middlebox on the client's side of the link; `roundtrip path --list` names them. Repeatable",
        apply: |path, text| {
            let middlebox = text.parse()?;
            path.current().boxes.push(middlebox);
            Ok(())
        },
    },
    PathWord {
        name: "then",
        value: "'WORD=VALUE …'",
        help: "Another section towards the server, described in the same words: 'rate=5mbit queue=50ms'. Repeatable",
        apply: |path, text| {
            *path = std::mem::take(path).then();
            apply_all(path, text)
        },
    },
    PathWord {
        name: "seed",
        value: "NUMBER",
        help: "Seed of all random choices: the same seed gives the same losses [0]",
        apply: |path, text| {
            let seed = text
                .parse()
                .map_err(|_| format!("`{text}` is not a whole number"))?;
            *path = std::mem::take(path).seed(seed);
            Ok(())
        },
    },
];

impl Builder {
    /// Sets one property by its word, such as `loss` to `1%`; [`WORDS`] lists them all.
    pub fn set(&mut self, word: &str, value: &str) -> Result<(), WordError> {
        apply(self, word, value)
    }
}

/// Sets one property.
fn apply(path: &mut Builder, name: &str, value: &str) -> Result<(), WordError> {
    let word = WORDS
        .iter()
        .find(|word| word.name == name)
        .ok_or_else(|| WordError::Unknown { word: name.into() })?;
    let why = |why| WordError::Value {
        word: word.name,
        why,
    };
    (word.apply)(path, value).map_err(why)
}

/// Sets several properties: `rtt=90ms loss=1%`.
fn apply_all(path: &mut Builder, text: &str) -> Result<(), String> {
    for item in text.split_whitespace() {
        let (word, value) = item
            .split_once('=')
            .ok_or_else(|| format!("`{item}` should be WORD=VALUE, as in rate=5mbit"))?;
        apply(path, word, value).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Applies the properties of a preset.
fn apply_preset(path: &mut Builder, name: &str) -> Result<(), String> {
    let preset = PRESETS
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            format!(
                "there is no network `{name}`; known are {}",
                names.join(", ")
            )
        })?;
    apply_all(path, preset.words)
}

fn names() -> String {
    let names: Vec<&str> = WORDS.iter().map(|word| word.name).collect();
    names.join(", ")
}

/// Applies a value to both directions, or to the one that its prefix selects.
fn each(
    path: &mut Builder,
    text: &str,
    apply: impl Fn(&mut Link, &str) -> Result<(), String>,
) -> Result<(), String> {
    let links = &mut path.current().link;
    for way in Direction::BOTH {
        let prefix = text
            .strip_prefix(way.word())
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some(value) = prefix {
            return apply(links.get_mut(way), value);
        }
    }
    Direction::BOTH
        .into_iter()
        .try_for_each(|way| apply(links.get_mut(way), text))
}

fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn put_some<T: FromStr<Err = String>>(place: &mut Option<T>, text: &str) -> Result<(), String> {
    *place = Some(text.parse()?);
    Ok(())
}

fn add<T: FromStr<Err = String>>(list: &mut Vec<T>, text: &str) -> Result<(), String> {
    list.push(text.parse()?);
    Ok(())
}
