//! The `icmp` prober at the near end of a path, where any user may open the sockets, beside
//! blackbox_exporter.

use std::path::Path;
use std::process::Command;

use super::beside::compare;
use super::scene::{samples, write};
use crate::process::ROUNDTRIP;
use crate::skip;

const CONFIG: &str = r"
modules:
  echo: {prober: icmp}
  large: {prober: icmp, timeout: 5s, icmp: {preferred_ip_protocol: ip4, payload_size: 3000, ttl: 9}}
  whole: {prober: icmp, timeout: 5s, icmp: {preferred_ip_protocol: ip4, dont_fragment: true, payload_size: 10}}
  too_large: {prober: icmp, timeout: 5s, icmp: {preferred_ip_protocol: ip4, dont_fragment: true, payload_size: 3000}}
";
const MODULES: [(&str, bool); 4] = [
    ("echo", true),
    ("large", true),
    ("whole", true),
    ("too_large", false),
];

/// `$0` is the program, `$1` the folder, `$2` the other exporter, `$3` the group that may open ping
/// sockets, if any.
const SCRIPT: &str = r#"
if [ -n "$3" ]; then echo "$3" > /proc/sys/net/ipv4/ping_group_range || exit 77; fi
"$0" exporter --config "$1/b.yml" --listen 127.0.0.1:9115 > /dev/null & ours=$!
theirs=
if [ -n "$2" ]; then
    "$2" --config.file="$1/b.yml" --web.listen-address=127.0.0.1:9116 2> /dev/null & theirs=$!
fi
trap 'kill $ours $theirs' EXIT
ask() {
    tries=0
    until curl -sSf -o "$4" "http://127.0.0.1:$1/probe?module=$2&target=$3&debug=$5"; do
        tries=$((tries + 1)); [ $tries -lt 600 ] || exit 1; sleep 0.1
    done
}
for module in echo large whole too_large; do
    ask 9115 $module server "$1/ours.$module" false
    if [ -n "$theirs" ]; then ask 9116 $module server "$1/theirs.$module" false; fi
done
ask 9115 too_large server "$1/log" true
"#;

/// Probes with raw sockets, or with ping sockets, and returns the folder with the answers; `None`
/// if this machine has no network namespaces of this kind.
fn probed(theirs: &str, groups: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "b.yml", CONFIG);
    let path = [
        "path", "--rtt", "40ms", "--origin", "-q", "--", "sh", "-c", SCRIPT, ROUNDTRIP,
    ];
    let mut command = Command::new(ROUNDTRIP);
    command.args(path).arg(folder.path()).args([theirs, groups]);
    let output = command.output().unwrap();
    if output.status.code() == Some(77) {
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    Some(folder)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn judge(folder: &Path, is_beside: bool) {
    for (module, succeeds) in MODULES {
        let ours = samples(&read(folder, &format!("ours.{module}")));
        assert_eq!(ours["probe_success"] > 0.0, succeeds, "{module}: {ours:#?}");
        if succeeds {
            let phase = "probe_icmp_duration_seconds{phase=\"rtt\"}";
            assert!((0.04..5.0).contains(&ours[phase]), "{module}: {ours:#?}");
            assert!(ours["probe_icmp_reply_hop_limit"] > 1.0, "{ours:#?}");
        }
        if is_beside {
            let theirs = samples(&read(folder, &format!("theirs.{module}")));
            compare(module, "server", &theirs, &ours);
        }
    }
    let log = read(folder, "log");
    assert!(log.contains("Message too long"), "{log}");
}

#[test]
fn echoes_cross_the_path_as_those_of_blackbox_exporter_do() {
    let theirs = "prometheus-blackbox-exporter";
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("curl") {
        return skip::lacking("icmp probes", "curl");
    }
    let is_beside = has(theirs);
    if !is_beside {
        skip::lacking("icmp probes beside blackbox_exporter", theirs);
    }
    let raw = probed(if is_beside { theirs } else { "" }, "").unwrap();
    judge(raw.path(), is_beside);
}

/// Without any privilege, but with a group that the system allows to send echoes.
#[test]
fn echoes_need_no_privilege_where_the_system_allows_ping_sockets() {
    match probed("", "0 0") {
        Some(folder) => judge(folder.path(), false),
        None => skip::lacking("ping sockets", "a writable ping_group_range"),
    }
}
