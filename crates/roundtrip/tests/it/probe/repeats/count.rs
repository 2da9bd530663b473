//! `-c`, `-i`, `-f`, `--reuse`, and Ctrl-C.

use crate::probe::peer::{Site, free_port};
use crate::probe::report::Report;
use crate::probe::run::{Job, probe};
use crate::process::{Said, await_some};

#[test]
fn as_many_as_asked_for_each_over_a_connection_of_its_own() {
    for (flag, value) in [("-i", "0"), ("-i", "5ms")] {
        let site = Site::start();
        let report = site.report(&["--http2", "-c", "5", flag, value, &site.https("/")]);
        report.assert_status(200);
        let runs: Vec<u64> = report
            .results()
            .iter()
            .map(|r| r["run"].as_u64().unwrap())
            .collect();
        assert_eq!(runs, [0, 1, 2, 3, 4]);
        assert_eq!(report.document["summary"]["n"], 5);
        assert_eq!(report.document["summary"]["success_rate"], 1.0);
        assert_eq!(site.origin.stats().tcp_connections, 5);
        assert_eq!(site.origin.stats().requests, 5);
    }
}

#[test]
fn a_series_keeps_the_way_of_its_first_request_whatever_the_server_announces() {
    let site = Site::start();
    let series = ["-c", "3", "-i", "0", &site.https("/")];
    let report = site.report(&series);
    let versions: Vec<&str> = report
        .results()
        .iter()
        .map(|r| r["http"]["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["2", "2", "2"]);
    assert!(report.results()[0]["http"]["alt_svc"].is_string());
    assert!(report.results()[2]["notes"].to_string().contains("--http3"));
    let said = site.probe(&series);
    assert!(said.out.contains("HTTP/3 is announced"), "{}", said.out);
}

#[test]
fn what_left_the_ticket_is_spoken_again() {
    for count in ["1", "3"] {
        let site = Site::start();
        let report = site.report(&["--resume", "-c", count, "-i", "0", &site.https("/")]);
        for result in report.results() {
            // The answer with the ticket announced HTTP/3, for which there is no ticket.
            assert_eq!(result["strategy"], "h2+tls1.3+resume", "{result}");
            assert_eq!(result["primer"]["strategy"], "h2+tls1.3");
            assert_eq!(result["primer"]["round_trips"], 3);
        }
        assert_eq!(report.document["summary"]["first"]["measured"], false);
        let unprimed = site.report(&["--resume", "--cold", "-c", "2", "-i", "0", &site.https("/")]);
        assert_eq!(unprimed.results()[1]["strategy"], "h2+tls1.3+resume");
    }
}

#[test]
fn the_cost_of_the_first_request_is_reported_beside_the_medians() {
    let site = Site::start();
    let several = ["-c", "4", "-i", "0"];
    let cold = &["--resume", "--cold"][..];
    for (flags, end) in [(cold, "the others "), (&["--reuse"][..], "unmeasured")] {
        let url = site.https("/");
        let words = [flags, &several, &[url.as_str()]].concat();
        let said = site.probe(&words);
        let line = said
            .out
            .lines()
            .find(|l| l.contains("the first request took"));
        let line = line.unwrap_or_else(|| panic!("{}", said.out));
        assert!(line.contains("3 round trips as h2+tls1.3"), "{line}");
        assert!(line.contains(end), "{line}");
    }
}

#[test]
fn a_flood_is_bounded() {
    let site = Site::start();
    let report = site.report(&["-f", "-c", "50", &site.http("/")]);
    report.assert_status(200);
    assert_eq!(site.origin.stats().requests, 50);
}

#[test]
fn reuse_keeps_one_connection() {
    for version in ["--http1.1", "--http2", "--http3"] {
        let site = Site::start();
        let report = site.report(&[version, "--reuse", "-c", "6", "-i", "0", &site.https("/")]);
        report.assert_status(200);
        let stats = site.origin.stats();
        // One more, unmeasured, opened the connection.
        assert_eq!(stats.requests, 7, "{version}");
        assert_eq!(
            stats.tcp_connections + stats.quic_connections,
            1,
            "{version}"
        );
        for result in report.results() {
            assert_eq!(
                (&result["reused"], &result["round_trips"]),
                (&true.into(), &1.into()),
                "{result}"
            );
        }
    }
}

#[test]
fn a_connection_that_the_server_closed_is_opened_again() {
    let site = Site::with(|knobs| knobs.http.close_after = Some(2));
    for (version, url) in [
        ("--http1.1", site.http("/")),
        ("--http1.1", site.https("/")),
        ("--http2", site.https("/")),
    ] {
        let report = site.report(&[version, "--reuse", "-c", "6", "-i", "20ms", &url]);
        assert_eq!(
            report.document["summary"]["ok"],
            6,
            "{version} {:?}",
            report.last()["error"]
        );
        let reused = report
            .results()
            .iter()
            .filter(|r| r["reused"] == true)
            .count();
        assert!((2..6).contains(&reused), "{version}: {reused}");
    }
}

#[test]
fn failures_are_counted_and_make_the_exit_code() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let said = crate::probe::run::said(probe(&["-c", "3", "-i", "0", &url]));
    assert_eq!(said.code, 1);
    assert!(said.out.contains("refused"), "{}", said.out);
    let report = crate::probe::report::report(&["-c", "3", "-i", "0", &url]);
    assert_eq!(report.document["summary"]["failed"], 3);
    assert_eq!(report.document["summary"]["failures"]["refused"], 3);
}

#[test]
fn several_urls_are_asked_and_summed_up_apart() {
    let site = Site::start();
    let (one, two) = (site.http("/bytes/1"), site.http("/bytes/2"));
    let report = site.report(&["-c", "2", "-i", "0", &one, &two]);
    assert_eq!(report.results().len(), 4);
    let by_url = report.document["summary"]["by_url"].as_array().unwrap();
    assert_eq!(by_url.len(), 2, "{by_url:?}");
}

/// Starts a command that would run forever, and interrupts it once the server has seen part of it.
fn interrupted(site: &Site, arguments: &[&str]) -> Said {
    let ca = site.path("ca.pem");
    let mut job = Job::start(probe(&[&["--cacert", &ca], arguments].concat()));
    await_some("three requests", || {
        assert!(!job.has_ended(), "it ended by itself");
        (site.origin.stats().requests >= 3).then_some(())
    });
    job.interrupt();
    job.finish()
}

#[test]
fn an_interrupt_ends_it_with_the_summary() {
    let site = Site::start();
    let url = site.http("/");
    let said = interrupted(&site, &["-c", "100000", "-i", "10ms", &url]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("median"), "{}", said.out);
    let site = Site::start();
    let report = Report::from(interrupted(
        &site,
        &["--json", "-c", "100000", "-i", "10ms", &site.http("/")],
    ));
    assert!(report.document["summary"]["n"].as_u64().unwrap() >= 2);
}

#[test]
fn an_interrupt_ends_one_that_hangs() {
    let site = Site::with(|knobs| knobs.fault = Some("stall@request".parse().unwrap()));
    let job = Job::start(probe(&[&site.http("/")]));
    await_some("a request", || {
        (site.origin.stats().faults >= 1).then_some(())
    });
    job.interrupt();
    let said = job.finish();
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("first byte: interrupted"), "{}", said.out);
}

#[test]
fn facts_from_before_an_interrupt_are_shown() {
    let site = Site::with(|knobs| knobs.fault = Some("stall@request".parse().unwrap()));
    let ca = site.path("ca.pem");
    let url = site.https("/");
    let job = Job::start(probe(&["--json", "--http1.1", "--cacert", &ca, &url]));
    await_some("a request", || {
        (site.origin.stats().faults >= 1).then_some(())
    });
    job.interrupt();
    let report = Report::from(job.finish());
    assert_eq!(report.code, 1);
    let result = report.last();
    assert_eq!(result["failure"]["kind"], "interrupted", "{result}");
    assert_eq!(result["failure"]["phase"], "first_byte", "{result}");
    assert_eq!(result["name"]["host"], "localhost", "{result}");
    assert_eq!(result["attempts"][0]["outcome"], "won", "{result}");
    assert_eq!(result["tls"]["version"], "TLSv1.3", "{result}");
    assert!(result["tcp"]["peer"].is_string(), "{result}");
}
