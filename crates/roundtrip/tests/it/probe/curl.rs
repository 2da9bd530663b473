//! Compatibility with curl: Debian's curl and `probe` print the same template about the same
//! server.

mod failing;
mod succeeding;
mod table;

use std::collections::BTreeMap;

use crate::probe::run;
use crate::process::Said;
use table::{ON_PURPOSE, VARIABLES};

/// The template of the article, unchanged.
const ARTICLE: &str = concat!(
    "@",
    env!("CARGO_MANIFEST_DIR"),
    "/../report/tests/data/curl-format.txt"
);
/// The length of the user agent is part of the size of a request.
const AGENT: [&str; 2] = ["-A", "somebody/1.0"];

type Values = BTreeMap<String, String>;

/// Both programs with the same arguments, and a file each for the body.
struct Pair {
    curl: Said,
    probe: Said,
    curl_body: Vec<u8>,
    probe_body: Vec<u8>,
}

impl Pair {
    fn run(template: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The same name for both, because it is one of the variables.
        let one = |mut command: std::process::Command, place: &str| {
            let place = directory.path().join(place);
            std::fs::create_dir(&place).unwrap();
            command.args(AGENT).args(["-w", template, "-o", "body"]);
            command.args(arguments).current_dir(&place);
            let said = run::said(command);
            (said, std::fs::read(place.join("body")).unwrap_or_default())
        };
        let mut judge = run::command("curl");
        judge.args(["-q", "-s", "--noproxy", "*"]);
        let (curl, curl_body) = one(judge, "curl");
        let (probe, probe_body) = one(run::probe(&["-q"]), "probe");
        Self {
            curl,
            probe,
            curl_body,
            probe_body,
        }
    }
}

/// Every variable that curl knows, compared as the table says; times are checked for order and
/// presence.
fn compare(arguments: &[&str]) -> Pair {
    let lines: Vec<String> = VARIABLES
        .iter()
        .map(|(name, _)| format!("{name}=%{{{name}}}\\n"))
        .collect();
    let pair = Pair::run(&lines.concat(), arguments);
    let (curl, probe) = (values(&pair.curl.out), values(&pair.probe.out));
    let mut wrong: Vec<String> = VARIABLES
        .iter()
        .filter(|(name, rule)| !rule.holds(&curl[*name], &probe[*name]))
        .filter(|(name, _)| !is_meant(name, &curl, &probe))
        .map(|(name, _)| format!("{name}: curl {:?}, probe {:?}", curl[*name], probe[*name]))
        .collect();
    for (who, values) in [("curl", &curl), ("probe", &probe)] {
        wrong.extend(disorder(values).map(|what| format!("{who}: {what}")));
    }
    assert!(wrong.is_empty(), "{arguments:?}:\n{}", wrong.join("\n"));
    pair
}

fn is_meant(variable: &str, curl: &Values, probe: &Values) -> bool {
    ON_PURPOSE.iter().any(|difference| {
        difference.variable == variable
            && difference.explains(&curl["exitcode"], &curl[variable], &probe[variable])
    })
}

fn values(printed: &str) -> Values {
    printed
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn number(values: &Values, name: &str) -> f64 {
    values[name].parse().unwrap()
}

/// Steps that are out of order. Over several hops curl adds each step up, so that only the total is
/// comparable.
fn disorder(values: &Values) -> impl Iterator<Item = String> {
    let order = [
        "time_namelookup",
        "time_connect",
        "time_appconnect",
        "time_pretransfer",
        "time_starttransfer",
        "time_total",
    ];
    let happened: Vec<(&str, f64)> = order
        .into_iter()
        .map(|name| (name, number(values, name)))
        .filter(|(_, time)| *time > 0.0)
        .collect();
    let steps: Vec<String> = if number(values, "num_redirects") > 0.0 {
        let total = number(values, "time_total");
        happened
            .iter()
            .filter(|(_, time)| *time > total)
            .map(|(name, _)| format!("{name} is over time_total"))
            .collect()
    } else {
        happened
            .windows(2)
            .filter(|pair| pair[0].1 > pair[1].1)
            .map(|pair| format!("{} comes after {}", pair[0].0, pair[1].0))
            .collect()
    };
    steps.into_iter()
}

#[test]
fn the_table_has_all_variables_that_debians_curl_knows() {
    let said = Pair::run("%{json}", &["http://127.0.0.1:1/"]).curl.out;
    let known: serde_json::Value = serde_json::from_str(&said).unwrap();
    let missing: Vec<&String> = known
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| *name != "curl_version" && !VARIABLES.iter().any(|(n, _)| n == name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_articles_template_gives_the_same_lines() {
    let site = crate::probe::peer::Site::start();
    let url = site.http("/bytes/1000");
    let pair = Pair::run(ARTICLE, &[&url]);
    let names = |said: &Said| -> Vec<String> {
        said.out
            .lines()
            .map(|line| line.split(':').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names(&pair.probe), names(&pair.curl));
    let variables = pair.probe.out.lines().filter(|l| l.contains(':')).count();
    assert_eq!(variables, 27, "{}", pair.probe.out);
    for line in pair.curl.out.lines() {
        let fixed = !["time_", "speed_", "local_port"]
            .iter()
            .any(|n| line.contains(n));
        assert!(
            !fixed || pair.probe.out.contains(line),
            "{line} is not in {}",
            pair.probe.out
        );
    }
}
