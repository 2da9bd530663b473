//! What one run leaves for the next: tickets, each used once, and a directory that may be damaged,
//! closed or owned by another user.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use roundtrip_origin::{EarlyData, Quic};

use crate::process::{Said, await_some};
use crate::rdap::scene::{Scene, documents, finish, said, start};

fn early(h3: Quic) -> Scene {
    Scene::with(|knobs| {
        knobs.tls.early_data = EarlyData::On;
        knobs.listen.h3 = h3;
    })
}

const ASK: [&str; 4] = ["--json", "--timing", "--no-follow", "--refresh"];

fn run(scene: &Scene, name: &str) -> serde_json::Value {
    let said = scene.run(&[&ASK[..], &[name]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    // How long it took, and nothing else.
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    documents(&said.out).remove(0)["timing"][0].take()
}

#[test]
fn the_second_run_asks_in_early_data_over_tcp() {
    let scene = early(Quic::Off);
    let first = run(&scene, "one.example");
    assert_eq!(
        (&first["resumed"], &first["early_data"]),
        (&false.into(), &false.into())
    );
    let next = run(&scene, "two.example");
    assert_eq!(
        (&next["resumed"], &next["early_data"]),
        (&true.into(), &true.into())
    );
    let stats = scene.stats();
    assert_eq!(stats.tls_resumed, 1);
    assert!(stats.early_data_bytes > 0, "{stats:?}");
}

/// Anyone can answer if certificates are not verified.
#[test]
fn an_answer_received_without_verification_is_used_by_no_other_run() {
    let scene = Scene::new();
    let run = |flags: &[&str]| scene.run(&[flags, &["fresh.example"]].concat()).code;
    assert_eq!(run(&["-k"]), 0);
    assert_eq!(run(&["-k", "--offline"]), 0);
    assert_eq!(run(&["--offline"]), 1);
    assert_eq!(run(&["--no-follow"]), 0);
    assert_eq!(run(&["--no-follow", "--offline"]), 0);
}

/// The number of processes that runs have left behind.
fn background(scene: &Scene) -> usize {
    let place = scene.directory.path().to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    let running = commands.filter(|c| String::from_utf8_lossy(c).contains(place));
    running.count()
}

fn await_background(scene: &Scene) {
    await_some("the end of what runs left behind", || {
        (background(scene) == 0).then_some(())
    });
}

/// Runs a script `count` times; each run begins when no process of the one before is left.
fn runs(scene: &Scene, count: u32) -> Vec<serde_json::Value> {
    let one = |n| {
        let told = run(scene, &format!("n{n}.example"));
        await_background(scene);
        told
    };
    (0..count).map(one).collect()
}

#[test]
fn a_script_never_runs_out_of_tickets_over_tcp() {
    let scene = early(Quic::Off);
    for (n, run) in runs(&scene, 8).iter().enumerate() {
        assert_eq!(run["early_data"], n > 0, "{n}: {run}");
    }
    let stats = scene.stats();
    // No connection only for tickets.
    assert_eq!((stats.tls_resumed, stats.tcp_connections), (7, 8));
}

#[test]
fn the_second_run_of_a_script_asks_in_early_data_over_quic_and_so_does_each_after_it() {
    let scene = early(Quic::On);
    let runs = runs(&scene, 8);
    assert_eq!(runs[0]["http"], "2");
    for run in &runs[1..] {
        assert_eq!(
            (&run["http"], &run["early_data"]),
            (&"3".into(), &true.into()),
            "{run}"
        );
    }
    assert_eq!(scene.stats().quic_resumed, 7);
}

/// Without a token, a server may hold back its answers to early data. Some give fewer tokens than
/// tickets.
#[test]
fn a_script_never_runs_out_of_tokens() {
    let scene = Scene::with(|knobs| {
        knobs.tls.early_data = EarlyData::On;
        knobs.listen.quic_tokens = 1;
    });
    runs(&scene, 8);
    let stats = scene.stats();
    assert_eq!((stats.quic_resumed, stats.quic_tokens_taken), (7, 7));
}

#[test]
fn a_ticket_of_http3_is_used_where_nothing_announces_it() {
    let scene = Scene::with(|knobs| {
        knobs.tls.early_data = EarlyData::On;
        knobs.http.alt_svc = Some("none".into());
    });
    for n in 0..3 {
        let name = format!("n{n}.example");
        let said = scene.run(&[&ASK[..], &["--strategy", "h3+0rtt", &name]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        await_background(&scene);
    }
    assert_eq!(scene.stats().quic_resumed, 2);
}

#[test]
fn over_http1_the_next_ticket_comes_as_well() {
    let scene = early(Quic::Off);
    for n in 0..6 {
        let name = format!("n{n}.example");
        let said = scene.run(&[&ASK[..], &["--strategy", "h1+tls1.3+0rtt+reuse", &name]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        await_background(&scene);
    }
    assert_eq!(scene.stats().tls_resumed, 5);
}

/// On a path with a round trip, tickets come after the answer: without a process that waits for
/// them, the runs of a script use up their tickets.
#[test]
fn nothing_stays_behind_if_that_is_not_wanted() {
    let scene = early(Quic::Off);
    let far = far(scene.origin.https);
    let mut counts = Vec::new();
    for flag in ["--no-background", "--no-pager"] {
        for n in 0..6 {
            let mut command = scene.plain(&["--rate", "off", "--no-follow", "--refresh", flag]);
            command.arg("--memory").arg(scene.path(flag));
            command.args(["--server", &format!("https://{far}/rdap/")]);
            command.arg(format!("n{n}.example"));
            let said = said(command);
            assert_eq!(said.code, 0, "{said:?}");
            if flag == "--no-background" {
                assert_eq!(background(&scene), 0);
            }
            await_background(&scene);
        }
        counts.push(scene.stats().tls_resumed);
    }
    assert!(counts[0] < 5, "{counts:?}");
    assert_eq!(counts[1] - counts[0], 5, "{counts:?}");
}

/// A relay whose answers are late.
fn far(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(to).unwrap();
            relay(near.try_clone().unwrap(), far.try_clone().unwrap(), 0);
            relay(far, near, 100);
        }
    });
    address
}

fn relay(mut from: TcpStream, mut to: TcpStream, late: u64) {
    thread::spawn(move || {
        let mut buffer = [0; 16384];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            thread::sleep(Duration::from_millis(late));
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// A caller that waits for the end of a pipe, or for a lock, does not wait for it.
#[test]
fn what_stays_behind_holds_nothing_of_its_caller() {
    let scene = early(Quic::Off);
    run(&scene, "one.example");
    await_background(&scene);
    let mut command = Command::new("sh");
    command
        .current_dir(scene.directory.path())
        .stdin(Stdio::null());
    // The child would keep the lock while it waits for tickets.
    let script = r#"exec 9>lock; flock 9; "$@" >out 2>&1; exec 9>&-; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c "$PWD/\(lock\|out\)$""#;
    command.args(["-c", script, "sh"]);
    let asks = scene.command(&["--refresh", "--no-follow", "two.example"]);
    command.arg(asks.get_program()).args(asks.get_args());
    let said = said(command);
    assert_eq!(said.out.trim(), "0", "{said:?}");
}

#[test]
fn a_client_without_early_data_still_resumes() {
    let scene = early(Quic::Off);
    for name in ["one.example", "two.example"] {
        let said = scene.run(&["--no-early-data", name]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    let stats = scene.stats();
    assert_eq!((stats.tls_resumed, stats.early_requests), (1, 0));
}

#[test]
fn two_processes_at_once_use_two_tickets() {
    let scene = early(Quic::Off);
    run(&scene, "one.example");
    let children: Vec<_> = ["two.example", "three.example"]
        .map(|name| start(scene.command(&[&ASK[..], &[name]].concat())))
        .into();
    for child in children {
        let said = finish(child);
        assert_eq!(said.code, 0, "{said:?}");
    }
    // The server accepts each ticket once: as both were resumed, they differed.
    let stats = scene.stats();
    assert_eq!((stats.tls_resumed, stats.tcp_connections), (2, 3));
}

fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn files_are_the_users_alone() {
    let scene = early(Quic::Off);
    run(&scene, "one.example");
    let found = files(&scene.path("memory"));
    assert!(found.len() >= 2, "{found:?}");
    for path in found {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    }
}

#[test]
fn damaged_files_are_set_aside_with_a_note() {
    let scene = early(Quic::Off);
    let damages: [fn(&mut Vec<u8>); 3] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.fill(0xff),
        |bytes| bytes.clear(),
    ];
    for damage in damages {
        run(&scene, "one.example");
        let found = files(&scene.path("memory"));
        let state = |path: &&PathBuf| path.extension().is_some_and(|e| e == "state");
        let states: Vec<_> = found.iter().filter(state).collect();
        assert!(!states.is_empty(), "{found:?}");
        for path in states {
            let mut bytes = fs::read(path).unwrap();
            damage(&mut bytes);
            fs::write(path, bytes).unwrap();
        }
        let said = scene.run(&["one.example"]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.err.contains("set aside"), "{said:?}");
        assert!(said.err.starts_with("rdap: "), "{said:?}");
        let quiet = scene.run(&["-q", "one.example"]);
        assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    }
}

#[test]
fn a_damaged_answer_is_asked_for_again() {
    let scene = Scene::new();
    scene.run(&["--no-follow", "fresh.example"]);
    for path in files(&scene.path("memory/answers")) {
        fs::write(path, "garbage").unwrap();
    }
    let said = scene.run(&["--no-follow", "fresh.example"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("set aside"), "{said:?}");
    assert_eq!(scene.asked_name("fresh.example"), 2);
}

fn run_in(scene: &Scene, memory: &str) -> Said {
    let server = scene.server();
    said(scene.plain(&["--server", &server, "--memory", memory, "one.example"]))
}

#[test]
fn a_directory_that_cannot_be_made_is_a_note() {
    let scene = Scene::new();
    scene.write("file", "");
    let said = run_in(&scene, "file/below");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("nothing is stored"), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}

#[test]
fn a_directory_that_others_write_to_is_refused() {
    let scene = Scene::new();
    let open = scene.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let said = run_in(&scene, open.to_str().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("open"), "{said:?}");
    // Root gives it away; other users find one that belongs to root.
    let own = std::os::unix::fs::MetadataExt::uid(&fs::metadata(scene.path("open")).unwrap());
    let foreign = if own == 0 {
        std::os::unix::fs::chown(&open, Some(65534), None).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o700)).unwrap();
        open.to_str().unwrap().to_owned()
    } else {
        "/".to_owned()
    };
    let said = run_in(&scene, &foreign);
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(scene.stats().requests, 0);
}

#[test]
fn a_directory_that_may_only_be_read_is_read() {
    let scene = Scene::new();
    let name = "a_directory_that_may_only_be_read_is_read";
    let said = scene.run(&["--no-follow", "fresh.example"]);
    assert_eq!(said.code, 0, "{said:?}");
    let memory = scene.path("memory");
    let all: Vec<PathBuf> = ["", "origins", "answers", "registries"]
        .map(|below| memory.join(below))
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    let shut = |mode| {
        for path in &all {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    shut(0o500);
    if fs::write(memory.join("test"), "").is_ok() {
        fs::remove_file(memory.join("test")).unwrap();
        eprintln!("{name}: nothing is closed to root; an ordinary user's run shows it");
    } else {
        let said = scene.run(&["--no-follow", "fresh.example", "one.example"]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.err.contains("cannot be written"), "{said:?}");
        assert_eq!(scene.asked_name("fresh.example"), 1);
    }
    shut(0o700);
}

#[test]
fn offline_answers_come_from_memory_alone() {
    let scene = Scene::new();
    scene.run(&["--no-follow", "fresh.example"]);
    let before = scene.stats();
    let said = scene.run(&[
        "--offline",
        "--no-follow",
        "--columns",
        "query,status",
        "fresh.example",
        "never.example",
    ]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("fresh.example,found"), "{said:?}");
    assert!(said.out.contains("never.example,failed"), "{said:?}");
    assert_eq!(scene.stats().requests, before.requests);
}
