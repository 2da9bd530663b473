//! Follows the registry's link to the registrar, if that is another server. The number of steps is
//! bounded, and there are no cycles. Web pages, servers without TLS, and the registry's credentials
//! are excluded. An answer that a link in clear text led to is marked as one in clear text: anyone
//! on the path of the link could have chosen its server.

use roundtrip_model::{Scheme, Target};

use super::expected::Asked;
use super::{Client, Outcome, Source, SourceError};
use crate::answer::{Answer, Object};
use crate::text::State;

/// The largest number of steps: registry, registrar, reseller. A longer chain does not occur.
const MAX_STEPS: usize = 3;

impl Client {
    /// Keeps the last answer on the way. If the first step fails, the failure is reported beside
    /// the registry's answer.
    pub(super) async fn follow(&self, outcome: &mut Outcome) {
        let Some(registry) = outcome.registry.as_ref() else {
            return;
        };
        let about = registry.answer.as_ref().map(Answer::object);
        if registry.state() != State::Found || !matches!(about, Ok(Object::Domain(_))) {
            return;
        }
        let mut seen = vec![registry.target.url().as_str().to_owned()];
        let mut next = related(registry);
        let mut clear = registry.clear;
        for _ in 0..MAX_STEPS {
            let Some(link) = next else {
                return;
            };
            let target = match judge(&link, &seen) {
                Ok(Some(target)) => target,
                Ok(None) => return,
                Err(trouble) => {
                    outcome.registrar.get_or_insert(Err(trouble));
                    return;
                }
            };
            seen.push(target.url().as_str().to_owned());
            match self.fetch(&target, Asked::DOMAIN).await {
                Ok(mut source) => {
                    clear |= source.clear;
                    source.clear = clear;
                    next = related(&source);
                    let found = source.state() == State::Found;
                    let before = matches!(&outcome.registrar, Some(Ok(_)));
                    if found || !before {
                        outcome.registrar = Some(Ok(source));
                    }
                    if !found {
                        return;
                    }
                }
                Err(trouble) => {
                    outcome.registrar.get_or_insert(Err(trouble));
                    return;
                }
            }
        }
    }
}

fn related(source: &Source) -> Option<String> {
    let answer = source.answer.as_ref().ok()?;
    let base = Some(source.target.url());
    let urls = answer
        .related()
        .into_iter()
        .filter_map(|link| link.url(base));
    // An https URL comes first, so that a URL that may not be used does not hide it.
    let first = urls.min_by_key(|url| url.scheme() != "https")?;
    Some(first.as_str().to_owned())
}

/// Checks a link: returns the URL to follow, or `None` if it has been visited.
fn judge(link: &str, seen: &[String]) -> Result<Option<Target>, SourceError> {
    let refuse = |why: String| SourceError {
        url: link.to_owned(),
        state: State::Failed,
        why,
        untrusted: false,
    };
    let target = Target::parse(link).map_err(|e| refuse(e.to_string()))?;
    if target.scheme != Scheme::Https {
        let why = "the registry's link to the registrar is not https:, and is not followed";
        return Err(refuse(why.into()));
    }
    let url = target.url().as_str();
    Ok((!seen.iter().any(|s| s == url)).then_some(target))
}
