//! The parties that a phase waits for, in the order that all reports share.

use roundtrip_model::{Summary, Waited};

/// The party on which time was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    Loss,
    Resolver,
    Network,
    Server,
    /// The server or the path: nothing shows which of them.
    Unknown,
    Client,
}

impl Party {
    /// The order inside a bar.
    pub const ALL: [Self; 6] = [
        Self::Loss,
        Self::Resolver,
        Self::Network,
        Self::Server,
        Self::Unknown,
        Self::Client,
    ];

    /// The order of the parties in a sentence: the path first, then the others.
    pub const BY_WEIGHT: [Self; 6] = [
        Self::Network,
        Self::Server,
        Self::Client,
        Self::Resolver,
        Self::Loss,
        Self::Unknown,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Resolver => "resolver",
            Self::Network => "network",
            Self::Server => "server",
            Self::Client => "client",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a legend omits the party if it took no time.
    pub(crate) fn is_rare(self) -> bool {
        matches!(self, Self::Resolver | Self::Loss | Self::Unknown)
    }

    /// The party's milliseconds, never negative and always a number.
    pub fn share(self, waited: &Waited) -> f64 {
        let ms = match self {
            Self::Loss => waited.loss,
            Self::Resolver => waited.resolver,
            Self::Network => waited.network,
            Self::Server => waited.server,
            Self::Client => waited.client,
            Self::Unknown => waited.unknown,
        };
        if ms.is_finite() { ms.max(0.0) } else { 0.0 }
    }
}

/// The parts of a wait that took any time, each with its start within the wait.
pub(crate) fn segments(order: [Party; 6], waited: &Waited) -> Vec<(Party, f64, f64)> {
    let mut at = 0.0;
    let mut parts = Vec::new();
    for party in order {
        let share = party.share(waited);
        if share > 0.0 {
            parts.push((party, at, share));
            at += share;
        }
    }
    parts
}

/// The sum of several waits, party by party.
pub(crate) fn sum<'a>(waits: impl IntoIterator<Item = &'a Waited>) -> Waited {
    waits.into_iter().fold(Waited::default(), |a, b| a.plus(*b))
}

/// The median of several waits, party by party.
pub(crate) fn median(waits: &[Waited]) -> Waited {
    let of = |share: fn(&Waited) -> f64| {
        let shares: Vec<f64> = waits.iter().map(share).collect();
        Summary::from_samples(&shares).map_or(0.0, |s| s.median)
    };
    Waited {
        network: of(|w| w.network),
        server: of(|w| w.server),
        client: of(|w| w.client),
        resolver: of(|w| w.resolver),
        loss: of(|w| w.loss),
        unknown: of(|w| w.unknown),
    }
}
