//! Errors of building and using a path, and what to do about them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::congestion::CongestionControls;
use crate::refusal::NamespaceRefusal;
use crate::step::SetupStep;

/// The reason why there is no path, or why something failed inside one.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The system does not let this user create namespaces; the text says what to change.
    #[error("this system does not allow the namespaces of the emulated path ({step}): {refusal}")]
    Refused {
        step: SetupStep,
        refusal: NamespaceRefusal,
        source: io::Error,
    },
    #[error("the emulated path could not {step}")]
    Setup { step: SetupStep, source: io::Error },
    #[error(
        "an emulated path carries IPv6, which needs an MTU of 1280 bytes or more (RFC 8200 §5), not {0}"
    )]
    Mtu(u16),
    #[error("packets are counted from 1: there is no packet 0 to drop")]
    PacketZero,
    #[error("a delay of {0:?} is over the limit of one minute")]
    Delay(Duration),
    #[error("the recording {} cannot be written", file.display())]
    Recording { file: PathBuf, source: io::Error },
    #[error("{0}")]
    Middlebox(String),
    #[error(
        "middleboxes and MTU holes need real segments, which do not exist with offload: omit one of them"
    )]
    OffloadWithBoxes,
    /// See [`Builder::bare`](crate::Builder::bare).
    #[error("a bare wire has no relay that could do this: {0}; omit one of them")]
    Bare(&'static str),
    /// See [`Path::connect_uplink`](crate::Path::connect_uplink).
    #[error(
        "an uplink changes the host's own network, which only root may do: run it with sudo, or omit the uplink"
    )]
    UplinkForbidden(#[source] io::Error),
    #[error(
        "the host's network has a route to {0} already, most likely another path's uplink; only one can exist at a time"
    )]
    UplinkTaken(&'static str),
    #[error("`{0}` is not a name for the server: it may have letters, digits, dots and hyphens")]
    Name(String),
    #[error("`{0}` is not the name of a network setting such as net.ipv4.tcp_fastopen")]
    SettingName(String),
    #[error("{name} could not be set to `{value}` inside the path")]
    Setting {
        name: String,
        value: String,
        source: io::Error,
    },
    #[error(
        "{} could not be set to `{value}` inside the path: {}",
        crate::congestion::SETTING,
        crate::congestion::CongestionAdvice(value, controls)
    )]
    CongestionControl {
        value: String,
        controls: CongestionControls,
        source: io::Error,
    },
    /// See [`crate::enter_sandbox`].
    #[error(
        "a thread of an ordinary user cannot enter the path: call enter_sandbox() first thing in main, \
         or start a process with Namespace::command()"
    )]
    OutsideSandbox(#[source] io::Error),
    #[error(
        "enter_sandbox() must be called before the first thread starts, at the beginning of main"
    )]
    ManyThreads(#[source] io::Error),
}
