//! Boxes that stand in the way and meddle: one file each, and one line in [`KINDS`].

mod bleach_ecn;
mod clamp_mss;
mod drop_after_syn_data;
mod drop_dns;
mod drop_icmp;
mod drop_ipv6;
mod drop_split_hello;
mod drop_syn_data;
mod drop_syn_options;
mod drop_udp;
mod duplicate_syn;
mod filter;
mod idle_timeout;
pub(crate) mod nat;
mod reset;
mod rewrite;
mod strip_fast_open;
#[cfg(test)]
mod trial;
mod wake_up;

use std::fmt;
use std::str::FromStr;

use crate::hop::Hop;

/// Every kind of box there is.
const KINDS: &[&Kind] = &[
    &strip_fast_open::KIND,
    &drop_syn_data::KIND,
    &drop_after_syn_data::KIND,
    &drop_syn_options::KIND,
    &duplicate_syn::KIND,
    &nat::KIND,
    &idle_timeout::KIND,
    &reset::KIND,
    &drop_split_hello::KIND,
    &drop_udp::KIND,
    &drop_icmp::KIND,
    &drop_ipv6::KIND,
    &drop_dns::KIND,
    &bleach_ecn::KIND,
    &clamp_mss::KIND,
    &wake_up::KIND,
];

/// A box, or what is wrong with its argument.
pub(crate) type Made = Result<Box<dyn Hop>, String>;

/// A kind of box.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// What it does, for people.
    pub(crate) does: &'static str,
    /// The form of its argument, if it takes one.
    pub(crate) argument: Option<&'static str>,
    pub(crate) make: fn(Option<&str>) -> Made,
}

/// A box to be put in the way: `strip-fast-open`, or with an argument, `idle-timeout:30s`.
#[derive(Clone, Debug)]
pub struct Middlebox {
    kind: &'static Kind,
    argument: Option<String>,
}

impl Middlebox {
    /// The name, the form of the argument and what it does, of each kind.
    pub fn kinds() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
        KINDS
            .iter()
            .map(|kind| (kind.name, kind.argument, kind.does))
    }

    pub(crate) fn make(&self) -> Made {
        (self.kind.make)(self.argument.as_deref())
            .map_err(|why| format!("the box {}: {why}", self.kind.name))
    }
}

impl FromStr for Middlebox {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            format!("there is no box `{name}`; there are {}", names.join(", "))
        })?;
        if kind.argument.is_none() && argument.is_some() {
            return Err(format!("the box {name} takes no argument"));
        }
        let middlebox = Self {
            kind,
            argument: argument.map(Into::into),
        };
        // What is wrong with its argument is said at once.
        middlebox.make().map(|_| middlebox)
    }
}

impl fmt::Display for Middlebox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.name)?;
        match &self.argument {
            Some(argument) => write!(formatter, ":{argument}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_name_and_says_what_it_does() {
        for (name, _, does) in Middlebox::kinds() {
            assert!(does.len() > 20 && does.len() < 110, "{name}: {does}");
            let found = KINDS.iter().filter(|kind| kind.name == name).count();
            assert_eq!(found, 1, "{name}");
        }
        assert!("strip-fast-open".parse::<Middlebox>().is_ok());
        assert!("strip-fast-open:3".parse::<Middlebox>().is_err());
        let unknown = "teapot".parse::<Middlebox>().unwrap_err();
        assert!(unknown.contains("strip-fast-open"), "{unknown}");
    }
}
