//! Parses the text of /etc/resolv.conf as glibc does (resolv.conf(5)). The caller reads the file.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// glibc's MAXNS, `RES_MAXNDOTS`, `RES_MAXRETRANS` and `RES_MAXRETRY`.
const MAX_SERVERS: usize = 3;
const MAX_DOTS: usize = 15;
const MAX_TIMEOUT: u64 = 30;
const MAX_ATTEMPTS: u32 = 5;
/// glibc has had no limit since 2.26; this one only keeps a lookup finite.
const MAX_DOMAINS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvConf {
    /// The name servers. The list is never empty: if the file names none, this machine is asked.
    pub name_servers: Vec<NameServer>,
    pub search: Vec<String>,
    /// A name with at least this many dots is first tried as it is.
    pub ndots: usize,
    /// How long to wait for one server in each attempt.
    pub timeout: Duration,
    /// How often to try all servers.
    pub attempts: u32,
    pub rotate: bool,
    /// Ask for A and AAAA one after the other.
    pub single_request: bool,
    /// Like `single_request`, with a new socket for each query.
    pub single_request_reopen: bool,
    /// Use TCP from the start.
    pub use_vc: bool,
    /// After the search list, do not try a name without dots as it is.
    pub no_tld_query: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    pub address: IpAddr,
    /// The zone of a link-local address: the name or number of an interface.
    pub zone: Option<String>,
}

impl Default for ResolvConf {
    fn default() -> Self {
        Self {
            name_servers: vec![NameServer {
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                zone: None,
            }],
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
            rotate: false,
            single_request: false,
            single_request_reopen: false,
            use_vc: false,
            no_tld_query: false,
        }
    }
}

impl ResolvConf {
    /// Malformed lines are skipped, as in the C library.
    pub fn parse(text: &str) -> Self {
        let mut conf = Self::default();
        let mut servers = Vec::new();
        for line in text.lines() {
            if line.starts_with(['#', ';']) {
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => servers.extend(words.next().and_then(read_server)),
                // The last of either keyword counts.
                Some("search") => {
                    conf.search = words.take(MAX_DOMAINS).map(str::to_owned).collect();
                }
                Some("domain") => conf.search = words.take(1).map(str::to_owned).collect(),
                Some("options") => words.for_each(|option| conf.apply_option(option)),
                _ => {}
            }
        }
        servers.truncate(MAX_SERVERS);
        if !servers.is_empty() {
            conf.name_servers = servers;
        }
        conf
    }

    /// Applies one option such as `ndots:2`; also used for the variable `RES_OPTIONS`.
    pub fn apply_option(&mut self, option: &str) {
        let (key, value) = option.split_once(':').unwrap_or((option, ""));
        // A number beyond the limit is cut to it; anything that is not a number is ignored.
        let number = value.parse::<u64>().ok();
        match (key, number) {
            ("ndots", Some(n)) => {
                self.ndots = usize::try_from(n).map_or(MAX_DOTS, |n| n.min(MAX_DOTS));
            }
            ("timeout", Some(n)) => self.timeout = Duration::from_secs(n.clamp(1, MAX_TIMEOUT)),
            ("attempts", Some(n)) => {
                self.attempts = u32::try_from(n).map_or(MAX_ATTEMPTS, |n| n.clamp(1, MAX_ATTEMPTS));
            }
            ("rotate", _) => self.rotate = true,
            ("single-request", _) => self.single_request = true,
            ("single-request-reopen", _) => self.single_request_reopen = true,
            ("use-vc", _) => self.use_vc = true,
            ("no-tld-query", _) => self.no_tld_query = true,
            _ => {}
        }
    }

    /// The absolute names to ask for, in order, without their final dot. resolver(3), `res_search`.
    pub fn candidates(&self, name: &str) -> Vec<String> {
        if name.is_empty() || name == "." {
            return vec![name.to_owned()];
        }
        if let Some(absolute) = name.strip_suffix('.') {
            return vec![absolute.to_owned()];
        }
        let dots = name.bytes().filter(|byte| *byte == b'.').count();
        let mut candidates = Vec::new();
        let mut add = |candidate: String| {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        };
        if dots >= self.ndots {
            add(name.to_owned());
        }
        for domain in &self.search {
            match domain.trim_matches('.') {
                "" => add(name.to_owned()),
                domain => add(format!("{name}.{domain}")),
            }
        }
        if dots > 0 || self.search.is_empty() || !self.no_tld_query {
            add(name.to_owned());
        }
        candidates
    }
}

fn read_server(word: &str) -> Option<NameServer> {
    // In glibc, a comment sign ends the address too.
    let word = word.split([';', '#']).next()?;
    let (address, zone) = match word.split_once('%') {
        Some((address, zone)) => (address, Some(zone.to_owned())),
        None => (word, None),
    };
    Some(NameServer {
        address: address.parse().ok()?,
        zone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_read() {
        let conf = ResolvConf::parse(
            "# made by hand\n\
             ;nameserver 9.9.9.9\n\
             domain old.example\n\
             nameserver 192.0.2.1\n\
             nameserver\t fe80::53%eth0 \n\
             nameserver 2001:db8::53#comment\n\
             nameserver 192.0.2.4\n\
             nameserver nonsense\n\
             search a.example b.example.\n\
             options ndots:2 timeout:3 attempts:4 rotate single-request-reopen\n\
             options use-vc edns0 trust-ad unknown:7\n\
             sortlist 130.155.160.0/255.255.240.0\n",
        );
        let servers: Vec<_> = conf
            .name_servers
            .iter()
            .map(|s| s.address.to_string())
            .collect();
        assert_eq!(servers, ["192.0.2.1", "fe80::53", "2001:db8::53"]);
        assert_eq!(conf.name_servers[1].zone.as_deref(), Some("eth0"));
        assert_eq!(conf.search, ["a.example", "b.example."]);
        assert_eq!(
            (conf.ndots, conf.timeout.as_secs(), conf.attempts),
            (2, 3, 4)
        );
        assert!(conf.rotate && conf.single_request_reopen && conf.use_vc && !conf.single_request);
    }

    #[test]
    fn limits_are_those_of_glibc() {
        assert_eq!(ResolvConf::parse(""), ResolvConf::default());
        let conf = ResolvConf::parse("options ndots:99 timeout:99 attempts:99999999999");
        assert_eq!(
            (conf.ndots, conf.timeout.as_secs(), conf.attempts),
            (15, 30, 5)
        );
        let conf = ResolvConf::parse("options ndots:0 timeout:0 attempts:0 ndots:x ndots:-1");
        assert_eq!(
            (conf.ndots, conf.timeout.as_secs(), conf.attempts),
            (0, 1, 1)
        );
    }

    #[test]
    fn candidates_follow_the_dots() {
        let conf = ResolvConf::parse("search x.test y.test\noptions ndots:2");
        assert_eq!(conf.candidates("a"), ["a.x.test", "a.y.test", "a"]);
        assert_eq!(conf.candidates("a.b"), ["a.b.x.test", "a.b.y.test", "a.b"]);
        assert_eq!(
            conf.candidates("a.b.c"),
            ["a.b.c", "a.b.c.x.test", "a.b.c.y.test"]
        );
        assert_eq!(conf.candidates("a."), ["a"]);
        assert_eq!(conf.candidates("."), ["."]);

        let conf = ResolvConf::parse("search . x.test\noptions no-tld-query");
        assert_eq!(conf.candidates("a"), ["a", "a.x.test"]);
        let conf = ResolvConf::parse("search x.test\noptions no-tld-query");
        assert_eq!(conf.candidates("a"), ["a.x.test"]);
        assert_eq!(ResolvConf::default().candidates("a"), ["a"]);
    }
}
