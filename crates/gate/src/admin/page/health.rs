//! The servers of each upstream and the session store, with their state; and the statuses of the
//! answers.

use std::time::{SystemTime, UNIX_EPOCH};

use maud::{Markup, html};

use super::figures::{grouped, percent, rate, span};
use crate::admin::dependencies::{StoreView, UpstreamView};
use crate::admin::state::AdminView;
use crate::forward::upstream::{ServerState, ServerView};
use crate::judge::acme::CertificateView;
use crate::record::{LabelValue, StatusClass};

/// If an upstream has more servers, not all are listed; servers that are down come first.
const MAX_SERVERS: usize = 16;

pub(super) fn section(view: &AdminView<'_>) -> Markup {
    html! {
        div.grid.wide {
            article.servers {
                h2.first { "Backends" }
                div.scroll {
                    table {
                        thead { tr { th { "server" } th { "state" } th { "answered" } th { "failed" } } }
                        @for upstream in &view.dependencies.upstreams { (group(upstream)) }
                    }
                }
            }
            div {
                (statuses(view))
                (store(view.dependencies.store))
                (certificates(view))
            }
        }
    }
}

/// The names whose certificates come from a CA; those with a problem come first.
fn certificates(view: &AdminView<'_>) -> Markup {
    let mut known: Vec<&CertificateView> = view.dependencies.certificates.iter().collect();
    known.sort_by_key(|known| known.error.is_empty() && known.ends.is_some());
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let left = |at: i64| u64::try_from(at).unwrap_or(0).saturating_sub(now.as_secs());
    html! {
        @if !known.is_empty() {
            article.certificates {
                h2.first { "Certificates" }
                div.scroll {
                    table {
                        thead { tr { th { "name" } th { "expires in" } th { "next order in" } th { "state" } } }
                        tbody {
                            @for known in known.iter().take(MAX_SERVERS) {
                                tr {
                                    td { (known.name) }
                                    td { @match known.ends { Some(ends) => (span(left(ends))), None => "–" } }
                                    td { (span(left(known.next))) }
                                    td.state {
                                        @if !known.error.is_empty() { span.dot.bad { (known.error) } }
                                        @else if known.ends.is_some() { span.dot.good { "valid" } }
                                        @else { span.quiet { "ordered soon" } }
                                    }
                                }
                            }
                            @if known.len() > MAX_SERVERS { tr { td.quiet colspan="4" { "and " (known.len() - MAX_SERVERS) " more" } } }
                        }
                    }
                }
            }
        }
    }
}

fn group(upstream: &UpstreamView) -> Markup {
    let mut servers: Vec<&ServerView> = upstream.servers.iter().collect();
    servers.sort_by_key(|server| server.state == ServerState::Up);
    let (all, up) = (servers.len(), upstream.up());
    html! {
        tbody {
            tr.group {
                th colspan="4" scope="rowgroup" {
                    (upstream.name) " "
                    span class=(if up == all { "quiet" } else { "bad" }) { (up) " of " (all) " up" }
                }
            }
            @for server in servers.iter().take(MAX_SERVERS) {
                tr {
                    td { (server.address) }
                    td.state {
                        @match server.state.why() {
                            None => span.dot.good { "up" },
                            Some(why) => span.dot.bad { (why) },
                        }
                    }
                    td { (grouped(server.answered)) }
                    td class=[(server.failed > 0).then_some("some")] { (grouped(server.failed)) }
                }
            }
            @if all > MAX_SERVERS { tr { td.quiet colspan="4" { "and " (all - MAX_SERVERS) " more" } } }
        }
    }
}

/// The statuses of answers in the last minute, and since the start.
fn statuses(view: &AdminView<'_>) -> Markup {
    let minute = view.history.minute();
    let whole = view.snapshot.classes();
    let all: u64 = minute.classes.iter().sum();
    let rows = StatusClass::ALL.iter().zip(minute.classes).zip(whole);
    html! {
        article.statuses {
            h2.first { "Status codes" }
            div.scroll {
                table {
                    thead { tr { th { "status" } th { "last minute" } th { "" } th { "since start" } } }
                    tbody {
                        @for ((class, lately), ever) in rows {
                            @if ever > 0 {
                                tr {
                                    td { (title(*class)) }
                                    td { (rate(minute.rate(lately))) " /s" }
                                    td.quiet { @if all > 0 { (percent(lately as f64 / all as f64)) } }
                                    td { (grouped(ever)) }
                                }
                            }
                        }
                    }
                }
            }
            @if whole.iter().all(|count| *count == 0) { p.quiet { "no requests so far" } }
        }
    }
}

fn title(class: StatusClass) -> &'static str {
    match class {
        StatusClass::None => "no answer",
        other => other.as_str(),
    }
}

fn store(store: StoreView) -> Markup {
    html! {
        article.store {
            h2.first { "Session store" }
            p {
                @match store {
                    StoreView::NotNeeded => span.quiet { "not used: no route needs a session" },
                    StoreView::Up => span.dot.good { "up" },
                    StoreView::Down { since, hopeless } => {
                        span.dot.bad { "down for " (span(since.as_secs())) }
                        span.quiet { @if hopeless { " · beyond session.grace" } @else { " · known sessions stay valid" } }
                    },
                }
            }
        }
    }
}
