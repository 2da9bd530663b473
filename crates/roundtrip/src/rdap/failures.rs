//! Counts the reasons for failed lookups, and the answers about other objects than the requested
//! ones, for standard error, because they are easily overlooked in a table or a file.

use roundtrip_rdap::client::Outcome;
use roundtrip_rdap::text::State;

/// The largest number of reasons that are listed separately.
const MAX_REASONS: usize = 12;

#[derive(Default)]
pub(super) struct Failures {
    reasons: Vec<Reason>,
    /// Failures for other reasons.
    others: u64,
    /// The first query that was answered about another object, and that object.
    astray: Option<(String, String)>,
    count_astray: u64,
}

struct Reason {
    state: State,
    why: String,
    /// The query that failed first.
    first: String,
    count: u64,
}

impl Failures {
    pub(super) fn count(&mut self, found: &Outcome) {
        if let Some(other) = found.sources().find_map(|s| s.other.as_ref()) {
            self.count_astray += 1;
            self.astray
                .get_or_insert_with(|| (found.query.clone(), other.clone()));
        }
        let Some(why) = found.failure() else {
            return;
        };
        let state = found.state();
        let mut known = self.reasons.iter_mut();
        if let Some(reason) = known.find(|r| r.state == state && r.why == why) {
            reason.count += 1;
        } else if self.reasons.len() < MAX_REASONS {
            self.reasons.push(Reason {
                state,
                why,
                first: found.query.clone(),
                count: 1,
            });
        } else {
            self.others += 1;
        }
    }

    /// A line for each reason.
    pub(super) fn told(&self) -> Vec<String> {
        let lines = self.reasons.iter().map(|reason| {
            let Reason {
                state,
                why,
                first,
                count,
            } = reason;
            match count {
                1 => format!("{first}: {}: {why}", state.word()),
                _ => format!("{first} and {} more: {}: {why}", count - 1, state.word()),
            }
        });
        let mut lines: Vec<String> = lines.collect();
        if self.others > 0 {
            lines.push(format!("{} more failed for other reasons", self.others));
        }
        lines
    }

    /// A line about all answers about other objects.
    pub(super) fn astray(&self) -> Option<String> {
        let (query, other) = self.astray.as_ref()?;
        Some(match self.count_astray {
            1 => format!("{query}: the answer is about {other}"),
            n => format!(
                "{query} and {} more: the answers are about other objects, the first about {other}",
                n - 1
            ),
        })
    }
}
