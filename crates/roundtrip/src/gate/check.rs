//! `gate check`: what was found, for people and for programs.

use roundtrip_gate::GateError;
use roundtrip_gate::check::{CheckReport, ConfigFinding, Severity, reach};
use roundtrip_report::terminal::{Style, Tone, clean, clean_lines};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::source;
use crate::cli::GateCheckArgs;
use crate::output::{Outcome, OutputStream, failed};

pub(super) fn run(args: &GateCheckArgs) -> Outcome {
    let report = match examine(args) {
        Ok(report) => report,
        Err(error) => return failed(&error),
    };
    if args.json {
        OutputStream::Out.print_json(&document(args, &report));
    } else if !args.quiet {
        OutputStream::Out.print(text(args, &report, &OutputStream::Out.style(args.color)));
    }
    if report.passes() {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}

/// A file that cannot be read is a finding too: programs get their document in any case.
fn examine(args: &GateCheckArgs) -> std::io::Result<CheckReport> {
    let config = match source::read(&args.from) {
        Ok(config) => config,
        Err(error) => return Ok(unread(args, &error)),
    };
    let mut report = source::examine(&args.from, &config);
    if args.connect {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        // A store receives its own notifications concurrently with requests.
        LocalSet::new().block_on(&runtime, reach(&config, &mut report));
    }
    source::locate(&args.from, &mut report);
    Ok(report)
}

fn unread(args: &GateCheckArgs, error: &GateError) -> CheckReport {
    let (place, what) = match error {
        GateError::Config {
            name,
            line,
            column,
            why,
        } => (format!("{name}:{line}:{column}"), why.clone()),
        other => (source::name(&args.from), other.to_string()),
    };
    CheckReport {
        findings: vec![ConfigFinding {
            severity: Severity::Error,
            place,
            line: None,
            column: None,
            what,
        }],
        ..CheckReport::default()
    }
}

fn document(args: &GateCheckArgs, report: &CheckReport) -> String {
    let document = json!({
        "schema": "roundtrip/gate-check/1",
        "config": args.from.config.as_ref().map(|path| path.display().to_string()),
        "passes": report.passes(),
        "connected": args.connect,
        "findings": report.findings,
        "https_records": report.https_records,
    });
    format!("{document:#}\n")
}

fn text(args: &GateCheckArgs, report: &CheckReport, style: &Style) -> String {
    let lines = report.findings.iter();
    let mut lines: Vec<String> = lines.map(|f| line(args, f, style)).collect();
    let name = clean(&source::name(&args.from));
    lines.push(format!("{name}: {}", verdict(report)));
    if report.passes() && !report.https_records.is_empty() {
        let title =
            "For your zone, so that clients use HTTP/3 from the first connection on (RFC 9460):";
        lines.extend([String::new(), title.to_owned()]);
        let records = report.https_records.iter();
        lines.extend(records.map(|record| format!("  {}", clean(record))));
    }
    lines.join("\n") + "\n"
}

fn line(args: &GateCheckArgs, finding: &ConfigFinding, style: &Style) -> String {
    let (word, tone) = match finding.severity {
        Severity::Error => ("error  ", Tone::Problem),
        Severity::Warning => ("warning", Tone::Warn),
    };
    let word = style.paint(tone, word);
    format!(
        "{word}  {}",
        clean_lines(&source::told(&args.from, finding))
    )
}

fn verdict(report: &CheckReport) -> String {
    let count = |severity| {
        let of = report.findings.iter().filter(|f| f.severity == severity);
        of.count()
    };
    let told = |number: usize, one: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    };
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => "no problems found; gate would start".into(),
        (0, warnings) => format!("{}; gate would start", told(warnings, "warning")),
        (errors, warnings) => format!(
            "{}, {}; gate would not start",
            told(errors, "error"),
            told(warnings, "warning")
        ),
    }
}
