//! Assertions as JUnit's XML, which continuous integration servers read: a suite for each URL, a
//! case for each assertion.

use super::Assertion;
use crate::terminal::clean;

/// Writes the whole file. Cases of one URL follow each other in `assertions`.
pub fn document(assertions: &[Assertion]) -> String {
    let suites: String = assertions
        .chunk_by(|a, b| a.url == b.url)
        .map(suite)
        .collect();
    let counts = counts(assertions);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"roundtrip probe\" {counts}>\n{suites}</testsuites>\n"
    )
}

fn suite(cases: &[Assertion]) -> String {
    let url = escaped(cases.first().map_or("", |case| &case.url));
    let inner: String = cases.iter().map(|case| one(&url, case)).collect();
    let counts = counts(cases);
    format!("  <testsuite name=\"{url}\" {counts}>\n{inner}  </testsuite>\n")
}

fn counts(assertions: &[Assertion]) -> String {
    let broken = assertions.iter().filter(|a| a.broken.is_some()).count();
    let tests = assertions.len();
    format!("tests=\"{tests}\" failures=\"{broken}\" errors=\"0\"")
}

fn one(url: &str, case: &Assertion) -> String {
    let begin = format!(
        "    <testcase classname=\"{url}\" name=\"{}\"",
        escaped(&case.name)
    );
    let Some(why) = &case.broken else {
        return begin + "/>\n";
    };
    let first = why.lines().next().unwrap_or_default();
    let lines: Vec<String> = why.lines().map(escaped).collect();
    format!(
        "{begin}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
        escaped(first),
        lines.join("\n")
    )
}

/// XML has no way to write most control characters, so they are shown as on a terminal.
fn escaped(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_for_each_url_and_a_case_for_each_assertion() {
        let assertions = [
            Assertion::new("http://a/?x&y", "answers", &[]),
            Assertion::new(
                "http://a/?x&y",
                "ttfb > 1s",
                &["2 s \"<\u{1b}\"".into(), "3 s".into()],
            ),
            Assertion::new("http://b/", "answers", &[]),
        ];
        insta::assert_snapshot!(document(&assertions), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="roundtrip probe" tests="3" failures="1" errors="0">
          <testsuite name="http://a/?x&amp;y" tests="2" failures="1" errors="0">
            <testcase classname="http://a/?x&amp;y" name="answers"/>
            <testcase classname="http://a/?x&amp;y" name="ttfb &gt; 1s">
              <failure message="2 s &quot;&lt;\u{1b}&quot;">2 s &quot;&lt;\u{1b}&quot;
        3 s</failure>
            </testcase>
          </testsuite>
          <testsuite name="http://b/" tests="1" failures="0" errors="0">
            <testcase classname="http://b/" name="answers"/>
          </testsuite>
        </testsuites>
        "#);
    }
}
