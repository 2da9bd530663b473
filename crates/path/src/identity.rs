//! Records the caller's identity before a child, or the process itself, becomes root of a user
//! namespace.

use std::io;

use crate::outcome::ChildFailure;
use crate::step::SetupStep;
use crate::syscall::namespace::{self, NamespaceKind};

/// The lines for `/proc/self/uid_map` and `gid_map`: root inside is the caller outside.
#[derive(Debug)]
pub(crate) struct CallerIdentity {
    user: String,
    group: String,
}

impl CallerIdentity {
    pub(crate) fn of_caller() -> Self {
        let line = |number: u32| format!("0 {number} 1");
        let (user, group) = namespace::effective_ids();
        Self {
            user: line(user),
            group: line(group),
        }
    }

    /// Moves the calling process, which must be single-threaded, into a new user namespace as its
    /// root. Does not allocate.
    pub(crate) fn enter_user_namespace(&self) -> Result<(), ChildFailure> {
        namespace::unshare(NamespaceKind::User)
            .map_err(ChildFailure::at(SetupStep::MakeUserNamespace))?;
        let map = |file, line: &str| {
            namespace::write_file(file, line.as_bytes())
                .map_err(ChildFailure::at(SetupStep::MapUser))
        };
        map(c"/proc/self/uid_map", &self.user)?;
        // An ordinary user can map its group only after giving up setgroups(2)
        // (user_namespaces(7)).
        match namespace::write_file(c"/proc/self/setgroups", b"deny") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ChildFailure::at(SetupStep::MapUser)(error));
            }
            _ => {}
        }
        map(c"/proc/self/gid_map", &self.group)
    }
}
