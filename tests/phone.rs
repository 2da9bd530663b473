//! Chromium lays out a page at the width of a phone, in light and in dark: nothing may overflow it,
//! and no text may be hard to read. Included by the tests of pages (`#[path] mod laid_out`).

use std::fs;
use std::process::Command;

/// The page is in a frame of the width of a phone, since a window cannot be that narrow. An element
/// that scrolls may be wider inside. Texts of the pictures must not overlap, either, and the
/// contrast of a text with its background must be at least 3.
const MEASURE: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  page.querySelectorAll("details").forEach(details => details.open = true);
  const scrolls = element => element.closest(".scroll");
  const name = e => e.tagName + " " + e.textContent.slice(0, 40);
  const wide = [...page.body.querySelectorAll("*")].filter(e => !scrolls(e.parentElement))
    .filter(e => e.getBoundingClientRect().right > 390.5 || e.getBoundingClientRect().left < -0.5).map(name);
  const texts = [...page.querySelectorAll("svg text")].map(e => [name(e), e.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
  const upon = texts.flatMap(([n, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([m]) => n + " / " + m));
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    pixel.clearRect(0, 0, 1, 1); pixel.fillStyle = color; pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) { const c = rgba(view.getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
    return view.matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const has = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  const faint = [...page.body.querySelectorAll("*")].filter(e => has(e) && e.getClientRects().length).filter(e => {
    const style = view.getComputedStyle(e), color = e.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(rgba(color)), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 3;
  }).map(name);
  document.title = "laid out: " + (view.matchMedia("(prefers-color-scheme: dark)").matches ? "dark, " : "light, ")
    + page.querySelectorAll("figure svg[role=img]").length + " pictures, page " + page.documentElement.scrollWidth
    + ", wide [" + wide.join("; ") + "], upon [" + upon.join("; ") + "], faint [" + faint.join("; ") + "]";
});
frame.srcdoc = document.querySelector("template").innerHTML;
"#;

/// Asserts that the page fits, in light and in dark, and has at least this many pictures. Returns
/// false if Chromium is not installed.
pub(crate) fn fits(page: &str, pictures: usize) -> bool {
    let Some([light, dark]) = laid_out(page) else {
        return false;
    };
    for (scheme, found) in [("light", light), ("dark", dark)] {
        let parts: Option<(&str, &str)> = found
            .strip_prefix(scheme)
            .and_then(|rest| rest.strip_prefix(", "))
            .and_then(|rest| rest.split_once(" pictures"));
        let (count, rest) = parts.unwrap_or_else(|| panic!("{scheme}: {found}"));
        assert!(count.parse::<usize>().unwrap() >= pictures, "{found}");
        assert_eq!(rest, ", page 390, wide [], upon [], faint []", "{scheme}");
    }
    true
}

/// What was found in light and in dark; `None` if Chromium is not installed.
fn laid_out(page: &str) -> Option<[String; 2]> {
    // Attributes of `html` and `body` do not matter; the parser of a template drops both elements.
    let frame = r#"<!DOCTYPE html><meta name="color-scheme" content="light dark"><iframe width="390" height="2000" style="border:0"></iframe>"#;
    let wrapped = format!("{frame}<template>{page}</template><script>{MEASURE}</script>");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.html");
    fs::write(&file, wrapped).unwrap();
    let seen = |scheme: &str| {
        let profile = folder.path().join(scheme);
        let asked = Command::new("timeout")
            .args(["120", "chromium", "--headless", "--no-sandbox"])
            .args(["--disable-gpu", "--hide-scrollbars"])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(["--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("file://{}", file.display()))
            .env("HOME", folder.path())
            .output();
        let answer = asked
            .ok()
            .filter(|answer| answer.status.code() != Some(127))?;
        let dom = String::from_utf8_lossy(&answer.stdout);
        let title = dom
            .split_once("<title>laid out: ")
            .and_then(|(_, rest)| rest.split_once("</title>"))
            .unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&answer.stderr)));
        Some(title.0.to_owned())
    };
    Some([seen("1")?, seen("0")?])
}
