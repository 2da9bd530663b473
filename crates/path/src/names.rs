//! Names inside a path: `client`, `server` and more, without touching the host. Commands that are
//! started inside see a private view of the file system in which `/etc/hosts` and
//! `/etc/resolv.conf` are replaced; everything else comes from the host.
//!
//! Both files are in memory, which is freed with the last process that sees them. If names are to
//! be looked up at a name server, the caller has to run one.

use std::ffi::CStr;
use std::fmt::Write;
use std::fs;
use std::io;
use std::net::IpAddr;

use crate::outcome::ChildFailure;
use crate::side::{CLIENT, PathSide, SERVER};
use crate::step::SetupStep;
use crate::syscall::mount;
use crate::syscall::namespace::{self, NamespaceKind};

/// Names of the client inside the path.
pub const CLIENT_NAMES: &[&str] = &["client", "client.test"];
/// Names of the server inside the path, in addition to those that
/// [`Builder::name`](crate::Builder::name) adds.
pub const SERVER_NAMES: &[&str] = &["server", "server.test", "origin.test"];

const HOSTS: &CStr = c"/etc/hosts";
const RESOLVER: &CStr = c"/etc/resolv.conf";

/// Sockets of the host's resolvers (systemd's, and the cache of the C library), which would bypass
/// these files.
const RESOLVER_SOCKETS: [&CStr; 2] = [
    c"/run/systemd/resolve/io.systemd.Resolve",
    c"/run/nscd/socket",
];

/// Directories that nearly every system has. The two files are created in one of them, briefly and
/// in a private mount.
const SCRATCH_DIRECTORIES: [[&CStr; 3]; 3] = [
    [c"/tmp", c"/tmp/hosts", c"/tmp/resolv.conf"],
    [c"/mnt", c"/mnt/hosts", c"/mnt/resolv.conf"],
    [c"/run", c"/run/hosts", c"/run/resolv.conf"],
];

/// The content of both files, prepared so that a forked child does not have to allocate.
#[derive(Debug)]
pub(crate) struct HostNames {
    hosts: Vec<u8>,
    /// The content of resolv.conf. `None` keeps the host's file, because nothing answers inside
    /// anyway.
    resolver: Option<Vec<u8>>,
}

impl HostNames {
    pub(crate) fn new(more: &[String], asked_of_server: bool) -> Self {
        if asked_of_server {
            return Self {
                hosts: LOOPBACK.into(),
                // With the root as the search list, resolvers do not first try `server` in the
                // host's domain.
                resolver: Some(format!("nameserver {}\nsearch .\n", SERVER.v4).into()),
            };
        }
        let mut hosts = String::from(LOOPBACK);
        let own = SERVER_NAMES.iter().copied();
        let server = own.chain(more.iter().map(String::as_str));
        enter(&mut hosts, SERVER, server);
        enter(&mut hosts, CLIENT, CLIENT_NAMES.iter().copied());
        hosts += &without(
            &fs::read_to_string("/etc/hosts").unwrap_or_default(),
            &hosts,
        );
        Self {
            hosts: hosts.into(),
            resolver: None,
        }
    }

    /// Makes the calling process, which must be single-threaded, see the two files. Does not
    /// allocate.
    pub(crate) fn show(&self) -> Result<(), ChildFailure> {
        let at = || ChildFailure::at(SetupStep::ShowNames);
        namespace::unshare(NamespaceKind::Mount).map_err(at())?;
        mount::make_private().map_err(at())?;
        let mut outcome = Err(io::ErrorKind::NotFound.into());
        for [directory, hosts, resolver] in SCRATCH_DIRECTORIES {
            outcome = mount::cover(directory);
            if outcome.is_ok() {
                outcome = self.furnish(hosts, resolver);
                mount::uncover(directory).map_err(at())?;
                break;
            }
        }
        outcome.map_err(at())
    }

    fn furnish(&self, hosts: &CStr, resolver: &CStr) -> io::Result<()> {
        mount::create_file(hosts, &self.hosts)?;
        mount::show(hosts, HOSTS)?;
        for socket in RESOLVER_SOCKETS {
            // A regular file accepts no connections. Most systems have neither socket.
            let _ = mount::show(hosts, socket);
        }
        if let Some(content) = &self.resolver {
            mount::create_file(resolver, content)?;
            mount::show(resolver, RESOLVER)?;
        }
        Ok(())
    }
}

/// The host's entries, which keep their meaning, without the names of the path: resolvers would
/// merge their addresses.
fn without(host: &str, ours: &str) -> String {
    let taken: Vec<&str> = ours
        .lines()
        .skip(LOOPBACK.lines().count())
        .flat_map(|line| line.split_whitespace().skip(1))
        .collect();
    let is_free = |line: &&str| {
        !line
            .split_whitespace()
            .skip(1)
            .any(|name| taken.contains(&name))
    };
    let kept: Vec<&str> = host.lines().filter(is_free).collect();
    kept.join("\n") + "\n"
}

const LOOPBACK: &str = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";

fn enter<'a>(hosts: &mut String, side: PathSide, names: impl Iterator<Item = &'a str>) {
    let names: Vec<&str> = names.collect();
    let names = names.join(" ");
    for address in [IpAddr::from(side.v4), IpAddr::from(side.v6)] {
        // Writing to a String cannot fail.
        let _ = writeln!(hosts, "{address} {names}");
    }
}

/// Whether the name can be written to `/etc/hosts`: letters, digits, dots and hyphens.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_come_before_the_host_s() {
        let names = HostNames::new(&["shop.example".into()], false);
        let hosts = String::from_utf8(names.hosts).unwrap();
        let lines: Vec<&str> = hosts.lines().collect();
        assert_eq!(
            lines[2],
            "198.18.0.2 server server.test origin.test shop.example"
        );
        assert_eq!(lines[4], "198.18.0.1 client client.test");
        assert!(names.resolver.is_none());
    }

    #[test]
    fn the_host_s_entries_for_our_names_are_left_out() {
        let ours = "198.18.0.2 server\n";
        let ours = format!("{LOOPBACK}{ours}");
        let host = "127.0.0.1 localhost vm\n10.0.0.9 nas server # server\n10.0.0.8 printer";
        assert_eq!(
            without(host, &ours),
            "127.0.0.1 localhost vm\n10.0.0.8 printer\n"
        );
    }

    #[test]
    fn with_a_name_server_the_file_does_not_answer() {
        let names = HostNames::new(&[], true);
        assert!(!String::from_utf8(names.hosts).unwrap().contains("server"));
        let resolver = String::from_utf8(names.resolver.unwrap()).unwrap();
        assert!(resolver.contains("nameserver 198.18.0.2\n"));
    }

    #[test]
    fn a_name_cannot_add_a_second_line() {
        assert!(is_name("shop.example") && is_name("a-b_c"));
        for text in ["", "a b", "a\n1.2.3.4 bank", "ä"] {
            assert!(!is_name(text), "{text}");
        }
    }
}
