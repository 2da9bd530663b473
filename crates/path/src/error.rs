//! What can go wrong on the way to a path, and what to do about it.

use std::io;
use std::time::Duration;

use crate::refusal::Refusal;

/// Why there is no path, or why something could not be done inside one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system does not let this user make namespaces; the text says what to change.
    #[error("this system refuses the emulated path its namespaces ({step}): {refusal}")]
    Refused {
        step: Step,
        refusal: Refusal,
        source: io::Error,
    },
    #[error("the emulated path could not {step}")]
    Setup { step: Step, source: io::Error },
    #[error(
        "an emulated path carries IPv6, hence an MTU of 1280 bytes or more (RFC 8200 §5), not {0}"
    )]
    Mtu(u16),
    #[error("packets are counted from 1: there is no packet 0 to drop")]
    PacketZero,
    #[error("a delay of {0:?} is over the limit of one minute")]
    Delay(Duration),
    #[error("{0}")]
    Middlebox(String),
    #[error(
        "boxes and holes look into real segments, which there are none of with offload: leave out one of them"
    )]
    OffloadWithBoxes,
    #[error("`{0}` is not the name of a network setting such as net.ipv4.tcp_fastopen")]
    SettingName(String),
    #[error("{name} could not be set to `{value}` inside the path")]
    Setting {
        name: String,
        value: String,
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

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    Fork,
    MakeUserNamespace,
    MapUser,
    MakeNetworkNamespace,
    OpenNamespace,
    OpenSocket,
    HandOver,
    JoinUserNamespace,
    JoinNetworkNamespace,
    WriteSetting,
    CreateWire,
    ConfigureInterface,
    SwitchOffOffloads,
    AssignAddress,
    NameNeighbour,
    AwaitReadiness,
    StartRelay,
    StartThread,
}

impl Step {
    /// Those which happen in a forked child, and are told by number.
    const IN_CHILD: [Self; 9] = [
        Self::MakeUserNamespace,
        Self::MapUser,
        Self::MakeNetworkNamespace,
        Self::OpenNamespace,
        Self::OpenSocket,
        Self::HandOver,
        Self::JoinUserNamespace,
        Self::JoinNetworkNamespace,
        Self::WriteSetting,
    ];

    /// The step that a child told by its number.
    pub(crate) fn told(number: u8) -> Option<Self> {
        Self::IN_CHILD
            .into_iter()
            .find(|step| *step as u8 == number)
    }

    /// Whether failing here means that the system forbids namespaces.
    pub(crate) fn needs_permission(self) -> bool {
        matches!(
            self,
            Self::MakeUserNamespace | Self::MapUser | Self::MakeNetworkNamespace
        )
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Fork => "start its keeper process",
            Self::MakeUserNamespace => "make a user namespace",
            Self::MapUser => "map the user into its namespace",
            Self::MakeNetworkNamespace => "make a network namespace",
            Self::OpenNamespace => "open a namespace under /proc/self/ns",
            Self::OpenSocket => "open a socket in its namespace",
            Self::HandOver => "receive what its keeper made",
            Self::JoinUserNamespace => "join its user namespace",
            Self::JoinNetworkNamespace => "join its network namespace",
            Self::WriteSetting => "write the setting",
            Self::CreateWire => "create a veth pair",
            Self::ConfigureInterface => "configure an interface",
            Self::SwitchOffOffloads => "switch off an interface's offloads",
            Self::AssignAddress => "assign an address",
            Self::NameNeighbour => "enter a neighbour",
            Self::AwaitReadiness => "see its wires and addresses come up",
            Self::StartRelay => "start its relay",
            Self::StartThread => "start a thread",
        })
    }
}
