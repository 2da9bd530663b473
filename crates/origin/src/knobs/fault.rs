//! One fault, and the phase in which it occurs: `reset@body`, `stall@hello`.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub phase: FaultPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection is aborted: TCP RST, or a QUIC `CONNECTION_CLOSE` with an error.
    Reset,
    /// The connection ends in an orderly way, but too early: TCP FIN, or a QUIC `CONNECTION_CLOSE`
    /// without error.
    Close,
    /// The server sends nothing more, and the connection stays open.
    Stall,
    /// The server sends bytes without meaning, then closes. If the protocol cannot carry them, it
    /// only closes.
    Garbage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPhase {
    /// The fault occurs before a byte is read.
    Accept,
    /// When the `ClientHello` has arrived. Over clear text, which has none, and over QUIC: at
    /// accept.
    Hello,
    /// After half of the server's first flight. Over clear text and QUIC: at accept.
    Handshake,
    /// The fault occurs after the request, including its body.
    Request,
    /// After half of the header section. HTTP/2 and HTTP/3 send it as one frame, so there the fault
    /// occurs just before it.
    Head,
    /// The fault occurs after half of the body.
    Body,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a valid fault; write KIND@PHASE with reset, close, stall or garbage at accept, hello, handshake, request, head or body"
)]
pub struct FaultError(String);

const KINDS: [(FaultKind, &str); 4] = [
    (FaultKind::Reset, "reset"),
    (FaultKind::Close, "close"),
    (FaultKind::Stall, "stall"),
    (FaultKind::Garbage, "garbage"),
];

const PHASES: [(FaultPhase, &str); 6] = [
    (FaultPhase::Accept, "accept"),
    (FaultPhase::Hello, "hello"),
    (FaultPhase::Handshake, "handshake"),
    (FaultPhase::Request, "request"),
    (FaultPhase::Head, "head"),
    (FaultPhase::Body, "body"),
];

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(word: &str) -> Result<Self, FaultError> {
        let parse = || {
            let (kind, phase) = word.split_once('@')?;
            Some(Self {
                kind: KINDS.iter().find(|(_, name)| *name == kind)?.0,
                phase: PHASES.iter().find(|(_, name)| *name == phase)?.0,
            })
        };
        parse().ok_or_else(|| FaultError(word.to_owned()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        let phase = PHASES.iter().find(|(phase, _)| *phase == self.phase);
        let name = |found: Option<&'static str>| found.unwrap_or_default();
        write!(
            f,
            "{}@{}",
            name(kind.map(|k| k.1)),
            name(phase.map(|p| p.1))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_prints_as_it_parses() {
        for (kind, _) in KINDS {
            for (phase, _) in PHASES {
                let fault = Fault { kind, phase };
                assert_eq!(fault.to_string().parse::<Fault>(), Ok(fault));
            }
        }
    }
}
