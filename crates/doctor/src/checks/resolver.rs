//! How names are looked up: resolv.conf(5), and the order of sources in nsswitch.conf(5).

use super::system;
use crate::check::{Area, Check, CheckStatus, CheckSubject};
use crate::root::RootReadError;
use crate::scene::ExaminedSystem;

const SERVERS: CheckSubject = CheckSubject::new("resolver", Area::Names, "Name servers");
const SEARCH: CheckSubject = CheckSubject::new("resolver-search", Area::Names, "Search list");
const ORDER: CheckSubject = CheckSubject::new("name-order", Area::Names, "Order of sources");

/// The largest number of servers that glibc and musl use (MAXNS).
const MAX_SERVERS: usize = 3;
/// The defaults of `options timeout:` and `attempts:`, which are the same in both C libraries.
const DEFAULT: (u64, u64) = (5, 2);

/// The C library whose resolver reads the file. The same options mean different things to the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CLibrary {
    /// Asks one server after the other, each for `timeout`, and all of them `attempts` times.
    Glibc,
    /// Asks all servers at once, `attempts` times in `timeout` (`res_msend.c`).
    Musl,
}

/// The settings in resolv.conf.
#[derive(Debug, PartialEq, Eq)]
struct ResolverSettings<'a> {
    servers: Vec<&'a str>,
    search: Vec<&'a str>,
    timeout_s: u64,
    attempts: u64,
    dots: u64,
    options: Vec<&'a str>,
}

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let text = scene.root.read_text("/etc/resolv.conf");
    let settings = match &text {
        Ok(text) => Ok(ResolverSettings::parse(text)),
        Err(lack) => Err(*lack),
    };
    let library = match system::musl(scene) {
        Some(_) => CLibrary::Musl,
        None => CLibrary::Glibc,
    };
    vec![servers(&settings, library), search(&settings), order(scene)]
}

fn servers(settings: &Result<ResolverSettings, RootReadError>, library: CLibrary) -> Check {
    let settings = match settings {
        Ok(settings) => settings,
        Err(lack) => {
            return SERVERS.unknown(
                format!("/etc/resolv.conf is {lack}"),
                "Without it the C library asks this machine itself. A container gets the file when \
                 it starts.",
            );
        }
    };
    if settings.servers.is_empty() {
        return SERVERS
            .problem(
                "none in /etc/resolv.conf",
                "The C library then asks this machine itself; if no resolver runs here, no name is \
                 found.",
            )
            .change("nameserver ADDRESS in /etc/resolv.conf");
    }
    let (timeout_s, attempts) = settings.limits(library);
    let value = format!(
        "{}; timeout {} s, {} attempts",
        settings.servers.join(", "),
        timeout_s,
        attempts,
    );
    let value = [&[value.as_str()], settings.options.as_slice()]
        .concat()
        .join(", ");
    let local = settings
        .servers
        .iter()
        .all(|s| s.starts_with("127.") || *s == "::1");
    let cache = if local {
        "The resolver runs here: what it has cached costs no round trip."
    } else {
        "Each lookup pays a round trip to the server unless the program caches: the C library \
         does not."
    };
    let (silence, patient, options) = match library {
        CLibrary::Glibc => {
            let servers = settings.servers.len().min(MAX_SERVERS) as u64;
            let silence = format!(
                "A server that stays silent costs {timeout_s} s before the next attempt; in all, a \
                 lookup fails after about {} s.",
                timeout_s * attempts * servers
            );
            (silence, timeout_s > 2, "options timeout:1 attempts:3")
        }
        CLibrary::Musl => {
            let interval_s = timeout_s as f64 / attempts as f64;
            let silence = format!(
                "musl asks all servers at once: one that stays silent costs nothing if another \
                 answers. If none does, it asks again every {} s; in all, a lookup fails after \
                 {timeout_s} s.",
                (interval_s * 100.0).round() / 100.0
            );
            (silence, interval_s > 2.0, "options timeout:5 attempts:5")
        }
    };
    let meaning = format!("{cache} {silence}");
    let status = if patient {
        CheckStatus::Notice
    } else {
        CheckStatus::Good
    };
    let second = if settings.servers.len() == 1 {
        ", and a second nameserver"
    } else {
        ""
    };
    let change = format!("{options} in /etc/resolv.conf{second}");
    SERVERS
        .found(status, value, meaning)
        .change_if(patient, change)
}

fn search(settings: &Result<ResolverSettings, RootReadError>) -> Check {
    let settings = match settings {
        Ok(settings) => settings,
        Err(lack) => return SEARCH.unknown(lack, "Nothing shows whether suffixes are tried."),
    };
    if settings.search.is_empty() {
        return SEARCH.good("none", "Names are looked up as they are given.");
    }
    let domains = settings.search.len();
    let value = format!("ndots {}, {}", settings.dots, settings.search.join(" "));
    if settings.dots <= 1 {
        return SEARCH.good(
            value,
            "Names with a dot are looked up as they are given first.",
        );
    }
    SEARCH
        .notice(
            value,
            format!(
                "A name with fewer than {} dots is tried with {domains} suffix(es) first: up to \
                 {domains} failing lookups, one after the other, before the right one.",
                settings.dots
            ),
        )
        .change("a dot at the end of names, or options ndots:1 (dnsConfig in Kubernetes)")
}

fn order(scene: &ExaminedSystem) -> Check {
    let text = match scene.root.read_text("/etc/nsswitch.conf") {
        Ok(text) => text,
        Err(lack) => {
            return ORDER.unknown(
                format!("/etc/nsswitch.conf is {lack}"),
                "Old C libraries then ask DNS before /etc/hosts; musl never reads this file.",
            );
        }
    };
    let Some(sources) = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("hosts:"))
    else {
        return ORDER.unknown("no line for hosts", "The C library's default applies.");
    };
    let sources = sources.split('#').next().unwrap_or_default();
    let names: Vec<&str> = sources.split_whitespace().collect();
    let first_slow = names
        .iter()
        .position(|name| !name.starts_with('[') && *name != "files");
    let files = names.iter().position(|name| *name == "files");
    if files.is_some_and(|at| first_slow.is_none_or(|slow| at < slow)) {
        return ORDER.good(
            names.join(" "),
            "/etc/hosts is read first, without a round trip.",
        );
    }
    ORDER
        .notice(
            names.join(" "),
            "Something slower is asked before /etc/hosts, even for names that it lists.",
        )
        .change("hosts: files dns in /etc/nsswitch.conf")
}

impl<'a> ResolverSettings<'a> {
    fn parse(text: &'a str) -> Self {
        let mut settings = Self {
            servers: Vec::new(),
            search: Vec::new(),
            timeout_s: DEFAULT.0,
            attempts: DEFAULT.1,
            dots: 1,
            options: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => settings.servers.extend(words.next()),
                // The last of these lines wins.
                Some("search" | "domain") => settings.search = words.collect(),
                Some("options") => words.for_each(|word| settings.option(word)),
                _ => {}
            }
        }
        settings
    }

    /// Timeout and attempts, cut to the maxima that the library allows.
    fn limits(&self, library: CLibrary) -> (u64, u64) {
        let (timeout_s, attempts) = match library {
            CLibrary::Glibc => (30, 5),
            CLibrary::Musl => (60, 10),
        };
        (self.timeout_s.min(timeout_s), self.attempts.min(attempts))
    }

    fn option(&mut self, word: &'a str) {
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        let Ok(number) = value.parse::<u64>() else {
            self.options.push(word);
            return;
        };
        match name {
            "timeout" => self.timeout_s = number.max(1),
            "attempts" => self.attempts = number.max(1),
            "ndots" => self.dots = number.min(15),
            _ => self.options.push(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fake;

    fn found(text: &str) -> Vec<Check> {
        examine(&fake::image(&[("/etc/resolv.conf", text)]).scene)
    }

    #[test]
    fn defaults_are_patient() {
        let checks = found("# comment\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n");
        assert_eq!(
            checks[0].value,
            "192.0.2.1, 192.0.2.2; timeout 5 s, 2 attempts"
        );
        assert!(
            checks[0].meaning.contains("after about 20 s"),
            "{}",
            checks[0].meaning
        );
        assert_eq!(checks[0].status, CheckStatus::Notice);
        assert_eq!(checks[1].value, "none");
    }

    #[test]
    fn the_timeout_of_musl_is_for_all_attempts() {
        let servers = |options: &str| {
            let text = format!("nameserver 192.0.2.1\nnameserver 192.0.2.2\n{options}\n");
            let files = [
                ("/lib/ld-musl-x86_64.so.1", ""),
                ("/etc/resolv.conf", &text),
            ];
            examine(&fake::image(&files).scene).remove(0)
        };
        let check = servers("options timeout:3 attempts:4");
        assert!(check.meaning.contains("every 0.75 s"), "{}", check.meaning);
        assert!(check.meaning.contains("after 3 s"), "{}", check.meaning);
        assert_eq!(check.status, CheckStatus::Good);
        let check = servers("");
        assert!(check.meaning.contains("every 2.5 s"), "{}", check.meaning);
        assert_eq!(check.status, CheckStatus::Notice);
        let change = check.change.unwrap();
        assert!(change.contains("timeout:5 attempts:5"), "{change}");
        let check = servers("options timeout:99 attempts:99");
        assert!(check.value.ends_with("timeout 60 s, 10 attempts"));
    }

    #[test]
    fn kubernetes_multiplies_lookups() {
        let checks = found(
            "search ns.svc.cluster.local svc.cluster.local cluster.local\n\
             nameserver 10.96.0.10\noptions ndots:5 timeout:1 edns0\n",
        );
        assert!(checks[0].value.ends_with("timeout 1 s, 2 attempts, edns0"));
        assert_eq!(checks[0].status, CheckStatus::Good);
        assert_eq!(checks[1].status, CheckStatus::Notice);
        assert!(checks[1].meaning.contains("up to 3 failing lookups"));
    }

    #[test]
    fn absurd_options_are_bounded() {
        let servers = "nameserver ::1\n".repeat(1000);
        let text = format!("{servers}options timeout:99999999999 attempts:0 ndots:x timeout:\n");
        let checks = found(&text);
        assert!(
            checks[0].meaning.contains("after about 90 s"),
            "{}",
            checks[0].meaning
        );
        assert!(checks[0].value.chars().count() <= 401);
    }

    #[test]
    fn no_file_is_unknown_and_no_server_a_problem() {
        assert_eq!(
            examine(&fake::image(&[]).scene)[0].status,
            CheckStatus::Unknown
        );
        assert_eq!(
            found("search example.com\n")[0].status,
            CheckStatus::Problem
        );
    }

    #[test]
    fn the_hosts_file_should_come_first() {
        let status = |line| {
            let fake = fake::image(&[("/etc/nsswitch.conf", line)]);
            fake.check(order).status
        };
        assert_eq!(
            status("passwd: files\nhosts:  files dns # usual\n"),
            CheckStatus::Good
        );
        assert_eq!(status("hosts: dns files\n"), CheckStatus::Notice);
        assert_eq!(status("hosts: dns\n"), CheckStatus::Notice);
        assert_eq!(status("passwd: files\n"), CheckStatus::Unknown);
    }
}
