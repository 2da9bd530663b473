//! Connections of processes that are already running, sampled by socket diagnosis (sock_diag(7)):
//! the problems of each. An ordinary user sees all sockets of their own network namespace.
//!
//! There are no calls and no bytes, and therefore no requests: two samples show how the kernel's
//! counters changed in between.

mod diagnosis;
mod symptom;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use roundtrip_model::Moment;
use roundtrip_net::TcpInfo;

pub use symptom::Symptom;

/// The processes or ports whose connections are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    Process(i32),
    /// All connections with this port on either side.
    Port(u16),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is neither a process id nor a port, such as 4711 or :443")]
pub struct WatchedError(String);

impl FromStr for Watched {
    type Err = WatchedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let watched = match text.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|n| *n > 0).map(Self::Port),
            None => text.parse().ok().filter(|n| *n > 0).map(Self::Process),
        };
        watched.ok_or_else(|| WatchedError(text.to_owned()))
    }
}

/// One connection at one time.
#[derive(Debug, Clone)]
pub struct Sample {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    pub state: &'static str,
    pub rtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    /// Segments that were sent again, and segments that arrived after a gap, since the connection
    /// began.
    pub retransmits: u32,
    pub out_of_order: u32,
    /// The bytes sent since the previous sample; in the first sample, over the whole connection.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Data that arrived and was not read, in bytes, and data that was written and not
    /// acknowledged.
    pub unread: u32,
    pub unsent: u32,
    pub symptoms: Vec<Symptom>,
}

/// Follows connections from sample to sample.
#[derive(Debug)]
pub struct Watch {
    watched: Watched,
    before: HashMap<u64, Before>,
}

/// The state of a connection in the previous sample.
#[derive(Debug, Clone, Copy)]
struct Before {
    at: Moment,
    info: TcpInfo,
    unread: u32,
}

impl Watch {
    pub fn new(watched: Watched) -> Self {
        Self {
            watched,
            before: HashMap::new(),
        }
    }

    /// The connections now, ordered by their peers. `None` if the process has ended.
    pub fn sample(&mut self, now: Moment) -> io::Result<Option<Vec<Sample>>> {
        let inodes = match self.watched {
            Watched::Process(process) => match sockets_of(process)? {
                Some(inodes) => Some(inodes),
                None => return Ok(None),
            },
            Watched::Port(_) => None,
        };
        let mut samples = Vec::new();
        let mut seen = HashMap::new();
        for socket in diagnosis::sockets()? {
            let is_ours = match (self.watched, &inodes) {
                (Watched::Port(port), _) => {
                    socket.local.port() == port || socket.peer.port() == port
                }
                (_, Some(inodes)) => inodes.contains(&socket.inode),
                (_, None) => false,
            };
            let Some(info) = socket.info.filter(|_| is_ours) else {
                continue;
            };
            let before = self.before.get(&socket.cookie).copied();
            let here = Before {
                at: now,
                info,
                unread: socket.unread,
            };
            let earlier = before.map(|before| before.info);
            let since = |count: fn(&TcpInfo) -> u64| {
                count(&info).saturating_sub(earlier.as_ref().map_or(0, count))
            };
            samples.push(Sample {
                local: socket.local,
                peer: socket.peer,
                state: socket.state,
                rtt: info.rtt(),
                min_rtt: info.min_rtt(),
                retransmits: info.retransmits(),
                out_of_order: info.out_of_order(),
                bytes_sent: since(TcpInfo::bytes_accepted),
                bytes_received: since(TcpInfo::bytes_received),
                unread: socket.unread,
                unsent: socket.unsent,
                symptoms: symptom::of(&here, before.as_ref()),
            });
            seen.insert(socket.cookie, here);
        }
        self.before = seen;
        samples.sort_by_key(|sample| (sample.peer, sample.local));
        Ok(Some(samples))
    }
}

/// The inodes of the sockets that a process has open. `None` if there is no such process, or if it
/// has ended and its parent has not noticed that.
fn sockets_of(process: i32) -> io::Result<Option<HashSet<u32>>> {
    if has_ended(process) {
        return Ok(None);
    }
    if is_elsewhere(process) {
        return Err(io::Error::other(format!(
            "it is in another network namespace, which `nsenter --net --target {process}` enters"
        )));
    }
    let list = match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut inodes = HashSet::new();
    for entry in list.flatten() {
        // A descriptor may be closed in the meantime.
        let Ok(to) = fs::read_link(entry.path()) else {
            continue;
        };
        let name = to.to_string_lossy();
        let inode = name
            .strip_prefix("socket:[")
            .and_then(|n| n.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u32>().ok()));
    }
    Ok(Some(inodes))
}

/// The state follows the name in parentheses, which may contain any character. proc_pid_stat(5).
fn has_ended(process: i32) -> bool {
    let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    let state = name_end.and_then(|end| stat.get(end + 2));
    matches!(state, Some(b'Z' | b'X'))
}

/// Whether the process is in another network namespace, so that its sockets are not visible here.
fn is_elsewhere(process: i32) -> bool {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/net"));
    match (namespace("self"), namespace(&process.to_string())) {
        (Ok(here), Ok(there)) => here != there,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_ports_are_told_apart() {
        assert_eq!("4711".parse(), Ok(Watched::Process(4711)));
        assert_eq!(":443".parse(), Ok(Watched::Port(443)));
        for wrong in ["", ":", ":0", "0", "-1", ":70000", "curl"] {
            assert!(wrong.parse::<Watched>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_process_that_is_not_there_has_no_sockets() {
        // Larger than any process id (PID_MAX_LIMIT).
        assert!(matches!(sockets_of(1 << 23), Ok(None)));
        assert!(matches!(
            sockets_of(std::process::id().cast_signed()),
            Ok(Some(_))
        ));
    }
}
