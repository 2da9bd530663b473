//! `--every` and `--store`, and `history` of the file.

use crate::probe::peer::Site;
use crate::probe::run::{Job, command, probe, said};
use crate::process::await_some;

#[test]
fn a_history_is_recorded_until_it_is_stopped() {
    let site = Site::start();
    let file = site.path("history.redb");
    let url = site.http("/delay/30");
    let job = Job::start(probe(&["-q", "--every", "1s", "--store", &file, &url]));
    let shown = |words: &[&str]| {
        let mut command = command(env!("CARGO_BIN_EXE_roundtrip"));
        command.args(["history", &file]).args(words);
        said(command)
    };
    // It is read while it is written.
    let recorded = || {
        let told = shown(&["--json"]);
        let json: serde_json::Value = serde_json::from_str(&told.out).ok()?;
        json["series"][0]["all"]["ok"]
            .as_u64()
            .filter(|ok| *ok >= 2)?;
        Some(json)
    };
    let json = await_some("two readings", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        recorded()
    });
    job.interrupt();
    let ended = job.finish();
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let series = &json["series"][0];
    assert_eq!(json["schema"], "roundtrip/history/1");
    assert_eq!(
        (&series["url"], &series["every_s"]),
        (&url.as_str().into(), &1.into())
    );
    let server = series["all"]["waited_for"]["server_ms"].as_f64().unwrap();
    assert!(server >= 29.0, "{server}");
    let page = site.path("page.html");
    let told = shown(&["--html", &page]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("No lasting change"), "{}", told.out);
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("svg class=\"history\"")
    );
}

#[test]
fn a_history_needs_its_file() {
    let usage = said(probe(&["--every", "1m", "http://127.0.0.1:1/"]));
    assert!(
        usage.code == 2 && usage.err.contains("--store"),
        "{}",
        usage.err
    );
    let short = said(probe(&[
        "--every",
        "0.2s",
        "--store",
        "/nowhere/x",
        "http://127.0.0.1:1/",
    ]));
    assert!(
        short.code == 2 && short.err.contains("between 1 and"),
        "{}",
        short.err
    );
    let nowhere = said(probe(&[
        "--every",
        "1m",
        "--store",
        "/nowhere/x",
        "http://127.0.0.1:1/",
    ]));
    assert!(
        nowhere.code == 2 && nowhere.err.contains("/nowhere/x"),
        "{}",
        nowhere.err
    );
    let mut absent = command(env!("CARGO_BIN_EXE_roundtrip"));
    absent.args(["history", "/nowhere/x"]);
    assert_eq!(said(absent).code, 1);
}
