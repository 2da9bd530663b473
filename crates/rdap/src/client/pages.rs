//! The further pages of a search (RFC 8977): as many as requested, from the server of the first
//! page, and without cycles. An interrupted search is reported as incomplete.

use roundtrip_model::Target;

use super::expected::Asked;
use super::fetch::trouble;
use super::{Client, Outcome, Source};
use crate::text::State;

impl Client {
    pub(super) async fn turn_pages(&self, asked: Asked, outcome: &mut Outcome) {
        let Some(first) = &outcome.registry else {
            return;
        };
        let mut seen = vec![first.target.url().as_str().to_owned()];
        let mut next = next_page(first);
        while let Some(target) = next {
            if seen.len() as u64 >= u64::from(self.options.pages) {
                self.memory.note(format!(
                    "{}: there are more results; --pages {} fetches the next page too",
                    outcome.query,
                    seen.len() + 1
                ));
                return;
            }
            let refused = |why: &str| Some(trouble(&target, State::Failed, why.to_owned()));
            let last = outcome.pages.last().or(outcome.registry.as_deref());
            if !last.is_some_and(|last| last.target.same_origin(&target)) {
                outcome.broken_off =
                    refused("the next page would be at another server, which is not asked");
                return;
            }
            let url = target.url().as_str().to_owned();
            if seen.contains(&url) {
                outcome.broken_off = refused("the next page is one that has already been read");
                return;
            }
            seen.push(url);
            let clear = last.is_some_and(|last| last.clear);
            match self.fetch(&target, asked).await {
                Ok(mut page) if page.state() == State::Found => {
                    page.clear |= clear;
                    next = next_page(&page);
                    outcome.pages.push(*page);
                }
                Ok(page) => {
                    let why = page.why().unwrap_or_default();
                    outcome.broken_off = Some(trouble(&target, page.state(), why));
                    return;
                }
                Err(trouble) => {
                    outcome.broken_off = Some(trouble);
                    return;
                }
            }
        }
    }
}

fn next_page(source: &Source) -> Option<Target> {
    let answer = source.answer.as_ref().ok()?;
    let url = answer.next_url(Some(source.target.url()))?;
    Target::parse(url.as_str()).ok()
}
