//! TCP fast open (RFC 7413): what is enabled, whether the kernel has paused it, what it achieved,
//! and for how many destinations there is a cookie.

use std::collections::BTreeMap;

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::root::RootReadError;
use crate::scene::ExaminedSystem;

const SWITCH: CheckSubject = CheckSubject::new("tcp-fast-open", Area::FastOpen, "Fast open");
const PAUSE: CheckSubject =
    CheckSubject::new("tcp-fast-open-pause", Area::FastOpen, "Black-hole pause");
const COUNTERS: CheckSubject =
    CheckSubject::new("tcp-fast-open-counters", Area::FastOpen, "Counters");
const COOKIES: CheckSubject =
    CheckSubject::new("tcp-fast-open-cookies", Area::FastOpen, "Cookie cache");

/// The bits of `tcp_fastopen` (Documentation/networking/ip-sysctl.rst in Linux).
const CLIENT: u32 = 0x1;
const SERVER: u32 = 0x2;
const BITS: [(u32, &str); 5] = [
    (CLIENT, "client"),
    (SERVER, "server"),
    (0x4, "client sends data without a cookie"),
    (0x200, "server accepts data without a cookie"),
    (0x400, "every listener, unasked"),
];

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![
        switch(scene),
        pause(scene),
        counters(scene),
        cookies(probes),
    ]
}

fn switch(scene: &ExaminedSystem) -> Check {
    let bits = match scene.number::<u32>("net.ipv4.tcp_fastopen") {
        Ok(bits) => bits,
        Err(lack) => {
            return SWITCH.unknown(
                lack,
                "Nothing shows whether a connection can carry data in its SYN.",
            );
        }
    };
    let set = BITS.iter().filter(|(bit, _)| bits & bit != 0);
    let mut names: Vec<&str> = set.map(|(_, name)| *name).collect();
    if names.is_empty() {
        names.push("off");
    }
    let value = format!("{bits:#x}: {}", names.join(", "));
    let advice = "sysctl -w net.ipv4.tcp_fastopen=3 (1 client, 2 server); each listener asks for \
                  it too (nginx: fastopen=N, HAProxy: tfo)";
    match (bits & CLIENT != 0, bits & SERVER != 0) {
        (true, true) => SWITCH.good(
            value,
            "A repeated connection can carry its first bytes in the SYN, in both roles: one round \
             trip less to the first byte.",
        ),
        (true, false) => SWITCH
            .notice(
                value,
                "Clients here can save one round trip on a repeated connection; listeners here \
                 grant no cookie, so their clients cannot.",
            )
            .change(advice),
        (false, true) => SWITCH
            .notice(
                value,
                "Listeners here can save their clients one round trip; clients here wait for the handshake before they send data.",
            )
            .change(advice),
        (false, false) => SWITCH
            .problem(
                value,
                "Every new connection waits one round trip before its first byte leaves.",
            )
            .change(advice),
    }
}

fn pause(scene: &ExaminedSystem) -> Check {
    let seconds = scene.number::<u32>("net.ipv4.tcp_fastopen_blackhole_timeout_sec");
    match seconds {
        Err(lack) => PAUSE.unknown(
            lack,
            "Nothing shows how the kernel reacts to lost SYN data.",
        ),
        Ok(0) => PAUSE.good(
            "off",
            "A path that swallows SYN data costs 1 s, when the SYN is sent again, each time it is \
             tried; fast open stays on for all other destinations.",
        ),
        Ok(seconds) => PAUSE
            .notice(
                format!("{seconds} s, longer each time"),
                "After one path has swallowed SYN data, fast open is off for all destinations for \
                 this long: meanwhile every new connection takes one round trip longer.",
            )
            .change("sysctl -w net.ipv4.tcp_fastopen_blackhole_timeout_sec=0 (default since 5.14)"),
    }
}

fn counters(scene: &ExaminedSystem) -> Check {
    let netstat = scene.root.read_text("/proc/net/netstat");
    let counts = match netstat
        .as_deref()
        .map_err(|lack| *lack)
        .and_then(tcp_counters)
    {
        Ok(counts) => counts,
        Err(lack) => return COUNTERS.unknown(lack, "Nothing shows what fast open achieved here."),
    };
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let failed = count("TCPFastOpenActiveFail") + count("TCPFastOpenPassiveFail");
    let overflow = count("TCPFastOpenListenOverflow");
    let holes = count("TCPFastOpenBlackhole");
    let value = format!(
        "client {} worked, {} failed; server {} worked, {} failed, {overflow} refused by a full \
         queue; {holes} black holes",
        count("TCPFastOpenActive"),
        count("TCPFastOpenActiveFail"),
        count("TCPFastOpenPassive"),
        count("TCPFastOpenPassiveFail"),
    );
    if overflow > 0 || holes > 0 {
        return COUNTERS
            .notice(
                value,
                "A full queue makes the server ignore SYN data: the round trip is not saved. A \
                 black hole costs 1 s and more.",
            )
            .change("raise the listener's fast-open queue; look for a middlebox on the path");
    }
    let meaning = if failed > 0 {
        "Since boot, in this network namespace. Each failure cost the round trip that it should have saved; a client without a cookie counts as a failure."
    } else {
        "Since boot, in this network namespace; each success saved one round trip."
    };
    COUNTERS.good(value, meaning)
}

fn cookies(probes: &Probes) -> Check {
    match &probes.remembered {
        Ok(remembered) => COOKIES.good(
            format!(
                "cookies for {} of {} remembered destinations",
                remembered.cookies, remembered.destinations
            ),
            format!(
                "A first connection fetches a cookie, later ones use it. To remembered \
                 destinations a connection is not quite cold: the kernel knows their round trip. \
                 SYN data was dropped on the way to {}.",
                remembered.syn_drops
            ),
        ),
        Err(error) => COOKIES.unknown(
            format!("the kernel does not say ({error})"),
            "Nothing shows which destinations have a cookie, and so would save a round trip.",
        ),
    }
}

/// The `TcpExt` counters: a line of names, then a line of numbers.
fn tcp_counters(text: &str) -> Result<BTreeMap<&str, u64>, RootReadError> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, numbers) = (lines.next(), lines.next());
    let (names, numbers) = (
        names.ok_or(RootReadError::Absurd)?,
        numbers.ok_or(RootReadError::Absurd)?,
    );
    let numbers = numbers
        .split_whitespace()
        .map(|n| n.parse().map_err(|_| RootReadError::Absurd));
    names
        .split_whitespace()
        .zip(numbers)
        .map(|(name, number)| Ok((name, number?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::netlink::metrics::Remembered;
    use crate::scene::fake;

    fn switched(bits: &str) -> Check {
        fake::machine(&[("net.ipv4.tcp_fastopen", bits)]).check(switch)
    }

    #[test]
    fn explains_the_bits() {
        assert_eq!(switched("0\n").value, "0x0: off");
        assert_eq!(switched("3\n").value, "0x3: client, server");
        let apache = switched("1027").value; // 0x403
        assert_eq!(apache, "0x403: client, server, every listener, unasked");
        let status = ["0", "1", "2", "3"].map(|bits| switched(bits).status);
        let notice = CheckStatus::Notice;
        assert_eq!(
            status,
            [CheckStatus::Problem, notice, notice, CheckStatus::Good]
        );
        assert!(switched("1").change.unwrap().contains("tcp_fastopen=3"));
    }

    #[test]
    fn a_pause_stops_fast_open_everywhere() {
        let name = "net.ipv4.tcp_fastopen_blackhole_timeout_sec";
        assert_eq!(
            fake::machine(&[(name, "0")]).check(pause).status,
            CheckStatus::Good
        );
        let check = fake::machine(&[(name, "3600")]).check(pause);
        assert_eq!(check.status, CheckStatus::Notice);
        assert!(check.value.contains("3600 s"));
    }

    fn counted(netstat: &str) -> Check {
        fake::machine(&[("/proc/net/netstat", netstat)]).check(counters)
    }

    #[test]
    fn reads_the_counters_by_name() {
        let check = counted(
            "TcpExt: SyncookiesSent TCPFastOpenActive TCPFastOpenActiveFail TCPFastOpenPassive\n\
             TcpExt: 9 5 2 7\nIpExt: InNoRoutes\nIpExt: 0\n",
        );
        assert!(
            check
                .value
                .starts_with("client 5 worked, 2 failed; server 7 worked")
        );
        assert_eq!(check.status, CheckStatus::Good);
        let check = counted("TcpExt: TCPFastOpenBlackhole\nTcpExt: 1\n");
        assert_eq!(check.status, CheckStatus::Notice);
    }

    #[test]
    fn counters_that_make_no_sense_are_unknown() {
        for text in [
            "",
            "TcpExt: A\n",
            "TcpExt: A\nTcpExt: many\n",
            "TcpExt: A\nTcpExt: -1\n",
        ] {
            assert_eq!(counted(text).status, CheckStatus::Unknown, "{text:?}");
        }
    }

    #[test]
    fn counts_cookies() {
        let mut probes = Probes::granting();
        probes.remembered = Ok(Remembered {
            destinations: 9,
            cookies: 4,
            syn_drops: 0,
        });
        assert_eq!(
            cookies(&probes).value,
            "cookies for 4 of 9 remembered destinations"
        );
        assert_eq!(cookies(&Probes::refusing()).status, CheckStatus::Unknown);
    }
}
