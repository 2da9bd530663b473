//! `roundtrip history`: reads and shows a file. `roundtrip_history` interprets its contents.

use roundtrip_history::{document, page as history_page, read_history, summary};
use roundtrip_report::clean;

use crate::cli::HistoryArgs;
use crate::output::{self, Outcome, failed};
use crate::page;
use crate::provenance::{self, stamped};

pub(crate) fn run(args: &HistoryArgs) -> Outcome {
    let all = match read_history(&args.file) {
        Ok(all) => all,
        Err(error) => return failed(&error),
    };
    if let Some(file) = &args.html {
        let title = clean(&args.file.display().to_string());
        let text = history_page(&title, &all, &provenance::here());
        if let Err(ended) = page::deliver(file, &text, args.quiet || args.json) {
            return ended;
        }
    }
    let report = if args.json {
        format!("{:#}\n", stamped(document(&all)))
    } else {
        summary(&all)
    };
    let is_quiet = args.quiet && !args.json;
    match output::deliver(&report, args.json, None, is_quiet) {
        Ok(()) => Outcome::Done,
        Err(ended) => ended,
    }
}
