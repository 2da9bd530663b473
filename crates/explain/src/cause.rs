//! The entries of the catalogue.

use crate::{Case, Cost};

/// Causes that belong together: one file, one heading.
#[derive(Debug)]
pub struct CauseFamily {
    pub title: &'static str,
    pub causes: &'static [Cause],
}

/// A cause of a slow exchange.
#[derive(Debug)]
pub struct Cause {
    /// Kebab-case and stable: programs identify a cause by it.
    pub id: &'static str,
    /// What happened, in one line.
    pub name: &'static str,
    /// How it shows in an exchange: the signature in words.
    pub shows: &'static str,
    /// Returns the evidence and the cost if the exchange proves the cause.
    pub signature: fn(&Case<'_>) -> Option<Cost>,
    /// What it usually costs; a finding says what it cost.
    pub cost: &'static str,
    /// What removes it, in one sentence.
    pub remedy: &'static str,
    /// The settings that remove it.
    pub settings: &'static [RemedySetting],
    /// RFC or manual page.
    pub source: &'static str,
}

/// A setting of one piece of software that removes a cause.
#[derive(Debug)]
pub struct RemedySetting {
    pub of: &'static str,
    pub is: &'static str,
}

impl RemedySetting {
    pub(crate) const fn new(of: &'static str, is: &'static str) -> Self {
        Self { of, is }
    }
}

impl Cause {
    /// The remedy and its settings, as one text.
    pub fn advice(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|s| format!("{}: {}", s.of, s.is.trim_end_matches(';')))
            .collect();
        if settings.is_empty() {
            self.remedy.to_owned()
        } else {
            format!("{} ({})", self.remedy, settings.join("; "))
        }
    }
}
