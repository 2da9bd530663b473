//! `roundtrip doctor`.

use roundtrip_doctor::{DoctorReport, Status, examine, render};

use crate::cli::DoctorArgs;
use crate::output::{Outcome, Stream};

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    let checks = match examine(args.root.as_deref()) {
        Ok(checks) => checks,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if args.json {
        let report = DoctorReport::new(args.root.as_deref(), checks);
        return match serde_json::to_string_pretty(&report) {
            Ok(text) => {
                Stream::Out.print(text + "\n");
                Outcome::Done
            }
            Err(error) => Outcome::Usage(error.to_string()),
        };
    }
    let shown: Vec<_> = checks
        .into_iter()
        .filter(|c| !args.quiet || matches!(c.status, Status::Notice | Status::Problem))
        .collect();
    let style = Stream::Out.style(args.color);
    Stream::Out.print(render(&shown, style.colour, style.width));
    Outcome::Done
}
