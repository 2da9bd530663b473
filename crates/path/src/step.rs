//! The steps of building a path, as error messages name them.

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
            Self::Fork => "start its reaper process",
            Self::MakeUserNamespace => "make a user namespace",
            Self::MapUser => "map the user into its namespace",
            Self::MakeNetworkNamespace => "make a network namespace",
            Self::OpenNamespace => "open a namespace under /proc/self/ns",
            Self::OpenSocket => "open a socket in its namespace",
            Self::OpenTun => {
                "open /dev/net/tun, which is often restricted to root (veth, the default, does not need it)"
            }
            Self::HandOver => "receive the namespaces from its reaper process",
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
