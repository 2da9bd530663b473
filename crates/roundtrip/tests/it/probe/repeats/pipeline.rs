//! What continuous integration reads: GitHub's workflow commands, and JUnit's XML.

use std::process::Command;

use crate::probe::peer::{OneAnswer, Site, free_port};
use crate::probe::run::{probe, said};
use crate::skip;

#[test]
fn annotations_name_what_is_broken_and_what_was_found() {
    let site = Site::start();
    let url = site.https("/delay/200");
    let said = site.probe(&["-q", "--annotations", "--fail-if", "status == 200", &url]);
    assert_eq!(said.code, 3, "{}", said.err);
    let error = format!(
        "::error title=roundtrip%3A status == 200::{url}: limit missed: status == 200 (200, {url})"
    );
    assert!(said.err.lines().any(|line| line == error), "{}", said.err);
    let warning = "::warning title=roundtrip%3A server-think-time::";
    assert!(said.err.contains(warning), "{}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn a_failure_is_an_annotation_and_success_is_none() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let failed = said(probe(&["-q", "--annotations", &url]));
    let head = format!("::error title=roundtrip%3A answers::{url}: ");
    assert!(
        failed.code == 1 && failed.err.contains(&head),
        "{}",
        failed.err
    );
    let site = Site::start();
    let fine = site.probe(&[
        "-q",
        "--annotations",
        "--fail-if",
        "status >= 400",
        &site.http("/"),
    ]);
    assert!(!fine.err.contains("::error"), "{}", fine.err);
}

#[test]
fn junit_has_a_case_for_each_assertion() {
    const TEST: &str = "junit_has_a_case_for_each_assertion";
    let site = Site::start();
    let (baseline, file) = (site.path("counts.json"), site.path("junit.xml"));
    let urls = [site.http("/"), site.http("/status/404?a&b")];
    let [first, second] = &urls;
    let recorded = site.probe(&["-q", "--baseline", &baseline, "--update", first, second]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let limit = [
        "--fail-if",
        "status >= 400",
        "--baseline",
        &baseline,
        "--junit",
        &file,
    ];
    let said = site.probe(&[&["-q", "-c", "2", "-i", "0"], &limit[..], &[first, second]].concat());
    assert_eq!(said.code, 3, "{}", said.err);
    let Some(cases) = read_by_python(&file) else {
        return skip::lacking(TEST, "Python");
    };
    let expected = format!(
        "{first}|answers|ok\n{first}|status >= 400|ok\n{first}|baseline|ok\n\
         {second}|answers|ok\n{second}|status >= 400|failure\n{second}|baseline|ok\n"
    );
    assert_eq!(cases, expected);
}

#[test]
fn junit_stays_xml_whatever_a_server_says() {
    const TEST: &str = "junit_stays_xml_whatever_a_server_says";
    let server = OneAnswer::start(b"HTTP/1.1 \x00\x1b]]> <&\"'\xff\r\n\r\n".as_slice());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("junit.xml");
    let file = file.to_str().unwrap();
    let said = said(probe(&[
        "-q",
        "--annotations",
        "--junit",
        file,
        &server.url("/<a>&\""),
    ]));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(!said.err.contains('\x1b'), "{:?}", said.err);
    let Some(cases) = read_by_python(file) else {
        return skip::lacking(TEST, "Python");
    };
    assert!(cases.ends_with("|answers|failure\n"), "{cases}");
}

/// Each case with its result, as a parser of another project reads them.
fn read_by_python(file: &str) -> Option<String> {
    const READ: &str = "import sys, xml.etree.ElementTree as E\n\
        for c in E.parse(sys.argv[1]).iter('testcase'):\n\
        \x20   print(c.get('classname'), c.get('name'), c[0].tag if len(c) else 'ok', sep='|')";
    let output = Command::new("/usr/bin/python3")
        .args(["-c", READ, file])
        .output();
    let output = output.ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
