//! `--check-server`: queries a server, and reports what violates the standards.

use std::fmt::Write as _;
use std::time::SystemTime;

use roundtrip_fetch::pool::Settings;
use roundtrip_http::Tokens;
use roundtrip_model::Target;
use roundtrip_rdap::check::server::{self, Finding, Heard};
use roundtrip_rdap::check::{Severity, Violation};
use roundtrip_rdap::query::Query;
use roundtrip_rdap::server_check::{ServerCheck, Survey};
use roundtrip_rdap::text::{self, Form, Style};
use serde_json::{Value, json};

use super::meaning::{self, USER_AGENT, UsageError};
use super::stopped;
use crate::cli::RdapArgs;
use crate::output::{Outcome, OutputStream, deliver, failed};

const SCHEMA: &str = "roundtrip/rdap-server/1";

/// An answer, with its violations.
type Checked<'a> = (&'a Heard, Vec<Violation>);

pub(super) async fn check(args: &RdapArgs, given: &str) -> Outcome {
    let base = meaning::base("check-server", given, UsageError::CheckServer);
    let base = match base {
        Ok(base) => base,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let objects = match objects(args, &base) {
        Ok(objects) => objects,
        Err(error) => return Outcome::Usage(error),
    };
    let settings = match settings(args) {
        Ok(settings) => settings,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let check = ServerCheck {
        base: &base,
        objects: &objects,
        user_agent: USER_AGENT,
    };
    let survey = tokio::select! {
        survey = check.ask(&settings) => survey,
        () = stopped() => return failed(&"interrupted"),
    };
    let survey = match survey {
        Ok(survey) => survey,
        Err(error) => return failed(&error),
    };
    let findings = server::judge(&survey.heard);
    let answers = server::answers(&survey.heard);
    let report = if args.output.json {
        document(&base.redacted(), &survey, &findings, &answers)
    } else {
        told(&base.redacted(), &survey, &findings, &answers, args)
    };
    let output = args.output.output.as_deref();
    if let Err(ended) = deliver(&report, args.output.json, output, false) {
        return ended;
    }
    let broken = findings.iter().filter(|f| !f.held).map(|f| f.check);
    let in_answers = answers.iter().flat_map(|(_, found)| found);
    let mut all = broken.chain(in_answers.map(|v| v.check));
    if all.any(|check| check.severity == Severity::Error) {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

/// The objects that the server should know, as paths or as URLs at that server.
fn objects(args: &RdapArgs, base: &Target) -> Result<Vec<String>, String> {
    let queries = args.queries.iter().map(|text| {
        let query = Query::parse(text, args.asking.kind).map_err(|e| e.to_string())?;
        if !text.contains("://") {
            return Ok(query.path());
        }
        match Target::parse(text.trim()) {
            Ok(url) if url.same_origin(base) => Ok(text.trim().to_owned()),
            _ => Err(format!("{text} is not a URL at the server to check")),
        }
    });
    queries.collect()
}

/// The connection settings of a new client: nothing is resumed or stored.
fn settings(args: &RdapArgs) -> Result<Settings, UsageError> {
    let (settings, _) = meaning::settings(args, &Tokens::default(), None)?;
    let mut settings = settings.without_reuse();
    settings.strategy.reuse = true;
    Ok(settings)
}

fn told(
    url: &str,
    survey: &Survey,
    findings: &[Finding],
    answers: &[Checked],
    args: &RdapArgs,
) -> String {
    let style = Style {
        form: Form::Readable,
        terminal: OutputStream::Out.style(args.output.color),
        verbose: args.output.verbose,
        now: SystemTime::now(),
        shown: false,
    };
    let mut text = format!("Checked the server {}", roundtrip_report::clean(url));
    let addresses = addresses(&survey.heard);
    if !addresses.is_empty() {
        let _ = write!(text, " at {}", addresses.join(", "));
    }
    if survey.left_out > 0 {
        let _ = write!(
            text,
            " (addresses that were not asked: {})",
            survey.left_out
        );
    }
    text.push('\n');
    text += &text::server(findings, &style);
    // An answer that is the same at several addresses is shown once.
    let mut shown: Vec<(Vec<String>, String, String)> = Vec::new();
    for (heard, found) in answers.iter().filter(|(_, found)| !found.is_empty()) {
        let address = heard.address.map(|address| address.to_string());
        let (url, violations) = (heard.url.to_string(), text::violations(found, &style));
        let same =
            |(_, other, listed): &&mut (_, String, String)| *other == url && *listed == violations;
        match shown.iter_mut().find(same) {
            Some((places, ..)) => places.extend(address),
            None => shown.push((Vec::from_iter(address), url, violations)),
        }
    }
    for (places, url, violations) in shown {
        let (url, places) = (roundtrip_report::clean(&url), places.join(", "));
        let _ = write!(text, "\nChecked {url} at {places}\n{violations}");
    }
    text
}

/// The addresses that were asked, each once.
fn addresses(heard: &[Heard]) -> Vec<String> {
    let mut addresses: Vec<String> = heard
        .iter()
        .filter_map(|heard| Some(heard.address?.to_string()))
        .collect();
    addresses.dedup();
    addresses
}

fn document(url: &str, survey: &Survey, findings: &[Finding], answers: &[Checked]) -> String {
    let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
    let answers = answers.iter().map(|(heard, found)| {
        let violations: Vec<Value> = found.iter().map(Violation::json).collect();
        json!({
            "family": heard.family,
            "address": heard.address,
            "url": heard.url.as_str(),
            "violations": violations,
        })
    });
    let answers: Vec<Value> = answers.collect();
    let document = json!({
        "schema": SCHEMA,
        "server": url,
        "addresses": addresses(&survey.heard),
        "addresses_left_out": survey.left_out,
        "results": findings,
        "answers": answers,
    });
    format!("{document}\n")
}
