//! Two reports of `doctor` for a terminal.

use roundtrip_report::terminal::{Tone, clean, finished};

use super::TextOptions;
use crate::{CheckChange, DoctorDiff, ReportedCheck, Trend};

impl TextOptions<'_> {
    pub(super) fn doctor(&self, diff: &DoctorDiff) -> String {
        let mut lines = self.paragraph(&diff.answer);
        if !self.quiet {
            lines.push(String::new());
            for (side, file, root, made) in [
                ("A", self.files.0, &diff.roots.0, &diff.made.0),
                ("B", self.files.1, &diff.roots.1, &diff.made.1),
            ] {
                let of = root.as_deref().map_or("the machine".into(), clean);
                let named = self.paint(Tone::Plain, &format!("{file}: {of}"));
                lines.push(format!("  {}  {named}", self.paint(Tone::Strong, side)));
                lines.extend(self.made(made));
            }
            lines.extend(diff.changes.iter().flat_map(|change| self.change(change)));
        }
        finished(&lines)
    }

    fn change(&self, change: &CheckChange) -> Vec<String> {
        let Some(check) = change.check() else {
            return Vec::new();
        };
        let tone = match change.turn {
            Trend::Worse => Tone::Problem,
            Trend::Better => Tone::Good,
            Trend::Other => Tone::Faint,
        };
        if change.turn == Trend::Other && !self.verbose && change.a.is_some() && change.b.is_some()
        {
            return self.labelled(tone, change.turn.as_str(), 8, &moved(change, check));
        }
        let mut lines = vec![String::new()];
        lines.extend(self.labelled(tone, change.turn.as_str(), 8, &moved(change, check)));
        lines.extend(self.labelled(Tone::Faint, "", 8, &clean(&check.meaning)));
        if let Some(advice) = &check.change
            && change.b.is_some()
        {
            lines.extend(self.labelled(Tone::Faint, "", 8, &format!("change: {}", clean(advice))));
        }
        lines
    }
}

fn moved(change: &CheckChange, check: &ReportedCheck) -> String {
    let value = |side: &Option<ReportedCheck>| {
        side.as_ref().map_or("none".into(), |c| {
            format!("{} ({})", clean(&c.value), clean(&c.status))
        })
    };
    format!(
        "{}: {} → {}",
        clean(&check.title),
        value(&change.a),
        value(&change.b)
    )
}
