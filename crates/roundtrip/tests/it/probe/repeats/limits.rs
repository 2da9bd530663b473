//! `--fail-if`: limits that a pipeline sets.

use crate::probe::peer::{Site, free_port};

#[test]
fn a_limit_that_is_missed_is_exit_code_3() {
    let site = Site::start();
    let url = site.https("/delay/60");
    for limit in [
        "ttfb > 30ms",
        "server > 30ms",
        "round_trips > 1",
        "tls < 1.4",
        "status == 200",
        "size > 1",
    ] {
        let said = site.probe(&["-q", "--fail-if", limit, &url]);
        assert_eq!(said.code, 3, "{limit}: {}", said.err);
        assert!(said.err.contains(limit), "{}", said.err);
    }
}

#[test]
fn a_limit_that_is_kept_is_exit_code_0() {
    let site = Site::start();
    for limit in [
        "ttfb > 100s",
        "round_trips > 30",
        "tls < 1.3",
        "status >= 400",
        "days_left < 2",
        "http < 2",
    ] {
        let said = site.probe(&["-q", "--http2", "--fail-if", limit, &site.https("/")]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{limit}");
    }
}

#[test]
fn one_missed_run_of_many_is_enough_and_a_failure_stays_one() {
    let site = Site::start();
    let said = site.probe(&[
        "-q",
        "-c",
        "3",
        "-i",
        "0",
        "--fail-if",
        "round_trips > 1",
        &site.http("/"),
    ]);
    assert_eq!(said.code, 3);
    let url = format!("http://127.0.0.1:{}/", free_port());
    let refused = site.probe(&["-q", "--fail-if", "ttfb > 1s", &url]);
    assert_eq!(refused.code, 1);
}
