//! `roundtrip demo`: the table while it fills, then the lesson and what to try next.

mod live;

use std::error::Error;

use roundtrip_lab::demo::{self, Demo, DemoError};
use roundtrip_report::terminal::Style;
use roundtrip_report::text::{ways_lesson, ways_notes};
use roundtrip_report::{json, ways::Ways};

use crate::cli::DemoArgs;
use crate::output::{Outcome, OutputStream, failed};
use crate::provenance::stamped;
use live::DemoView;

/// What to type next, and its purpose.
const NEXT: [(&str, &str); 3] = [
    ("probe https://example.com", "explains a request of yours"),
    (
        "probe -c 5 --reuse https://example.com",
        "on a kept connection",
    ),
    ("doctor", "what this machine can do"),
];

/// Must come before the first thread: see [`roundtrip_path::enter_sandbox`].
pub(crate) fn run(args: &DemoArgs) -> Outcome {
    match roundtrip_path::enter_sandbox()
        .map_err(DemoError::from)
        .and_then(|()| measure(args))
    {
        Ok(ways) if ways.failures().next().is_some() => Outcome::Failed,
        Ok(_) => Outcome::Done,
        Err(error) => {
            let cause = error
                .source()
                .filter(|cause| !error.to_string().contains(&cause.to_string()));
            let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
            failed(&format!("{error}{cause}"))
        }
    }
}

fn measure(args: &DemoArgs) -> Result<Ways, DemoError> {
    let demo = Demo {
        rtt: args.rtt,
        runs: args.runs,
        seed: args.seed,
    };
    let mut live = DemoView::new(args);
    let ways = demo::run(&demo, |ways| live.show(ways))?;
    live.finish(&ways);
    if args.json {
        OutputStream::Out.print_json(&format!("{:#}\n", stamped(json::ways(&ways))));
        return Ok(ways);
    }
    let style = OutputStream::Out.style(args.color);
    let notes = ways_notes(&ways, &style);
    if !notes.is_empty() {
        OutputStream::Out.print(format!("\n{notes}"));
    }
    if !args.quiet {
        OutputStream::Out.print(closing(&ways, &style));
    }
    Ok(ways)
}

/// The lesson, and the commands as the user can type them here.
fn closing(ways: &Ways, style: &Style) -> String {
    let mut text = String::new();
    let lesson = ways_lesson(ways, style);
    if !lesson.is_empty() {
        text = format!("\n{lesson}");
    }
    let program = std::env::args()
        .next()
        .unwrap_or_else(|| "roundtrip".into());
    text.push_str("\nTry next:\n");
    let commands = NEXT.map(|(arguments, why)| (format!("{program} {arguments}"), why));
    let columns = |text: &str| text.chars().count();
    let width = commands.iter().map(|(command, _)| columns(command)).max();
    let width = width.unwrap_or_default();
    let room = style.width.saturating_sub(width + 4);
    let all_fit = commands.iter().all(|(_, why)| columns(why) <= room);
    for (command, why) in commands {
        let line = if all_fit {
            format!("  {command:width$}  {why}")
        } else {
            format!("  {command}")
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::NEXT;
    use crate::cli::Cli;

    #[test]
    fn suggested_commands_exist() {
        for (arguments, _) in NEXT {
            let words = std::iter::once("roundtrip").chain(arguments.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{arguments}");
        }
    }
}
