//! Two reports of `doctor`: which findings changed, and whether for the better.

use crate::node::Node;
use crate::{Provenance, ReadError};

/// The largest number of findings; no machine has as many.
const MAX_CHECKS: usize = 10_000;
/// The number of changes that the answer names.
const MAX_TOLD: usize = 4;
/// Longer values are cut here in the answer; the changes have them whole.
const MAX_TOLD_LENGTH: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doctor {
    pub made: Provenance,
    /// The image that was examined; `None` for the running machine.
    pub root: Option<String>,
    pub checks: Vec<ReportedCheck>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedCheck {
    pub id: String,
    pub area: String,
    pub title: String,
    pub value: String,
    /// `good`, `notice`, `problem` or `unknown`.
    pub status: String,
    pub meaning: String,
    pub change: Option<String>,
}

impl ReportedCheck {
    /// The severity; `None` if it is unknown.
    fn rank(&self) -> Option<u8> {
        match self.status.as_str() {
            "good" => Some(0),
            "notice" => Some(1),
            "problem" => Some(2),
            _ => None,
        }
    }
}

/// How a finding changed from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    Worse,
    Better,
    /// The finding has another value of the same status, or one that cannot be compared with the
    /// other.
    Other,
}

impl Trend {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Other => "other",
        }
    }
}

/// A finding that differs between the two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckChange {
    pub a: Option<ReportedCheck>,
    pub b: Option<ReportedCheck>,
    pub turn: Trend,
}

impl CheckChange {
    fn new(a: Option<ReportedCheck>, b: Option<ReportedCheck>) -> Self {
        let rank = |side: &Option<ReportedCheck>| side.as_ref().and_then(ReportedCheck::rank);
        let turn = match (rank(&a), rank(&b)) {
            (Some(a), Some(b)) if b > a => Trend::Worse,
            (Some(a), Some(b)) if b < a => Trend::Better,
            _ => Trend::Other,
        };
        Self { a, b, turn }
    }

    /// The finding of the side that has it; of side B if both have it.
    pub fn check(&self) -> Option<&ReportedCheck> {
        self.b.as_ref().or(self.a.as_ref())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorDiff {
    /// The versions that made A and B.
    pub made: (Provenance, Provenance),
    pub roots: (Option<String>, Option<String>),
    /// The changes: worse ones, then better ones, then the others, each in the order of the
    /// reports.
    pub changes: Vec<CheckChange>,
    /// How many findings are the same.
    pub same: usize,
    pub answer: String,
}

impl DoctorDiff {
    pub fn new(a: &Doctor, b: &Doctor) -> Self {
        let mut ids: Vec<&str> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for check in a.checks.iter().chain(&b.checks) {
            if known.insert(check.id.as_str()) {
                ids.push(&check.id);
            }
        }
        let mut same = 0;
        let mut changes = Vec::new();
        for id in ids {
            let (alike, unlike) = held(of_id(a, id), of_id(b, id));
            same += alike;
            changes.extend(unlike);
        }
        changes.sort_by_key(|change| match change.turn {
            Trend::Worse => 0,
            Trend::Better => 1,
            Trend::Other => 2,
        });
        let mut diff = Self {
            made: (a.made.clone(), b.made.clone()),
            roots: (a.root.clone(), b.root.clone()),
            changes,
            same,
            answer: String::new(),
        };
        diff.answer = diff.paragraph();
        diff
    }

    pub fn count(&self, turn: Trend) -> usize {
        self.changes.iter().filter(|c| c.turn == turn).count()
    }

    fn paragraph(&self) -> String {
        if self.changes.is_empty() {
            return format!("No difference: all {} findings are the same.", self.same);
        }
        let mut sentences = Vec::new();
        for (turn, word) in [(Trend::Worse, "worse"), (Trend::Better, "better")] {
            let mine = || self.changes.iter().filter(|c| c.turn == turn);
            if self.count(turn) > 0 {
                let told: Vec<String> = mine().take(MAX_TOLD).map(moved).collect();
                let more = self.count(turn).saturating_sub(MAX_TOLD);
                let more = if more > 0 {
                    format!(", and {more} more")
                } else {
                    String::new()
                };
                let count = findings(self.count(turn));
                sentences.push(format!(
                    "B is {word} in {count}: {}{more}.",
                    told.join(", ")
                ));
            }
        }
        let other = self.count(Trend::Other);
        if other > 0 {
            sentences.push(format!(
                "{} differ without being better or worse.",
                findings(other)
            ));
        }
        let verb = if self.same == 1 { "is" } else { "are" };
        sentences.push(format!("{} {verb} the same.", findings(self.same)));
        sentences.join(" ")
    }
}

fn findings(count: usize) -> String {
    format!("{count} finding{}", if count == 1 { "" } else { "s" })
}

fn moved(change: &CheckChange) -> String {
    let value = |side: &Option<ReportedCheck>| {
        let value = side.as_ref().map_or("none", |c| c.value.as_str());
        let mut short: String = value.chars().take(MAX_TOLD_LENGTH).collect();
        if short.len() < value.len() {
            short.push('…');
        }
        short
    };
    let title = change.check().map_or("", |check| check.title.as_str());
    format!("{title} ({} → {})", value(&change.a), value(&change.b))
}

fn of_id(doctor: &Doctor, id: &str) -> Vec<ReportedCheck> {
    let mine = doctor.checks.iter().filter(|check| check.id == id);
    mine.cloned().collect()
}

/// Compares the findings of one kind: equal ones are set aside, and the others are paired in order.
fn held(a: Vec<ReportedCheck>, mut b: Vec<ReportedCheck>) -> (usize, Vec<CheckChange>) {
    let mut left = Vec::new();
    let mut same = 0;
    for check in a {
        let twin = b
            .iter()
            .position(|o| o.value == check.value && o.status == check.status);
        match twin {
            Some(place) => {
                b.remove(place);
                same += 1;
            }
            None => left.push(check),
        }
    }
    let mut left = left.into_iter();
    let mut right = b.into_iter();
    let mut changes = Vec::new();
    loop {
        match (left.next(), right.next()) {
            (None, None) => return (same, changes),
            (a, b) => changes.push(CheckChange::new(a, b)),
        }
    }
}

pub(crate) fn read(root: Node<'_>) -> Result<Doctor, ReadError> {
    let checks = root.get("checks")?;
    let checks = checks.list(MAX_CHECKS)?;
    Ok(Doctor {
        made: Provenance::read(&root)?,
        root: root.get("root")?.maybe_text()?.map(str::to_owned),
        checks: checks.iter().map(check).collect::<Result<_, _>>()?,
    })
}

fn check(node: &Node<'_>) -> Result<ReportedCheck, ReadError> {
    let text = |key| -> Result<String, ReadError> { Ok(node.get(key)?.text()?.to_owned()) };
    Ok(ReportedCheck {
        id: text("id")?,
        area: text("area")?,
        title: text("title")?,
        value: text("value")?,
        status: text("status")?,
        meaning: text("meaning")?,
        change: node.get("change")?.maybe_text()?.map(str::to_owned),
    })
}
