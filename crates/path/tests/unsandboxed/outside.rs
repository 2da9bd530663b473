//! A process with threads and without a sandbox: commands and settings work for every user, threads
//! only for the privileged.

use std::io::Read;
use std::process::Stdio;

use roundtrip_path::{Namespace, PRESETS, Path, PathError};

use crate::ordinary_user::is_root;
use crate::skip;

fn output(side: &Namespace, line: &str) -> String {
    let output = side.command("sh").args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

#[test]
fn commands_see_their_side_of_the_path_only() {
    let path = Path::builder().build().unwrap();
    let [client, server] = [path.client(), path.server()].map(|side| {
        assert_eq!(
            output(
                side,
                "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' ' | sort | xargs"
            ),
            "eth0 lo"
        );
        output(side, "cat /proc/net/fib_trie")
    });
    assert!(
        client.contains("|-- 198.18.0.1\n") && !client.contains("|-- 198.18.0.2\n"),
        "{client}"
    );
    assert!(
        server.contains("|-- 198.18.0.2\n") && !server.contains("|-- 198.18.0.1\n"),
        "{server}"
    );
}

#[test]
fn names_resolve_inside_and_not_outside() {
    let before = std::fs::read_to_string("/etc/hosts").unwrap();
    let path = Path::builder().name("shop.example").build().unwrap();
    if let Err(error) = path.client().check_names() {
        return skip::lacking("names_resolve_inside_and_not_outside", error);
    }
    for side in [path.client(), path.server()] {
        let hosts = output(side, "cat /etc/hosts");
        assert!(hosts.contains("198.18.0.2 server"), "{hosts}");
        assert!(hosts.contains(" shop.example\n"), "{hosts}");
        assert_eq!(output(side, "ls /tmp/hosts; true"), "");
    }
    assert_eq!(std::fs::read_to_string("/etc/hosts").unwrap(), before);
    let impossible = Path::builder().name("two words").build();
    assert!(
        matches!(impossible, Err(PathError::Name(_))),
        "{impossible:?}"
    );
}

#[test]
fn with_a_name_server_its_address_is_in_the_resolver_s_file() {
    let path = Path::builder().name_server(true).build().unwrap();
    if let Err(error) = path.client().check_names() {
        return skip::lacking(
            "with_a_name_server_its_address_is_in_the_resolver_s_file",
            error,
        );
    }
    let resolver = output(path.client(), "cat /etc/resolv.conf");
    assert!(
        resolver.starts_with("nameserver 198.18.0.2\n"),
        "{resolver}"
    );
    let hosts = output(path.client(), "cat /etc/hosts");
    assert!(!hosts.contains("server"), "{hosts}");
}

#[test]
fn each_network_by_name_can_be_built_and_crossed() {
    for preset in PRESETS {
        let mut builder = Path::builder();
        builder.set("preset", preset.name).unwrap();
        let path = builder.build().unwrap();
        let connect = ": < /dev/tcp/198.18.0.2/9";
        let refused = path.client().command("bash").args(["-c", connect]).output();
        assert!(!refused.unwrap().status.success());
        // A SYN reached the other end, and its refusal came back.
        assert!(path.counters().down.delivered >= 1, "{}", preset.name);
    }
}

#[test]
fn two_paths_are_two_networks() {
    let paths = [(), ()].map(|()| Path::builder().build().unwrap());
    let name = |side: &Namespace| output(side, "readlink /proc/self/ns/net");
    let mut names: Vec<_> = paths
        .iter()
        .flat_map(|path| [path.client(), path.server()])
        .map(name)
        .collect();
    names.push(
        std::fs::read_link("/proc/self/ns/net")
            .unwrap()
            .display()
            .to_string(),
    );
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5);
}

#[test]
fn a_setting_is_set_on_its_side_only() {
    let path = Path::builder().build().unwrap();
    let file = "cat /proc/sys/net/ipv4/tcp_fastopen";
    let before = output(path.server(), file);
    path.client()
        .sysctl("net.ipv4.tcp_fastopen", "1027")
        .unwrap();
    assert_eq!(output(path.client(), file), "1027");
    assert_eq!(output(path.server(), file), before);
}

#[test]
fn a_setting_that_cannot_be_set_says_which_and_why() {
    let path = Path::builder().build().unwrap();
    let unknown = path.client().sysctl("net.ipv4.no_such_setting", "1");
    assert!(
        matches!(unknown, Err(PathError::Setting { ref source, .. })
        if source.kind() == std::io::ErrorKind::NotFound),
        "{unknown:?}"
    );
    let foreign = path.client().sysctl("kernel.hostname", "x");
    assert!(
        matches!(foreign, Err(PathError::SettingName(_))),
        "{foreign:?}"
    );
}

#[test]
fn a_refused_congestion_control_lists_the_allowed_ones() {
    let path = Path::builder().build().unwrap();
    let refused = path
        .client()
        .sysctl("net.ipv4.tcp_congestion_control", "no_such_control")
        .unwrap_err();
    let told = refused.to_string();
    // reno is built in and available to every namespace.
    for part in ["no_such_control", "modprobe", "reno"] {
        assert!(told.contains(part), "{told}");
    }
    assert!(std::error::Error::source(&refused).is_some());
    // The host may have one that it does not offer to namespaces.
    let listed = |name: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        std::fs::read_to_string(file).unwrap_or_default()
    };
    let allowed = listed("allowed");
    let is_kept = |name: &&str| !allowed.split_whitespace().any(|other| other == *name);
    if let Some(kept) = listed("available").split_whitespace().find(is_kept) {
        let setting = path
            .client()
            .sysctl("net.ipv4.tcp_congestion_control", kept);
        let told = setting.unwrap_err().to_string();
        let wanted = format!("tcp_allowed_congestion_control='{} {kept}'", allowed.trim());
        assert!(told.contains(&wanted), "{told}");
    }
}

#[test]
fn a_missing_program_is_the_commands_error() {
    let path = Path::builder().build().unwrap();
    let error = path
        .client()
        .command("/no/such/program")
        .spawn()
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn threads_are_for_the_privileged_and_the_sandboxed() {
    let path = Path::builder().build().unwrap();
    let answer = path.client().run(|| 42);
    let sandbox = roundtrip_path::enter_sandbox();
    if is_root() {
        assert!(matches!(answer, Ok(42)), "{answer:?}");
        assert!(sandbox.is_ok(), "{sandbox:?}");
    } else {
        assert!(
            matches!(answer, Err(PathError::OutsideSandbox(_))),
            "{answer:?}"
        );
        assert!(
            matches!(sandbox, Err(PathError::ManyThreads(_))),
            "{sandbox:?}"
        );
    }
}

#[test]
fn packets_cross_between_commands() {
    // The server prints an empty line once it listens.
    let path = Path::builder().build().unwrap();
    let server = "import socket; s = socket.create_server(('198.18.0.2', 80)); print(flush=True); s.accept()[0].send(b'hi')";
    let mut server = match path
        .server()
        .command("python3")
        .args(["-c", server])
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(server) => server,
        Err(error) => {
            return skip::lacking(
                "packets_cross_between_commands",
                format!("python3: {error}"),
            );
        }
    };
    server
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0])
        .unwrap();
    let client = "import socket; print(socket.create_connection(('198.18.0.2', 80)).recv(9))";
    let client = path
        .client()
        .command("python3")
        .args(["-c", client])
        .output()
        .unwrap();
    assert_eq!(client.stdout, b"b'hi'\n", "{client:?}");
    assert!(server.wait().unwrap().success());
}
