//! What can go wrong while a path is built or used, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::congestion::CongestionControls;
use crate::refusal::NamespaceRefusal;

/// Why there is no path, or why something failed inside one.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The system does not let this user create namespaces; the text says what to change.
    #[error("this system refuses the emulated path its namespaces ({step}): {refusal}")]
    Refused {
        step: SetupStep,
        refusal: NamespaceRefusal,
        source: io::Error,
    },
    #[error("the emulated path could not {step}")]
    Setup { step: SetupStep, source: io::Error },
    #[error(
        "an emulated path carries IPv6, hence an MTU of 1280 bytes or more (RFC 8200 §5), not {0}"
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
        "boxes and holes look into real segments, which there are none of with offload: leave out one of them"
    )]
    OffloadWithBoxes,
    /// See [`Builder::bare`](crate::Builder::bare).
    #[error("a bare wire has nothing in between that could do this: {0}; leave out one of them")]
    Bare(&'static str),
    /// See [`Path::connect_uplink`](crate::Path::connect_uplink).
    #[error(
        "an uplink changes the host's own network, which only root may do: run it with sudo, or leave the uplink out"
    )]
    UplinkForbidden(#[source] io::Error),
    #[error(
        "the host's network has a route to {0} already, most likely another path's uplink; one at a time"
    )]
    UplinkTaken(&'static str),
    #[error("`{0}` is no name for the server: letters, digits, dots and hyphens make one")]
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
        "{} could not be `{value}` inside the path: {}",
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
    #[error("enter_sandbox() must come before the first thread is started, first thing in main")]
    ManyThreads(#[source] io::Error),
}

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SetupStep {
    Fork,
    MakeUserNamespace,
    MapUser,
    MakeNetworkNamespace,
    OpenNamespace,
    OpenSocket,
    OpenTun,
    HandOver,
    JoinUserNamespace,
    JoinNetworkNamespace,
    WriteSetting,
    ShowNames,
    CreateWire,
    ConfigureInterface,
    SwitchOffOffloads,
    AssignAddress,
    NameNeighbour,
    AddRoute,
    AwaitReadiness,
    StartRelay,
    StartThread,
}

impl SetupStep {
    /// The steps that happen in a forked child, which reports them by number.
    const IN_CHILD: [Self; 11] = [
        Self::MakeUserNamespace,
        Self::MapUser,
        Self::MakeNetworkNamespace,
        Self::OpenNamespace,
        Self::OpenSocket,
        Self::OpenTun,
        Self::HandOver,
        Self::JoinUserNamespace,
        Self::JoinNetworkNamespace,
        Self::WriteSetting,
        Self::ShowNames,
    ];

    /// The step that a child reported by its number.
    pub(crate) fn told(number: u8) -> Option<Self> {
        Self::IN_CHILD
            .into_iter()
            .find(|step| *step as u8 == number)
    }

    /// Whether failing at this step means that the system forbids namespaces.
    pub(crate) fn needs_permission(self) -> bool {
        matches!(
            self,
            Self::MakeUserNamespace | Self::MapUser | Self::MakeNetworkNamespace
        )
    }
}

impl std::fmt::Display for SetupStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Fork => "start its keeper process",
            Self::MakeUserNamespace => "make a user namespace",
            Self::MapUser => "map the user into its namespace",
            Self::MakeNetworkNamespace => "make a network namespace",
            Self::OpenNamespace => "open a namespace under /proc/self/ns",
            Self::OpenSocket => "open a socket in its namespace",
            Self::OpenTun => {
                "open /dev/net/tun, which is often root's alone (veth, the default, needs none)"
            }
            Self::HandOver => "receive what its keeper made",
            Self::JoinUserNamespace => "join its user namespace",
            Self::JoinNetworkNamespace => "join its network namespace",
            Self::WriteSetting => "write the setting",
            Self::ShowNames => "show its names in /etc/hosts",
            Self::CreateWire => "create a veth pair",
            Self::ConfigureInterface => "configure an interface",
            Self::SwitchOffOffloads => "switch off an interface's offloads",
            Self::AssignAddress => "assign an address",
            Self::NameNeighbour => "enter a neighbour",
            Self::AddRoute => "add a route",
            Self::AwaitReadiness => "see its wires and addresses come up",
            Self::StartRelay => "start its relay",
            Self::StartThread => "start a thread",
        })
    }
}
