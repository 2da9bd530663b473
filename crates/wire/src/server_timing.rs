//! The `Server-Timing` field: how long the server's work took, by its own account. W3C Server
//! Timing.

use std::time::Duration;

use crate::field::Scanner;

/// Longer lists are truncated; honest servers do not send them.
const MAX_METRICS: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub name: String,
    /// The duration in milliseconds; `None` if it is missing, negative or not a number.
    pub milliseconds: Option<f64>,
    /// The description; empty if it is missing.
    pub description: String,
}

impl Metric {
    pub fn duration(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.milliseconds? / 1e3).ok()
    }
}

/// Parses one field value. As the specification requires, malformed parts are skipped.
pub fn parse(value: &[u8]) -> Vec<Metric> {
    let mut scanner = Scanner::new(value);
    let mut metrics = Vec::new();
    while !scanner.is_empty() && metrics.len() < MAX_METRICS {
        scanner.skip_space();
        if let Some(name) = scanner.token() {
            let name = name.to_owned();
            metrics.push(read_parameters(name, &mut scanner));
        }
        scanner.skip_to(b",");
        scanner.eat(b',');
    }
    metrics
}

fn read_parameters(name: String, scanner: &mut Scanner<'_>) -> Metric {
    let mut duration: Option<Option<f64>> = None;
    let mut description: Option<String> = None;
    while scanner.eat(b';') {
        let Some(key) = scanner.token() else {
            scanner.skip_to(b";,");
            continue;
        };
        let value = if scanner.eat(b'=') {
            scanner.token_or_quoted().unwrap_or_default()
        } else {
            String::new()
        };
        // The first parameter of each name counts.
        if key.eq_ignore_ascii_case("dur") {
            duration.get_or_insert_with(|| milliseconds(&value));
        } else if key.eq_ignore_ascii_case("desc") {
            description.get_or_insert(value);
        }
        scanner.skip_to(b";,");
    }
    Metric {
        name,
        milliseconds: duration.flatten(),
        description: description.unwrap_or_default(),
    }
}

fn milliseconds(text: &str) -> Option<f64> {
    let value = text.parse().ok();
    value.filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<(String, Option<f64>, String)> {
        parse(value.as_bytes())
            .into_iter()
            .map(|m| (m.name, m.milliseconds, m.description))
            .collect()
    }

    fn metric(name: &str, ms: Option<f64>, description: &str) -> (String, Option<f64>, String) {
        (name.into(), ms, description.into())
    }

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(
            read("miss, db;dur=53, app;dur=47.2"),
            [
                metric("miss", None, ""),
                metric("db", Some(53.0), ""),
                metric("app", Some(47.2), "")
            ]
        );
        assert_eq!(
            read("dc;desc=atl, cache;desc=\"Cache Read\";dur=23.2"),
            [
                metric("dc", None, "atl"),
                metric("cache", Some(23.2), "Cache Read")
            ]
        );
    }

    #[test]
    fn odd_input_is_passed_over() {
        assert_eq!(read(""), []);
        assert_eq!(read(" ,, ,"), []);
        assert_eq!(
            read("a;dur=x, b ; dur = 1 ; dur=2;desc=\"a, \\\"b\\\"; c\" , c;foo;=3;dur=4"),
            [
                metric("a", None, ""),
                metric("b", Some(1.0), "a, \"b\"; c"),
                metric("c", Some(4.0), "")
            ]
        );
        assert_eq!(read("a;dur=-1")[0].1, None);
        assert_eq!(read("a;dur=1e999")[0].1, None);
        assert_eq!(read("a;desc=\"open, b;dur=2")[0].0, "a");
        assert_eq!(
            parse(b"a;dur=1500")[0].duration(),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(parse(b"a;dur=1e300")[0].duration(), None);
    }

    #[test]
    fn lists_are_bounded() {
        assert_eq!(parse("a,".repeat(10_000).as_bytes()).len(), MAX_METRICS);
    }
}
