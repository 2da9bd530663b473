//! `roundtrip doctor`.

use roundtrip_doctor::{CheckStatus, DoctorReport, examine, render};

use crate::cli::DoctorArgs;
use crate::output::{Outcome, OutputStream};
use crate::provenance::stamped;

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    let checks = match examine(args.root.as_deref()) {
        Ok(checks) => checks,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if args.json {
        let report = DoctorReport::new(args.root.as_deref(), checks);
        return match serde_json::to_value(&report) {
            Ok(document) => {
                OutputStream::Out.print_json(&format!("{:#}\n", stamped(document)));
                Outcome::Done
            }
            Err(error) => Outcome::Usage(error.to_string()),
        };
    }
    let shown: Vec<_> = checks
        .into_iter()
        .filter(|c| !args.quiet || matches!(c.status, CheckStatus::Notice | CheckStatus::Problem))
        .collect();
    OutputStream::Out.print(render(&shown, OutputStream::Out.style(args.color)));
    Outcome::Done
}
