//! Chromium lays out the page at the width of a phone: nothing may overflow it.

use std::fs;
use std::process::Command;

use crate::html::page;

use super::carrying::carrying;
use super::samples::{head, outcome};

#[path = "../../../../../tests/skip.rs"]
mod skip;

/// The page is in a frame of the width of a phone, since a window cannot be that narrow. Elements
/// that scroll may be wider inside.
const MEASURE: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(details => details.open = true);
  const scrolls = element => element.closest(".scroll");
  const wide = [...page.body.querySelectorAll("*")].filter(e => !scrolls(e.parentElement))
    .filter(e => e.getBoundingClientRect().right > 390.5 || e.getBoundingClientRect().left < -0.5)
    .map(e => e.tagName + "." + (e.className.baseVal ?? e.className) + " " + e.textContent.slice(0, 40));
  document.title = "laid out: " + page.querySelectorAll("svg.arms, svg.stairs").length + " pictures, page "
    + page.documentElement.scrollWidth + ", wide [" + wide.join("; ") + "]";
});
frame.srcdoc = document.querySelector("template").innerHTML;
"#;

#[test]
fn nothing_is_wider_than_a_phone() {
    let name = "nothing_is_wider_than_a_phone";
    let mut long = outcome();
    long.arms[0].name = "python-requests-no-reuse@strip-fast-open".into();
    long.again = format!("roundtrip lab run {}", "long/".repeat(40));
    let page = page(&[outcome(), long, carrying()], &head());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.html");
    let frame = r#"<!DOCTYPE html><iframe width="390" height="2000" style="border:0"></iframe>"#;
    // Attributes of `html` and `body` have no effect; the parser of a template drops both.
    let wrapped = format!("{frame}<template>{page}</template><script>{MEASURE}</script>");
    fs::write(&file, wrapped).unwrap();
    let profile = format!(
        "--user-data-dir={}",
        folder.path().join("profile").display()
    );
    let asked = Command::new("timeout")
        .args([
            "120",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
        ])
        .arg(&profile)
        .args([
            "--hide-scrollbars",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("file://{}", file.display()))
        .env("HOME", folder.path())
        .output();
    let answer = match asked {
        Ok(answer) if answer.status.code() != Some(127) => answer,
        _ => return skip::lacking(name, "chromium"),
    };
    let dom = String::from_utf8_lossy(&answer.stdout);
    let title = dom
        .split_once("<title>laid out: ")
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&answer.stderr)));
    assert_eq!(title.0, "6 pictures, page 390, wide []");
}
