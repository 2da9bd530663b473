//! What each side has to change, and what is not supported yet.

use roundtrip_report::{clean, ms};

use super::{WrappedText, round_trips};
use crate::advice::Advice;
use crate::outcome::Comparison;

pub(super) fn items(advice: &Advice, page: &mut WrappedText) {
    if let Some(server) = &advice.server {
        page.item("server", server);
    }
    if let Some(client) = &advice.client {
        page.item("client", client);
    }
}

pub(super) fn absent(c: &Comparison, page: &mut WrappedText) {
    if c.absent.is_empty() {
        return;
    }
    page.blank();
    page.strong("Not supported");
    for way in &c.absent {
        let title = clean(&way.way.title());
        let would = way.would_save.filter(|p| p.round_trips >= 0.05);
        let would = would.map_or(String::new(), |p| {
            format!(
                " (would save {} ms, {}, by arithmetic)",
                ms(p.ms),
                round_trips(p.round_trips)
            )
        });
        page.line(&format!("{title}{would}"));
        page.item("seen", &clean(&way.why));
        if !would.is_empty() {
            items(&way.advice, page);
        }
    }
}
