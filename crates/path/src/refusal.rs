//! Finds out why a system forbids namespaces to its users, and how to allow them.
//!
//! The kernel says only `EPERM` or `ENOSPC`; the reason is inferred from settings that are known to
//! forbid namespaces.

use std::fmt;
use std::fs;
use std::io;

use crate::step::SetupStep;
use crate::syscall::namespace::{self, Capability};

/// The rule that forbids namespaces, as far as it can be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceRefusal {
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 23.10 and later).
    AppArmor,
    /// `kernel.unprivileged_userns_clone` is 0 (Debian 10 and earlier, hardened kernels).
    CloneSwitchedOff,
    /// `user.max_user_namespaces` or `user.max_net_namespaces` is 0, or used up.
    Limit,
    /// The kernel was built without namespaces.
    NotBuiltIn,
    /// Root without `CAP_SETFCAP` cannot be mapped into a user namespace (`user_namespaces(7)`,
    /// Linux 5.12).
    RootUnmappable,
    /// None of the known settings forbids namespaces: most often a container's seccomp filter does.
    Container,
}

/// The values of the settings that forbid namespaces.
#[derive(Clone, Copy, Debug, Default)]
struct NamespaceSettings {
    apparmor_restricts: bool,
    clone_switched_off: bool,
    root_without_setfcap: bool,
}

impl NamespaceRefusal {
    pub(crate) fn diagnose(step: SetupStep, error: &io::Error) -> Self {
        Self::infer(step, error.raw_os_error(), NamespaceSettings::read())
    }

    fn infer(step: SetupStep, code: Option<i32>, settings: NamespaceSettings) -> Self {
        match code {
            _ if step == SetupStep::MapUser && settings.root_without_setfcap => {
                Self::RootUnmappable
            }
            Some(libc::ENOSPC | libc::EUSERS) => Self::Limit,
            Some(libc::EINVAL | libc::ENOSYS) => Self::NotBuiltIn,
            _ if settings.clone_switched_off => Self::CloneSwitchedOff,
            _ if settings.apparmor_restricts => Self::AppArmor,
            _ => Self::Container,
        }
    }
}

impl NamespaceSettings {
    fn read() -> Self {
        let is = |name: &str, value: &str| {
            fs::read_to_string(format!("/proc/sys/kernel/{name}"))
                .is_ok_and(|text| text.trim() == value)
        };
        Self {
            apparmor_restricts: is("apparmor_restrict_unprivileged_userns", "1"),
            clone_switched_off: is("unprivileged_userns_clone", "0"),
            root_without_setfcap: namespace::effective_ids().0 == 0
                && !namespace::holds(Capability::Setfcap),
        }
    }
}

impl fmt::Display for NamespaceRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AppArmor => {
                "AppArmor forbids ordinary users to create user namespaces. Allow them with \
                 `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or run this as root"
            }
            Self::CloneSwitchedOff => {
                "user namespaces are switched off for ordinary users. Allow them with \
                 `sudo sysctl -w kernel.unprivileged_userns_clone=1`, or run this as root"
            }
            Self::Limit => {
                "no more namespaces are allowed. Allow them with \
                 `sudo sysctl -w user.max_user_namespaces=10000 user.max_net_namespaces=10000`"
            }
            Self::NotBuiltIn => {
                "this kernel was built without them. Use one with CONFIG_USER_NS and CONFIG_NET_NS"
            }
            Self::RootUnmappable => {
                "root lacks CAP_SETFCAP, without which it cannot be mapped into a namespace. \
                 Run this as another user, or start the container with `--cap-add SETFCAP`"
            }
            Self::Container => {
                "most likely a container's seccomp filter. Start the container with \
                 `--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt apparmor=unconfined` \
                 (or `--privileged`), or run this outside of it"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_code_outranks_the_settings() {
        let all = NamespaceSettings {
            apparmor_restricts: true,
            clone_switched_off: true,
            root_without_setfcap: true,
        };
        let infer = |step, code| NamespaceRefusal::infer(step, Some(code), all);
        let step = SetupStep::MakeUserNamespace;
        assert_eq!(infer(step, libc::ENOSPC), NamespaceRefusal::Limit);
        assert_eq!(infer(step, libc::EINVAL), NamespaceRefusal::NotBuiltIn);
        assert_eq!(
            infer(SetupStep::MapUser, libc::EPERM),
            NamespaceRefusal::RootUnmappable
        );
    }

    #[test]
    fn an_eperm_is_explained_by_the_settings() {
        let infer =
            |settings| NamespaceRefusal::infer(SetupStep::MapUser, Some(libc::EPERM), settings);
        let apparmor = NamespaceSettings {
            apparmor_restricts: true,
            ..NamespaceSettings::default()
        };
        let switched_off = NamespaceSettings {
            clone_switched_off: true,
            ..NamespaceSettings::default()
        };
        assert_eq!(infer(apparmor), NamespaceRefusal::AppArmor);
        assert_eq!(infer(switched_off), NamespaceRefusal::CloneSwitchedOff);
        assert_eq!(
            infer(NamespaceSettings::default()),
            NamespaceRefusal::Container
        );
    }

    #[test]
    fn each_text_says_what_to_do() {
        for refusal in [
            NamespaceRefusal::AppArmor,
            NamespaceRefusal::CloneSwitchedOff,
            NamespaceRefusal::Limit,
        ] {
            assert!(refusal.to_string().contains("sudo sysctl -w "), "{refusal}");
        }
        assert!(
            NamespaceRefusal::Container
                .to_string()
                .contains("--cap-add SYS_ADMIN")
        );
    }
}
