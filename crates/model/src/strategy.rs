//! How to reach a server: a value that is parsed from one word and printed as one, such as
//! `h1+tls1.3+tfo+0rtt`.
//!
//! Grammar: `http[+security][+tfo][+resume|+0rtt][+reuse][-pq]`, with http = `auto` `h1` `h2` `h3`
//! `tcp` and security = `clear` `tls1.2` `tls1.3`.

use crate::excerpt;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The protocol above the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Http {
    /// A modern client's choice: ALPN, the HTTPS record and Alt-Svc decide.
    #[default]
    Auto,
    H1,
    H2,
    H3,
    /// No HTTP: the peer echoes bytes, like a fast-open echo server.
    Echo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Security {
    /// TLS as the URL's scheme requires: 1.3, or 1.2 if the server lacks it.
    #[default]
    Auto,
    Clear,
    Tls12,
    Tls13,
}

/// The keys that the client keeps from an earlier connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Memory {
    #[default]
    Cold,
    /// The handshake resumes a session with a ticket.
    Resume,
    /// The handshake resumes a session with a ticket, and the request leaves as early data.
    EarlyData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strategy {
    pub http: Http,
    pub security: Security,
    pub fast_open: bool,
    pub memory: Memory,
    /// The request uses a connection that is already open.
    pub reuse: bool,
    /// Offer a post-quantum key share (X25519MLKEM768), as browsers do.
    pub post_quantum: bool,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            http: Http::Auto,
            security: Security::Auto,
            fast_open: false,
            memory: Memory::Cold,
            reuse: false,
            post_quantum: true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    #[error(
        "'{0}' is not a part of a strategy; parts are: auto h1 h2 h3 tcp, clear tls1.2 tls1.3, tfo, resume 0rtt, reuse, -pq"
    )]
    UnknownPart(String),
    #[error("'{0}' and '{1}' exclude each other")]
    Conflict(String, String),
    #[error("'{0}' needs {1}")]
    Needs(&'static str, &'static str),
}

impl Strategy {
    /// The number of round trips to the first byte, without name lookups. Measurements are compared
    /// with this arithmetic.
    pub fn round_trips(&self) -> u32 {
        if self.reuse {
            return 1;
        }
        let transport = u32::from(self.http != Http::H3 && !self.fast_open);
        let handshake = match (self.http, self.security, self.memory) {
            (Http::Echo, ..) | (_, Security::Clear, _) | (_, _, Memory::EarlyData) => 0,
            (Http::H3, ..) | (_, _, Memory::Resume) | (_, Security::Auto | Security::Tls13, _) => 1,
            (_, Security::Tls12, Memory::Cold) => 2,
        };
        transport + handshake + 1
    }

    /// Whether the strategy needs something from an earlier connection (a ticket, a cookie or the
    /// connection itself).
    pub fn is_warm(&self) -> bool {
        self.reuse || self.fast_open || self.memory != Memory::Cold
    }

    /// Rejects combinations that no client can carry out.
    pub fn check(self) -> Result<Self, StrategyError> {
        use StrategyError::{Conflict, Needs};
        let clear = self.security == Security::Clear;
        if self.http == Http::H3 {
            if clear || self.security == Security::Tls12 {
                return Err(Needs("h3", "TLS 1.3"));
            }
            if self.fast_open {
                return Err(Conflict("h3".into(), "tfo".into()));
            }
        }
        if self.http == Http::Echo
            && (self.memory != Memory::Cold
                || matches!(self.security, Security::Tls12 | Security::Tls13))
        {
            return Err(Conflict("tcp".into(), "TLS".into()));
        }
        if clear && self.memory != Memory::Cold {
            return Err(Needs("resume or 0rtt", "TLS, not clear text"));
        }
        if self.memory == Memory::EarlyData && self.security == Security::Tls12 {
            return Err(Needs("0rtt", "TLS 1.3"));
        }
        Ok(self)
    }
}

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(word: &str) -> Result<Self, StrategyError> {
        let mut strategy = Self::default();
        let (word, pq) = match word.strip_suffix("-pq") {
            Some(rest) => (rest, false),
            None => (word, true),
        };
        strategy.post_quantum = pq;
        let mut seen = NamedAlternatives::default();
        for part in word.split('+') {
            match part {
                "auto" => seen.http(&mut strategy, Http::Auto, part)?,
                "h1" => seen.http(&mut strategy, Http::H1, part)?,
                "h2" => seen.http(&mut strategy, Http::H2, part)?,
                "h3" => seen.http(&mut strategy, Http::H3, part)?,
                "tcp" => seen.http(&mut strategy, Http::Echo, part)?,
                "clear" => seen.security(&mut strategy, Security::Clear, part)?,
                "tls1.2" => seen.security(&mut strategy, Security::Tls12, part)?,
                "tls1.3" => seen.security(&mut strategy, Security::Tls13, part)?,
                "resume" => seen.memory(&mut strategy, Memory::Resume, part)?,
                "0rtt" => seen.memory(&mut strategy, Memory::EarlyData, part)?,
                "tfo" => strategy.fast_open = true,
                "reuse" => strategy.reuse = true,
                other => return Err(StrategyError::UnknownPart(excerpt(other, 40))),
            }
        }
        // QUIC has no other version, so none is printed for it.
        if strategy.http == Http::H3 && strategy.security == Security::Tls13 {
            strategy.security = Security::Auto;
        }
        strategy.check()
    }
}

/// The alternatives that the word has named so far. A second one of the same kind is an error, and
/// does not override the first.
#[derive(Default)]
struct NamedAlternatives {
    http: Option<String>,
    security: Option<String>,
    memory: Option<String>,
}

impl NamedAlternatives {
    fn http(
        &mut self,
        strategy: &mut Strategy,
        choice: Http,
        word: &str,
    ) -> Result<(), StrategyError> {
        strategy.http = choice;
        Self::once(&mut self.http, word)
    }

    fn security(
        &mut self,
        strategy: &mut Strategy,
        choice: Security,
        word: &str,
    ) -> Result<(), StrategyError> {
        strategy.security = choice;
        Self::once(&mut self.security, word)
    }

    fn memory(
        &mut self,
        strategy: &mut Strategy,
        choice: Memory,
        word: &str,
    ) -> Result<(), StrategyError> {
        strategy.memory = choice;
        Self::once(&mut self.memory, word)
    }

    fn once(slot: &mut Option<String>, word: &str) -> Result<(), StrategyError> {
        match slot.replace(word.to_owned()) {
            Some(before) if before != word => Err(StrategyError::Conflict(before, word.to_owned())),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.http {
            Http::Auto => "auto",
            Http::H1 => "h1",
            Http::H2 => "h2",
            Http::H3 => "h3",
            Http::Echo => "tcp",
        })?;
        match self.security {
            Security::Auto => {}
            Security::Clear => f.write_str("+clear")?,
            Security::Tls12 => f.write_str("+tls1.2")?,
            Security::Tls13 if self.http == Http::H3 => {}
            Security::Tls13 => f.write_str("+tls1.3")?,
        }
        if self.fast_open {
            f.write_str("+tfo")?;
        }
        match self.memory {
            Memory::Cold => {}
            Memory::Resume => f.write_str("+resume")?,
            Memory::EarlyData => f.write_str("+0rtt")?,
        }
        if self.reuse {
            f.write_str("+reuse")?;
        }
        if !self.post_quantum {
            f.write_str("-pq")?;
        }
        Ok(())
    }
}

impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Strategy {
        word.parse().unwrap()
    }

    #[test]
    fn the_arithmetic_of_round_trips() {
        let table = [
            ("h1+tls1.2", 4),
            ("h1+tls1.2+resume", 3),
            ("h1+tls1.3", 3),
            ("h2+tls1.3", 3),
            ("h1+tls1.3+resume", 3),
            ("h1+tls1.3+tfo", 2),
            ("h1+tls1.3+0rtt", 2),
            ("h1+tls1.3+tfo+0rtt", 1),
            ("h1+clear", 2),
            ("h1+clear+tfo", 1),
            ("h3", 2),
            ("h3+0rtt", 1),
            ("h3+resume", 2),
            ("h1+tls1.2+reuse", 1),
            ("h3+reuse", 1),
            ("tcp", 2),
            ("tcp+tfo", 1),
        ];
        for (word, trips) in table {
            assert_eq!(parse(word).round_trips(), trips, "{word}");
        }
    }

    #[test]
    fn printed_strategies_parse_to_the_same_value() {
        for word in [
            "auto",
            "h1+tls1.3",
            "h2+tls1.3+resume",
            "h1+tls1.3+tfo+0rtt",
            "h3+0rtt",
            "h1+clear+tfo",
            "auto-pq",
            "h1+tls1.3+tfo+0rtt+reuse-pq",
        ] {
            assert_eq!(parse(word).to_string(), word);
        }
    }

    #[test]
    fn impossible_combinations_are_refused() {
        for word in [
            "h3+tfo",
            "h3+clear",
            "h3+tls1.2",
            "h1+clear+0rtt",
            "h1+tls1.2+0rtt",
            "h1+h2",
            "tls1.2+tls1.3",
            "resume+0rtt",
            "tcp+tls1.3",
            "",
            "quick",
            "h1+",
            "-pq",
        ] {
            assert!(word.parse::<Strategy>().is_err(), "{word} was accepted");
        }
    }
}
