//! The uplink, tried in a separate network that stands for that of the host: nothing leaves this
//! machine.

use std::process::Command;

use crate::path::run::said;
use crate::path::user::is_root;
use crate::process::ROUNDTRIP;
use crate::skip;

/// A host whose only addresses are on its loopback interface, where the origin serves. The lines
/// after `left` show what the run left behind.
const HOST: &str = r#"
set -e
ip link set lo up
ip address add 192.0.2.9/32 dev lo
ip address add 2001:db8::9/128 dev lo
"$1" origin --bind 192.0.2.9 --bind 2001:db8::9 --http-port 80 > /dev/null &
trap "kill $!" EXIT
before=$(ip -brief link; cat /proc/sys/net/ipv4/ip_forward)
for host in 192.0.2.9 '[2001:db8::9]'; do
    "$1" path --rtt 20ms --uplink --quiet -- "$1" probe -q --json "http://$host/" | grep -m1 round_trips
done
"$1" path --uplink --quiet -- sleep 1000 &
path=$!
until ip -brief link | grep -q rtpath; do sleep 0.02; done
"$1" path --uplink -- true 2>&1 && exit 1
kill -9 $path
until [ "$(ip -brief link; cat /proc/sys/net/ipv4/ip_forward)" = "$before" ]; do sleep 0.02; done
ip route | grep 198.18 && exit 1
echo clean
"#;

#[test]
fn the_host_is_reached_and_nothing_is_left_there() {
    if !is_root() {
        // Installing something would not change that; the tests are run as root as well.
        return eprintln!("SKIPPED the_host_is_reached_and_nothing_is_left_there: not root");
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return skip::lacking("the_host_is_reached_and_nothing_is_left_there", "ip(8)");
    }
    let mut command = Command::new("timeout");
    command.args(["60", "unshare", "--net", "sh", "-c", HOST, "sh", ROUNDTRIP]);
    let said = said(command);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        said.out.matches("\"round_trips\": 2").count(),
        2,
        "{said:?}"
    );
    assert!(said.out.contains("another path's uplink"), "{said:?}");
    assert!(said.out.ends_with("clean\n"), "{said:?}");
}

#[test]
fn an_ordinary_user_is_told_that_root_is_needed() {
    let mut command = Command::new("unshare");
    let inner = [ROUNDTRIP, "path", "--uplink", "--", "true"];
    // Root of a separate user namespace, in a network that does not belong to it.
    command.args(["--user", "--map-root-user"]).args(inner);
    let said = said(command);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("only root may do"), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}
