//! A way to make requests: a remedy with the strategy, the manner and the addresses that implement
//! it.

use roundtrip_model::{Memory, Strategy};
use roundtrip_probe::{ConnectionUse, Family};

/// What a way changes compared with an ordinary client of today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The way changes nothing: all other ways are compared with it.
    Baseline,
    /// The way changes nothing either: the baseline is measured again, and its apparent saving is
    /// measurement error.
    Control,
    KeepConnection,
    AtOnce,
    Tls13,
    Tls12,
    Resumption,
    EarlyData,
    FastOpen,
    FastOpenClassical,
    FastOpenEarly,
    Http1,
    Http2,
    Http3,
    Http3Early,
    Classical,
    IPv4,
    IPv6,
    /// A strategy that the user named.
    Asked,
    /// Another client.
    Client,
}

impl Remedy {
    pub fn title(self) -> &'static str {
        match self {
            Self::Baseline => "as today",
            Self::Control => "as today, once more",
            Self::KeepConnection => "keep the connection",
            Self::AtOnce => "all at once on one connection",
            Self::Tls13 => "TLS 1.3",
            Self::Tls12 => "TLS 1.2",
            Self::Resumption => "TLS resumption",
            Self::EarlyData => "0-RTT (early data)",
            Self::FastOpen => "TCP fast open",
            Self::FastOpenClassical => "TCP fast open, no post-quantum share",
            Self::FastOpenEarly => "TCP fast open + 0-RTT, no post-quantum share",
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Http3 => "HTTP/3",
            Self::Http3Early => "HTTP/3 with 0-RTT",
            Self::Classical => "no post-quantum share",
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
            Self::Asked => "as asked for",
            Self::Client => "another client",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    pub remedy: Remedy,
    pub strategy: Strategy,
    pub manner: ConnectionUse,
    pub family: Family,
    /// The command line of another client.
    pub command: Option<String>,
}

impl Way {
    /// Makes a new connection for each request, or uses the one that the strategy keeps.
    pub(crate) fn new(remedy: Remedy, strategy: Strategy, family: Family) -> Self {
        let manner = if strategy.reuse {
            ConnectionUse::Kept
        } else {
            ConnectionUse::Each
        };
        Self {
            remedy,
            strategy,
            manner,
            family,
            command: None,
        }
    }

    /// The name for people; a strategy that the user named keeps that name.
    pub fn title(&self) -> String {
        match self.remedy {
            Remedy::Asked | Remedy::Client => self.word(),
            remedy => remedy.title().into(),
        }
    }

    /// One word, or the command line: the name in JSON and for `--strategies`.
    pub fn word(&self) -> String {
        if let Some(command) = &self.command {
            return command.clone();
        }
        let mut word = self.strategy.to_string();
        match self.manner {
            ConnectionUse::Kept if !self.strategy.reuse => word.push_str(" kept"),
            ConnectionUse::AtOnce => word.push_str(" at once"),
            _ => {}
        }
        match self.remedy {
            Remedy::IPv4 => word.push_str(" over IPv4"),
            Remedy::IPv6 => word.push_str(" over IPv6"),
            _ => {}
        }
        word
    }

    /// The largest number of requests that a sample of `k` takes: those that obtain a ticket, a
    /// cookie or a connection, answers of 425 Too Early, and requests repeated because a kept
    /// connection had closed.
    pub(crate) fn dearest(&self, k: u32) -> u32 {
        if self.command.is_some() {
            return k;
        }
        let preparation = u32::from(self.strategy.is_warm());
        let again = match self.manner {
            // Each wave answers at least one.
            ConnectionUse::AtOnce => k.saturating_mul(k.saturating_sub(1)) / 2,
            ConnectionUse::Kept => k,
            ConnectionUse::Each if self.strategy.memory == Memory::EarlyData => k,
            ConnectionUse::Each => 0,
        };
        preparation.saturating_add(k).saturating_add(again)
    }
}
