//! The addresses of the exporter, wrong requests, time limits, and reloading a file.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use super::scene::{ask, exporter, exporter_with_files, get, origin, probe, samples, start, write};
use crate::process::{ROUNDTRIP, TIMEOUT, wait_until};

const PLAIN: &str =
    "modules:\n  http_2xx:\n    prober: http\n    http:\n      preferred_ip_protocol: ip4\n";

#[test]
fn questions_get_the_answers_of_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "b.yml", PLAIN);
    let (_running, at) = exporter(&config);
    assert_eq!(get(at, "/-/healthy").0, 200);
    assert_eq!(get(at, "/config"), (200, PLAIN.into()));
    for (path, told) in [
        ("/probe", "Target parameter is missing"),
        ("/probe?target=", "Target parameter is missing"),
        ("/probe?target=a&target=b", "must only be specified once"),
        ("/probe?target=a&module=nope", "Unknown module \"nope\""),
    ] {
        let (status, body) = get(at, path);
        assert!(
            status == 400 && body.contains(told),
            "{path}: {status} {body}"
        );
    }
    // The module `http_2xx`.
    assert_eq!(get(at, "/probe?target=127.0.0.1:9&module=").0, 200);
    assert_eq!(get(at, "/nothing").0, 404);
    assert_eq!(get(at, "HTTP://any.example/-/healthy").0, 200);
    assert_eq!(ask(at, "POST", "/probe?target=a", "").0, 405);
    assert_eq!(get(at, "/-/reload").0, 405);
    let (_, own) = get(at, "/metrics");
    assert_eq!(
        samples(&own)["blackbox_module_unknown_total"].to_string(),
        "1"
    );
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_a_reload_keeps_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "b.yml", PLAIN);
    let (_running, at) = exporter(&config);
    write(
        folder.path(),
        "b.yml",
        "modules:\n  talk:\n    prober: websocket\n",
    );
    let (status, body) = ask(at, "POST", "/-/reload", "");
    assert!(
        status == 500 && body.contains("line 3, column 13"),
        "{status} {body}"
    );
    assert_eq!(get(at, "/config").1, PLAIN);
    write(folder.path(), "b.yml", &PLAIN.replace("http_2xx", "other"));
    assert_eq!(ask(at, "POST", "/-/reload", "").0, 200);
    assert!(get(at, "/config").1.contains("other"));

    let file = write(
        folder.path(),
        "c.yml",
        "modules:\n  talk:\n    prober: websocket\n",
    );
    let check = Command::new(ROUNDTRIP)
        .args(["exporter", "check"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(check.status.code(), Some(1));
    let said = String::from_utf8(check.stderr).unwrap();
    assert!(
        said.contains("line 3, column 13: module 'talk': 'prober: websocket'"),
        "{said}"
    );
    let check = Command::new(ROUNDTRIP)
        .args(["exporter", "check"])
        .arg(&config)
        .output()
        .unwrap();
    assert!(check.status.success());
}

/// A server that accepts and never answers.
#[test]
fn a_probe_ends_before_its_scrape_and_says_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (_running, at) = exporter(&write(folder.path(), "b.yml", PLAIN));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = silent.local_addr().unwrap();
    let asked = format!("/probe?target={target}&debug=true");
    let field = "X-Prometheus-Scrape-Timeout-Seconds: 1.5\r\n";
    let (status, body) = ask(at, "GET", &asked, field);
    assert_eq!(status, 200);
    assert!(body.contains("failed in phase first_byte"), "{body}");
    assert!(body.contains("probe_success 0"), "{body}");
    let metrics = body
        .split("returned:\n")
        .nth(1)
        .unwrap()
        .split("\n\n\n")
        .next()
        .unwrap();
    let took = samples(metrics)["probe_duration_seconds"];
    // Without the scrape's timeout, it would take two minutes.
    assert!((1.0..60.0).contains(&took), "{took}");
    assert!(get(at, "/").1.contains("failure"));
    assert!(get(at, "/logs?id=1").1.contains("first_byte"));
    let target = format!("/logs?target={target}");
    assert!(get(at, &target).1.contains("first_byte"));
    assert_eq!(get(at, &format!("{target}&module=other")).0, 404);
    assert_eq!(get(at, &format!("{target}&id=1")).0, 400);
}

/// blackbox_exporter's flags, as the unit of Debian and the chart of its community use them.
#[test]
fn it_starts_with_the_flags_of_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "b.yml", PLAIN);
    let file = format!("--config.file={}", config.display());
    let listen = "--web.listen-address=127.0.0.1:0";
    let words = [
        "exporter",
        &file,
        listen,
        "--log.level=debug",
        "--log.format=json",
    ];
    for more in [
        [
            "--web.external-url=http://a.example/bb/",
            "--log.prober=info",
        ],
        ["--web.route-prefix=/bb", "--history.limit=7"],
    ] {
        let running = start(&[words.as_slice(), &more].concat(), "exporter");
        let at = running.said[0].trim_start_matches("exporter http://");
        let at = at.trim_end_matches('/').parse().unwrap();
        assert_eq!(get(at, "/bb/-/healthy").0, 200);
        assert_eq!(get(at, "/bb/").0, 200);
        assert_eq!(get(at, "/-/healthy").0, 404);
    }
    let check = |file: &str| {
        let words = ["exporter", "--config.check", file];
        Command::new(ROUNDTRIP).args(words).output().unwrap().status
    };
    assert!(check(&file).success());
    write(folder.path(), "b.yml", "modules: []");
    assert_eq!(check(&file).code(), Some(1));
}

#[test]
fn a_module_says_what_makes_a_probe_fail() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, http, https) = origin(&ca, &[]);
    let modules = format!(
        "modules:\n{}",
        [
            ("fine", "valid_status_codes: [200, 404]"),
            ("status", "valid_status_codes: [201]"),
            ("version", "valid_http_versions: [HTTP/1.0]"),
            ("clear", "fail_if_not_ssl: true"),
            ("matches", "fail_if_body_matches_regexp: ['.']"),
            (
                "misses",
                "fail_if_body_not_matches_regexp: [surely not there]"
            ),
            (
                "header",
                "fail_if_header_not_matches: [{header: Server, regexp: ^nginx}]"
            ),
            (
                "missing",
                "fail_if_header_matches: [{header: X-None, regexp: x}]"
            ),
            ("large", "body_size_limit: 10B"),
        ]
        .map(|(name, is)| format!(
            "  {name}: {{prober: http, http: {{preferred_ip_protocol: ip4, {is}}}}}\n"
        ))
        .concat()
    );
    let (_running, at) = exporter(&write(folder.path(), "b.yml", &modules));
    let target = format!("{http}/bytes/100");
    for (module, success, by_pattern) in [
        ("fine", 1, 0),
        ("status", 0, 0),
        ("version", 0, 0),
        ("clear", 0, 0),
        ("matches", 0, 1),
        ("misses", 0, 1),
        ("header", 0, 1),
        ("missing", 0, 1),
        ("large", 0, 0),
    ] {
        let found = probe(at, module, &target);
        let seen = [found["probe_success"], found["probe_failed_due_to_regex"]];
        assert_eq!(seen.map(|is| is as u32), [success, by_pattern], "{module}");
    }
    // Its authority is not trusted.
    assert!(probe(at, "fine", &https)["probe_success"] < 1.0);
}

/// A client that goes away takes its probe with it.
#[test]
fn nobody_probes_for_a_client_that_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (_running, at) = exporter(&write(folder.path(), "b.yml", PLAIN));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = silent.local_addr().unwrap();
    let running = || samples(&get(at, "/metrics").1)["roundtrip_exporter_probes_running"];
    let mut client = TcpStream::connect(at).unwrap();
    let asked = format!("GET /probe?target={target} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(asked.as_bytes()).unwrap();
    wait_until("the probe", || running() > 0.0);
    drop(client);
    // Without a scrape's timeout, the probe would take two minutes.
    wait_until("the end of the probe", || running() < 1.0);
}

/// A client may say that it will send nothing more.
#[test]
fn a_client_that_closed_its_side_gets_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let quick = PLAIN.replace("prober: http\n", "prober: http\n    timeout: 1s\n");
    let (_running, at) = exporter(&write(folder.path(), "b.yml", &quick));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = silent.local_addr().unwrap();
    let mut client = TcpStream::connect(at).unwrap();
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    let asked = format!("GET /probe?target={target} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(asked.as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("probe_success 0"), "{answer}");
}

/// They use up neither the files of the process nor its connections.
#[test]
fn clients_that_ask_nothing_make_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "b.yml", PLAIN);
    let (_running, at) = exporter_with_files(96, &config);
    let idle: Vec<TcpStream> = (0..120)
        .map(|number| {
            let mut stream = TcpStream::connect(at).unwrap();
            // Some begin a head, and some have asked before.
            let text = ["", "GET ", "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"][number % 3];
            let _ = stream.write_all(text.as_bytes());
            stream
        })
        .collect();
    assert_eq!(get(at, "/-/healthy").0, 200);
    let (_, own) = get(at, "/metrics");
    assert!(samples(&own)["process_open_fds"] < 60.0, "{own}");
    drop(idle);
}

/// A target can hold a password or a token; whoever reads the logs must not see them.
#[test]
fn logs_and_pages_show_no_secret_of_a_target() {
    let folder = tempfile::tempdir().unwrap();
    let (_running, at) = exporter(&write(folder.path(), "b.yml", PLAIN));
    for target in [
        "http://ann:pa55@127.0.0.1:9/p%3Ftoken=pa55%26q=1",
        "ann:pa55@127.0.0.1:9",
        "http://ann:pa55@a%20b/",
        "127.0.0.1:9/%3Fapi_key=pa55",
    ] {
        let (status, body) = get(at, &format!("/probe?debug=true&target={target}"));
        assert!(status == 200 && !body.contains("pa55"), "{body}");
        let (status, log) = get(at, &format!("/logs?target={target}"));
        assert!(status == 200 && log == body, "{log}");
    }
    let (_, page) = get(at, "/");
    assert!(
        page.contains("127.0.0.1:9") && !page.contains("pa55"),
        "{page}"
    );
}

/// Heads that are not HTTP, too long or cut short end only their own connection.
#[test]
fn a_hostile_client_hurts_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (_running, at) = exporter(&write(folder.path(), "b.yml", PLAIN));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let wrong = [
        "\0\0\0\r\n\r\n",
        "GET / HTTP/9\r\n\r\n",
        "GET /\n\n",
        &long,
        "GET / HT",
    ];
    let clients = wrong.map(|text| {
        let text = text.to_owned();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(at).unwrap();
            let _ = stream.write_all(text.as_bytes());
        })
    });
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(get(at, "/-/healthy").0, 200);
    wait_until("the end of all probes", || {
        let (_, own) = get(at, "/metrics");
        samples(&own)["roundtrip_exporter_probes_running"] < 1.0
    });
}
