//! The two steps of `action.yml`, before a server that stands for a repository's downloads.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::{Release, archive_name, script};
use crate::servers::answering;

/// Serves the files of a directory.
fn downloads(directory: PathBuf) -> String {
    let address = answering(move |head, _| {
        let name = head.split(' ').nth(1).unwrap_or_default();
        let (status, body) = match fs::read(directory.join(name.trim_start_matches('/'))) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.into_bytes(), body].concat()
    });
    format!("http://{address}")
}

fn step(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = script("packaging/action");
    command.arg(name).env_clear().env("PATH", "/usr/bin:/bin");
    command.envs(variables.iter().copied());
    command.output().unwrap()
}

fn installed(release: &Release, sha256: &str) -> Output {
    let temporary = release.directory.path().to_str().unwrap();
    let output = format!("{temporary}/output");
    let downloads = downloads(release.file(""));
    step(
        "install",
        &[
            ("DOWNLOADS", &downloads),
            ("SHA256", sha256),
            ("RUNNER_TEMP", temporary),
            ("GITHUB_OUTPUT", &output),
        ],
    )
}

#[test]
fn the_action_installs_what_the_checksum_names_and_asks() {
    const TEST: &str = "the_action_installs_what_the_checksum_names_and_asks";
    let Some(release) = Release::made(TEST) else {
        return;
    };
    let done = installed(&release, "");
    assert!(done.status.success(), "{done:?}");
    let output = fs::read_to_string(release.directory.path().join("output")).unwrap();
    let program = output.trim().strip_prefix("program=").unwrap();
    let asked = step(
        "run",
        &[
            ("PROGRAM", program),
            ("URLS", "http://a/?x=1&y\n\nhttp://b/$(id)\n"),
            ("ARGS", "--fail-if=status >= 400\n--location\n"),
            ("BASELINE", "counts.json"),
            ("UPDATE", "false"),
        ],
    );
    let words = String::from_utf8(asked.stdout).unwrap();
    let words: Vec<&str> = words.lines().collect();
    let expected = "probe|--annotations|--baseline|counts.json|--fail-if=status >= 400|--location|--|http://a/?x=1&y|http://b/$(id)";
    assert_eq!(words.join("|"), expected);
}

#[test]
fn the_action_refuses_another_archive() {
    const TEST: &str = "the_action_refuses_another_archive";
    let Some(release) = Release::made(TEST) else {
        return;
    };
    let refused = |done: Output| {
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(!done.status.success() && said.contains("::error"), "{said}");
        assert!(!release.directory.path().join("output").exists());
    };
    refused(installed(&release, &"0".repeat(64)));
    let sums = release.file("SHA256SUMS");
    let known = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, known.replace(".tar.gz", ".tar.gz.sig")).unwrap();
    refused(installed(&release, ""));
    fs::write(&sums, known).unwrap();
    let archive = release.file(&format!("{}.tar.gz", archive_name()));
    let mut bytes = fs::read(&archive).unwrap();
    bytes.push(0);
    fs::write(&archive, bytes).unwrap();
    refused(installed(&release, ""));
}

/// `uses: ./` in a workflow: actionlint reads `action.yml` for it.
#[test]
fn a_workflow_that_uses_the_action_is_valid() {
    const TEST: &str = "a_workflow_that_uses_the_action_is_valid";
    const WORKFLOW: &str = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      \
        - uses: ./\n        with:\n          urls: http://localhost/\n          NAME: x\n";
    let Some(actionlint) = super::workflows::tool(TEST, "install-actionlint") else {
        return;
    };
    let project = tempfile::tempdir().unwrap();
    let workflows = project.path().join(".github/workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::create_dir(project.path().join(".git")).unwrap();
    let action = concat!(env!("CARGO_MANIFEST_DIR"), "/../../action.yml");
    fs::copy(action, project.path().join("action.yml")).unwrap();
    let checked = |input: &str| {
        let workflow = WORKFLOW.replace("NAME", input);
        fs::write(workflows.join("a.yml"), workflow).unwrap();
        let output = Command::new(&actionlint)
            .current_dir(project.path())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(checked("baseline"), "");
    assert!(checked("bassline").contains("bassline"));
}
