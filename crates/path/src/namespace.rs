//! One side of the path, and how to enter it: with a process, a thread, or a setting.

use std::ffi::{CString, OsStr};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use crate::congestion::CongestionControls;
use crate::error::PathError;
use crate::names::HostNames;
use crate::outcome::{self, ChildFailure};
use crate::side::PathSide;
use crate::step::SetupStep;
use crate::syscall::child;
use crate::syscall::namespace::{self, NamespaceKind};

/// Stack size in bytes of a thread in a namespace: as large as that of a main thread, because it
/// runs code that was written for one.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// The network of the client or the server, with `lo`, an `eth0` that leads through the path, and
/// nothing else.
///
/// A clone is another handle on the same network. Once the [`Path`](crate::Path) is dropped,
/// nothing answers there.
#[derive(Clone, Debug)]
pub struct Namespace {
    side: PathSide,
    door: Arc<NamespaceHandles>,
    names: Arc<HostNames>,
}

/// The namespaces to join, in this order.
#[derive(Debug)]
struct NamespaceHandles {
    user: Option<Arc<OwnedFd>>,
    network: OwnedFd,
}

impl NamespaceHandles {
    /// Moves the calling process, which must be single-threaded, into the namespace. Does not
    /// allocate.
    fn enter(&self) -> Result<(), ChildFailure> {
        if let Some(user) = &self.user {
            namespace::join(NamespaceKind::User, user.as_fd())
                .map_err(ChildFailure::at(SetupStep::JoinUserNamespace))?;
        }
        namespace::join(NamespaceKind::Network, self.network.as_fd())
            .map_err(ChildFailure::at(SetupStep::JoinNetworkNamespace))
    }
}

impl Namespace {
    pub(crate) fn new(
        side: PathSide,
        user: Option<Arc<OwnedFd>>,
        network: OwnedFd,
        names: Arc<HostNames>,
    ) -> Self {
        let door = Arc::new(NamespaceHandles { user, network });
        Self { side, door, names }
    }

    pub fn address_v4(&self) -> Ipv4Addr {
        self.side.v4
    }

    pub fn address_v6(&self) -> Ipv6Addr {
        self.side.v6
    }

    /// A command that will run inside, as this user (who is root there if the path has a separate
    /// user namespace). The command and all processes that it starts are killed when the path is
    /// dropped or this process ends. It can resolve names such as `server`, if the system allows
    /// that ([`Namespace::check_names`]).
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let door = Arc::clone(&self.door);
        let mut command = Command::new(program);
        let names = Arc::clone(&self.names);
        let enter = move || {
            door.enter().map_err(io::Error::from)?;
            // Addresses work even without names; `check_names` says why there are no names.
            let _ = names.show();
            Ok(())
        };
        // SAFETY: runs in the forked child before `exec`; `NamespaceHandles::enter` and
        // `HostNames::show` make system calls and nothing else.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(enter);
        }
        command
    }

    /// Runs `work` on a new thread inside and waits for it. Threads and sockets that it creates are
    /// inside as well. A panic of `work` is resumed in the caller.
    ///
    /// The process of an ordinary user must have called [`enter_sandbox`](crate::enter_sandbox)
    /// first: the kernel does not let a single thread enter another user namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, PathError> {
        let inside = || {
            self.join_thread()?;
            Ok(work())
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new()
                .name("path-inside".into())
                .stack_size(STACK_BYTES);
            let thread = thread
                .spawn_scoped(scope, inside)
                .map_err(|source| PathError::Setup {
                    step: SetupStep::StartThread,
                    source,
                })?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    pub(crate) fn network(&self) -> BorrowedFd<'_> {
        self.door.network.as_fd()
    }

    fn join_thread(&self) -> Result<(), PathError> {
        namespace::join(NamespaceKind::Network, self.door.network.as_fd()).map_err(|source| {
            if self.door.user.is_some() {
                return PathError::OutsideSandbox(source);
            }
            let step = SetupStep::JoinNetworkNamespace;
            PathError::Setup { step, source }
        })
    }

    /// Checks that commands inside can have a separate `/etc/hosts` and `/etc/resolv.conf`. If the
    /// system refuses, commands run without names.
    pub fn check_names(&self) -> Result<(), PathError> {
        send(|| {
            self.door.enter()?;
            self.names.show()
        })
    }

    /// Changes a setting of this network, such as `net.ipv4.tcp_fastopen`, by its sysctl(8) name.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<(), PathError> {
        let path = setting_file(name).ok_or_else(|| PathError::SettingName(name.into()))?;
        let written = send(|| {
            self.door.enter()?;
            namespace::write_file(&path, value.as_bytes())
                .map_err(ChildFailure::at(SetupStep::WriteSetting))
        });
        match written {
            Err(PathError::Setup {
                step: SetupStep::WriteSetting,
                source,
            }) => Err(refused(name, value, source)),
            other => other,
        }
    }
}

/// The error for a setting that exists, but does not accept this value.
fn refused(name: &str, value: &str, source: io::Error) -> PathError {
    let value = value.into();
    match CongestionControls::after(name, &source) {
        Some(controls) => PathError::CongestionControl {
            value,
            controls,
            source,
        },
        None => PathError::Setting {
            name: name.into(),
            value,
            source,
        },
    }
}

/// Runs `task`, which must neither allocate nor lock, in a forked child.
fn send(task: impl Fn() -> Result<(), ChildFailure>) -> Result<(), PathError> {
    let body = |line: BorrowedFd<'_>| match task() {
        Ok(()) => drop(outcome::tell_success(line, &[])),
        Err(failure) => outcome::tell_failure(line, &failure),
    };
    // SAFETY: the tasks above join, open, write, mount and send; none of these allocates or
    // locks.
    #[allow(unsafe_code)]
    let process = unsafe { child::fork(body) }.map_err(|source| PathError::Setup {
        step: SetupStep::Fork,
        source,
    })?;
    outcome::await_outcome(&process).map(drop)
}

/// The file of a setting, if it belongs to a network and not to the whole machine.
fn setting_file(name: &str) -> Option<CString> {
    let is_plain = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !part.is_empty() && part.bytes().all(allowed)
    };
    let mut parts = name.split('.');
    let is_network = parts.next() == Some("net") && name.contains('.');
    if !is_network || !parts.all(is_plain) {
        return None;
    }
    CString::new(format!("/proc/sys/{}", name.replace('.', "/"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_a_network_have_a_file() {
        let file = setting_file("net.ipv4.tcp_fastopen");
        assert_eq!(file.as_deref(), Some(c"/proc/sys/net/ipv4/tcp_fastopen"));
        for name in [
            "kernel.hostname",
            "net",
            "net.",
            "net..x",
            "net.ipv4/../../kernel",
            "",
            "net.\0",
        ] {
            assert_eq!(setting_file(name), None, "{name}");
        }
    }
}
