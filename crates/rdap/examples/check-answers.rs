//! Applies every rule of `rdap --check` to answers that others wrote, to find rules that are
//! stricter than the text they cite.
//!
//! `cargo run -p roundtrip-rdap --example check-answers -- PLACE…`: each place is a file or a
//! folder. A file is one answer, or a text with answers in it, such as an RFC with its figures. How
//! an answer was delivered is not known, so rules about that are not applied.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use roundtrip_rdap::answer::Answer;
use roundtrip_rdap::check::{Delivery, Profile, Severity, check};
use serde_json::{Deserializer, Value};

/// The first members of an RDAP answer: other JSON is not looked at.
const MARKS: [&str; 4] = ["rdapConformance", "objectClassName", "errorCode", "notices"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for place in env::args_os().skip(1) {
        gather(Path::new(&place), &mut files)?;
    }
    files.sort();
    let mut out = io::stdout().lock();
    let mut counts: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    let (mut answers, mut clean) = (0, 0);
    for file in files {
        for (n, text) in documents(&fs::read(&file)?).into_iter().enumerate() {
            let Ok(answer) = Answer::read(Bytes::from(text)) else {
                continue;
            };
            answers += 1;
            let found = check(
                &answer,
                &Delivery::default(),
                &Profile::claimed(&answer, None),
            );
            let grave = found.iter().filter(|v| v.check.severity != Severity::Info);
            clean += usize::from(grave.count() == 0);
            for violation in found {
                let check = violation.check;
                *counts.entry((check.severity, check.id)).or_default() += 1;
                writeln!(out, "{}#{n}: {violation}", file.display())?;
            }
        }
    }
    writeln!(
        out,
        "\n{answers} answers, {clean} without an error or a warning"
    )?;
    for ((severity, id), count) in counts.iter().rev() {
        writeln!(out, "{count:6}  {:8} {id}", severity.word())?;
    }
    Ok(())
}

fn gather(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !place.is_dir() {
        files.push(place.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let text = path.extension().and_then(OsStr::to_str);
        if path.is_dir() || matches!(text, Some("json" | "txt")) {
            gather(&path, files)?;
        }
    }
    Ok(())
}

/// The answers in a file.
fn documents(file: &[u8]) -> Vec<Vec<u8>> {
    if let Ok(whole) = serde_json::from_slice::<Value>(file) {
        return if is_answer(&whole) {
            vec![file.to_vec()]
        } else {
            Vec::new()
        };
    }
    let text = String::from_utf8_lossy(file);
    let lines: Vec<&str> = text.lines().filter(|line| !is_of_page(line)).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.trim_start().starts_with('{') {
            let rest = lines.get(at..).unwrap_or_default().join("\n");
            let mut values = Deserializer::from_str(&rest).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                let end = values.byte_offset();
                let document = rest.get(..end).unwrap_or_default();
                at += document.lines().count();
                if is_answer(&value) {
                    found.push(document.as_bytes().to_vec());
                }
                continue;
            }
        }
        at += 1;
    }
    found
}

/// Whether the line is blank, or the foot or the head of a page of an RFC.
fn is_of_page(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.ends_with(']') && line.contains("[Page ") || line.starts_with("RFC ")
}

fn is_answer(json: &Value) -> bool {
    MARKS.iter().any(|mark| json.get(mark).is_some())
}
