//! `--check-server`: queries a server, and reports what violates the standards.

use std::time::SystemTime;

use roundtrip_fetch::pool::Settings;
use roundtrip_http::Tokens;
use roundtrip_rdap::check::server::{self, Finding};
use roundtrip_rdap::check::{Severity, Violation};
use roundtrip_rdap::query::Query;
use roundtrip_rdap::server_check::ServerCheck;
use roundtrip_rdap::text::{self, Form, Style};
use serde_json::{Value, json};

use super::meaning::{self, USER_AGENT, UsageError};
use super::stopped;
use crate::cli::RdapArgs;
use crate::output::{Outcome, OutputStream, deliver, failed};

const SCHEMA: &str = "roundtrip/rdap-server/1";

/// The violations in an answer, with the address family and the URL.
type Checked = (String, String, Vec<Violation>);

pub(super) async fn check(args: &RdapArgs, given: &str) -> Outcome {
    let base = meaning::base("check-server", given, UsageError::CheckServer);
    let (base, objects) = match (base, objects(args)) {
        (Ok(base), Ok(objects)) => (base, objects),
        (Err(error), _) => return Outcome::Usage(error.to_string()),
        (_, Err(error)) => return Outcome::Usage(error),
    };
    let settings = match (settings(args), settings(args)) {
        (Ok(one), Ok(other)) => [one, other],
        (Err(error), _) | (_, Err(error)) => return Outcome::Usage(error.to_string()),
    };
    let check = ServerCheck {
        base: &base,
        objects: &objects,
        user_agent: USER_AGENT,
    };
    let heard = tokio::select! {
        heard = check.ask(settings) => heard,
        () = stopped() => return failed(&"interrupted"),
    };
    let heard = match heard {
        Ok(heard) => heard,
        Err(error) => return failed(&error),
    };
    let findings = server::judge(&heard);
    let answers: Vec<Checked> = server::answers(&heard)
        .into_iter()
        .map(|(heard, found)| (heard.family.to_owned(), heard.url.to_string(), found))
        .collect();
    let report = if args.output.json {
        document(&base.redacted(), &findings, &answers)
    } else {
        told(&base.redacted(), &findings, &answers, args)
    };
    let output = args.output.output.as_deref();
    if let Err(ended) = deliver(&report, args.output.json, output, false) {
        return ended;
    }
    let broken = findings.iter().filter(|f| !f.held).map(|f| f.check);
    let in_answers = answers.iter().flat_map(|(_, _, found)| found);
    let mut all = broken.chain(in_answers.map(|v| v.check));
    if all.any(|check| check.severity == Severity::Error) {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

/// The objects that the server should know, as paths or URLs.
fn objects(args: &RdapArgs) -> Result<Vec<String>, String> {
    let queries = args.queries.iter().map(|text| {
        let query = Query::parse(text, args.asking.kind).map_err(|e| e.to_string())?;
        let is_url = text.contains("://");
        Ok(if is_url { text.clone() } else { query.path() })
    });
    queries.collect()
}

/// How to connect: nothing is resumed and nothing remembered, as for any new client.
fn settings(args: &RdapArgs) -> Result<Settings, UsageError> {
    let (settings, _) = meaning::settings(args, &Tokens::default(), None)?;
    let mut settings = settings.without_reuse();
    settings.strategy.reuse = true;
    Ok(settings)
}

fn told(url: &str, findings: &[Finding], answers: &[Checked], args: &RdapArgs) -> String {
    let style = Style {
        form: Form::Readable,
        terminal: OutputStream::Out.style(args.output.color),
        verbose: args.output.verbose,
        now: SystemTime::now(),
        shown: false,
    };
    let mut text = format!("Checked the server {}\n", roundtrip_report::clean(url));
    text += &text::server(findings, &style);
    for (family, url, found) in answers.iter().filter(|(.., found)| !found.is_empty()) {
        let url = roundtrip_report::clean(url);
        for part in ["\nChecked ", &url, " over ", family.as_str(), "\n"] {
            text.push_str(part);
        }
        text += &text::violations(found, &style);
    }
    text
}

fn document(url: &str, findings: &[Finding], answers: &[Checked]) -> String {
    let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
    let answers = answers.iter().map(|(family, url, found)| {
        let violations: Vec<Value> = found.iter().map(Violation::json).collect();
        json!({"family": family, "url": url, "violations": violations})
    });
    let answers: Vec<Value> = answers.collect();
    let document = json!({
        "schema": SCHEMA,
        "server": url,
        "results": findings,
        "answers": answers,
    });
    format!("{document}\n")
}
