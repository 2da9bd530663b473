//! A capture as one page: the ranking and, for each connection, its waterfalls and the ladder of
//! its packets.

use maud::{Markup, html};
use roundtrip_model::Waited;
use roundtrip_report::html::{PageHead, bar_down, exchange, frame, percent, split_bar, swatch};
use roundtrip_report::{Party, clean, count, ms};

use crate::conversation::Conversation;
use crate::counts::CaptureCounts;
use crate::ladder::{Rung, rungs};
use crate::ranking::Ranking;
use crate::text;

const STYLE: &str = include_str!("page.css");
/// The number of connections that are drawn: the slowest.
const MAX_RUNGS: usize = 24;
/// The largest number of rows in a table of the ranking, and rungs in a ladder.
const ROWS: usize = 12;
const RUNGS: usize = 160;
/// The positions of the client's and the server's line in percent, and the height of a rung in
/// pixels.
const CLIENT: f64 = 24.0;
const SERVER: f64 = 96.0;
const RUNG: f64 = 26.0;
/// The height that a round trip of waiting adds, and its maximum.
const TRIP: f64 = 18.0;
const MAX_WAIT: f64 = 90.0;
const SLOPE: f64 = 8.0;

/// Makes the page. `all` are the conversations that are known in detail, of `ranking.exchanges`.
pub fn page(
    file: &str,
    counts: &CaptureCounts,
    ranking: &Ranking,
    all: &[Conversation],
    head: &PageHead,
) -> String {
    let told: Vec<&Conversation> = all.iter().filter(|c| !c.exchanges.is_empty()).collect();
    let mut drawn = told.clone();
    drawn.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    drawn.truncate(MAX_RUNGS);
    drawn.sort_by_key(|conversation| conversation.number);
    let shown: usize = drawn.iter().map(|c| c.exchanges.len()).sum();
    let body = html! {
        @if ranking.exchanges != 1 { (summary(file, counts, ranking)) }
        @if drawn.is_empty() { article { h1 { (clean(file)) } p { "No exchange was found: neither a request nor a failed connection." } } }
        @for (key, conversation) in drawn.iter().enumerate() {
            (connection(conversation, key, drawn.len() == 1))
        }
        @if (shown as u64) < ranking.exchanges {
            p.quiet { (shown) " of " (ranking.exchanges) " exchanges are shown: those of the connections with the slowest. " code { "--ndjson" } " has them all." }
        }
        article {
            h2.first { "How it was read" }
            dl.facts {
                div { dt { "Capture" } dd { (text::head(file, counts, ranking).trim_end()) } }
                (head.entries(""))
            }
        }
    };
    frame(file, STYLE, &body, &head.made_by)
}

fn longest(conversation: &Conversation) -> f64 {
    let all = conversation.exchanges.iter();
    all.map(|e| e.total().as_secs_f64()).fold(0.0, f64::max)
}

fn summary(file: &str, counts: &CaptureCounts, ranking: &Ranking) -> Markup {
    let [network, server, client, resolver, loss, unknown] = ranking.waited;
    let waited = Waited {
        network,
        server,
        client,
        resolver,
        loss,
        unknown,
    };
    html! {
        article {
            header {
                p.kicker { "What many exchanges waited for" }
                h1 { (clean(file)) }
                dl.tiles {
                    div { dt { "Exchanges" } dd { (ranking.exchanges) } }
                    div { dt { "Failed" } dd class=[(ranking.failed > 0).then_some("bad")] { (ranking.failed) } }
                    div { dt { "Connections" } dd { (counts.connections) } }
                    div { dt { "Waited" } dd { (text::span(ranking.total)) } }
                }
            }
            (split_bar(&waited, None, 0))
            (causes(ranking))
            (servers(ranking))
        }
    }
}

/// The table of causes. A narrow screen shows only the first columns without scrolling.
fn causes(ranking: &Ranking) -> Markup {
    let causes = ranking.causes();
    html! {
        @if !causes.is_empty() {
            h2 { "Causes, by total cost" }
            div.scroll { table {
                thead { tr {
                    @for title in ["Cause", "Altogether", "Exchanges", "Share", "Each", "At most", "Connection (frame)"] { th scope="col" { (title) } }
                } }
                tbody { @for cause in causes.iter().take(ROWS) { tr {
                    th scope="row" { (cause.id) }
                    td { (text::span(cause.ms)) }
                    td { (cause.exchanges) }
                    td { (text::share(cause.exchanges, ranking.exchanges)) }
                    td { (text::span(cause.ms / cause.exchanges.max(1) as f64)) }
                    td { (text::span(cause.most)) }
                    td { (text::examples(cause)) }
                } } }
            } }
            @if causes.len() > ROWS { p.quiet { "And " (count((causes.len() - ROWS) as u64, "cause", "causes")) " more." } }
        }
    }
}

fn servers(ranking: &Ranking) -> Markup {
    let servers = ranking.servers();
    html! {
        h2 { "Servers, slowest first" }
        div.scroll { table {
            thead { tr { @for title in ["Server", "p99", "Median", "Exchanges"] { th scope="col" { (title) } } } }
            tbody { @for server in servers.iter().take(ROWS) { tr {
                th scope="row" { (clean(&server.name)) }
                td { (text::span(server.p99)) }
                td { (text::span(server.median)) }
                td { (server.exchanges) }
            } } }
        } }
        @if servers.len() > ROWS { p.quiet { "And " (count((servers.len() - ROWS) as u64, "server", "servers")) " more." } }
    }
}

fn connection(conversation: &Conversation, key: usize, alone: bool) -> Markup {
    let number = conversation.number;
    html! {
        article {
            p.kicker { (clean(&text::seen_from(conversation))) }
            @if let Some(found) = text::found_by_two(conversation) { p.kicker { (found) } }
            @for (n, one) in conversation.exchanges.iter().enumerate() { (exchange(one, key * 1000 + n)) }
            @for unknown in &conversation.undecidable {
                p.quiet { "Not decidable from here: " (unknown.what) "; it needs " (unknown.needs) "." }
            }
            @if !conversation.steps.is_empty() {
                details open[alone] {
                    summary { "The packets of connection " (number) }
                    (ladder(conversation, key))
                }
            }
        }
    }
}

/// Time runs downwards, and the height of each wait is proportional to its round trips, up to a
/// limit.
fn ladder(conversation: &Conversation, key: usize) -> Markup {
    let all = rungs(conversation, false);
    let rtt = conversation
        .vantage
        .rtt()
        .map(|rtt| rtt.as_secs_f64() * 1e3);
    let unit = rtt.filter(|rtt| *rtt > 0.0).unwrap_or(50.0);
    let shown = all.get(..all.len().min(RUNGS)).unwrap_or_default();
    let mut top = 34.0;
    let mut placed = Vec::new();
    for rung in shown {
        let wait = (rung.gap / unit * TRIP).min(MAX_WAIT);
        placed.push((rung, top, wait));
        top += RUNG + wait;
    }
    let height = top + 6.0;
    let arrow = format!("arrow{key}");
    let (client, server) = (percent(CLIENT, 100.0), percent(SERVER, 100.0));
    html! {
        figure.ladder {
            (legend(shown))
            svg width="100%" height=(height.round()) role="img" aria-label={ "The packets of connection " (conversation.number) ", from top to bottom" } {
                defs { marker id=(arrow) viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" { path d="M0 0L8 4L0 8z" {} } }
                text.end x=(client) y="14" { "client" }
                text.end x=(server) y="14" { "server" }
                line.life x1=(client) x2=(client) y1="20" y2=(height.round()) {}
                line.life x1=(server) x2=(server) y1="20" y2=(height.round()) {}
                @for (rung, top, wait) in &placed { (drawn(rung, *top, *wait, rtt, &arrow)) }
            }
            @if shown.len() < all.len() { p.quiet { "And " (all.len() - shown.len()) " more; " code { "--flow" } " with " code { "-v" } " shows each packet." } }
        }
    }
}

fn drawn(rung: &Rung<'_>, top: f64, wait: f64, rtt: Option<f64>, arrow: &str) -> Markup {
    let y = top + wait + RUNG - 10.0;
    let (from, to) = if rung.is_from_client() {
        (CLIENT, SERVER)
    } else {
        (SERVER, CLIENT)
    };
    // Above the middle of the slope.
    let above = if rung.is_from_client() {
        y - 2.0
    } else {
        y - 10.0
    };
    let (y1, y2) = if rung.is_from_client() {
        (y, y + SLOPE)
    } else {
        (y - SLOPE, y)
    };
    let in_trips = rtt.filter(|rtt| *rtt > 0.0 && rung.gap >= 0.25 * rtt);
    let (first, last) = rung.frames();
    html! {
        @if rung.gap >= 0.05 {
            (bar_down(&percent(CLIENT - 2.0, 100.0), top + 4.0, wait + RUNG - 12.0, &rung.waited))
            text.gap x=(percent(CLIENT - 4.0, 100.0)) y=(y.round()) {
                "+" (ms(rung.gap))
                @if let Some(rtt) = in_trips { tspan.trips { " " (format!("{:.1}", rung.gap / rtt)) " R" } }
            }
        }
        line.packet.again[rung.again() || rung.lost()] x1=(percent(from, 100.0)) x2=(percent(to, 100.0)) y1=(y1.round()) y2=(y2.round()) marker-end={ "url(#" (arrow) ")" } {
            title { (format!("{:.3} ms: ", rung.at)) (rung.text()) ", frame " (first) @if last != first { " to " (last) } }
        }
        text.what x=(percent(f64::midpoint(CLIENT, SERVER), 100.0)) y=(above.round()) {
            (rung.text()) @if rung.lost() { tspan.again { " lost" } } @else if rung.again() { tspan.again { " again" } }
            tspan.frame { " #" (first) }
        }
    }
}

fn legend(shown: &[Rung<'_>]) -> Markup {
    let costs = |party: &&Party| shown.iter().any(|rung| party.share(&rung.waited) >= 0.05);
    html! {
        ul.legend {
            @for party in Party::BY_WEIGHT.iter().filter(costs) { li { (swatch(*party)) (party.name()) } }
            li.quiet { "milliseconds; R is a round trip" }
        }
    }
}
