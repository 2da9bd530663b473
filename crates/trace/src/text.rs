//! A capture for a terminal: what was read and where it was seen from, its exchanges, the ranking,
//! and the ladder of one connection.

use std::fmt::Write as _;

use roundtrip_report::terminal::{Cell, Style, Table, Tone, clean, finished, wrap};
use roundtrip_report::{Party, ms, text};

use crate::clocks::ClockRelation;
use crate::conversation::{Conversation, Elsewhere};
use crate::counts::CaptureCounts;
use crate::ladder::{Rung, rungs};
use crate::ranking::{CauseTotal, Ranking};
use crate::vantage::VantagePoint;

/// The indentation in columns.
const INDENT: usize = 2;
/// The largest number of rows of the ranking.
const MAX_ROWS: usize = 12;

/// One line about what was read.
pub fn head(file: &str, counts: &CaptureCounts, ranking: &Ranking) -> String {
    let mut parts = vec![
        plural(counts.frames, "packet"),
        plural(counts.connections, "connection"),
        plural(ranking.exchanges, "exchange"),
    ];
    if let Some(first) = counts.first {
        let span = counts.last.saturating_sub(first) as f64 / 1e9;
        parts.push(format!("{span:.1} s"));
    }
    format!("{}: {}\n", clean(file), parts.join(", "))
}

/// The parts that were not read, one line each.
pub fn caveats(counts: &CaptureCounts, damaged: u64, left_over: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |count: u64, what: &str| {
        if count > 0 {
            lines.push(format!("{count} {what}"));
        }
    };
    say(
        counts.cut,
        "packets were captured in part (a snap length, tcpdump -s): their lengths are known",
    );
    say(
        counts.not_ip,
        "frames contain no IP packet, or a damaged one",
    );
    say(
        counts.fragments,
        "fragments of packets that the capture does not contain completely",
    );
    say(
        counts.one_way,
        "connections were captured in one direction only: what they waited for is not decidable",
    );
    say(
        counts.given_up,
        "connections were reported before their end, to keep within --memory",
    );
    say(
        counts.left_out,
        "requests are not explained: too many were under way at the same time on their connections",
    );
    say(
        counts.misfits,
        "connections could not be decrypted with the keys that are given for them",
    );
    say(
        counts.damaged_keys,
        "lines of the key logs cannot be read and were skipped",
    );
    say(
        counts.forgotten_keys,
        "connections of the key logs were left out, those listed first, to keep within --memory",
    );
    say(damaged, "blocks of the file are damaged and were skipped");
    if left_over > 0 {
        lines.push("the file ends in the middle of a packet".to_owned());
    }
    lines
}

/// The vantage point of a connection.
pub fn vantage(conversation: &Conversation, style: &Style) -> String {
    lines(&seen_from(conversation), style)
}

pub(crate) fn seen_from(conversation: &Conversation) -> String {
    let place = match conversation.vantage.place {
        VantagePoint::Client => "at the client's end",
        VantagePoint::Server => "at the server's end",
        VantagePoint::Middle => "between client and server",
        VantagePoint::Unknown => "from an unknown place; read as the client's end",
    };
    let mut line = format!("connection {}: seen {place}", conversation.number);
    if !conversation.vantage.evidence.is_empty() {
        let _ = write!(line, " ({})", conversation.vantage.evidence.join("; "));
    }
    line
}

/// Further facts from the other capture, if there are two.
pub fn located(conversation: &Conversation, style: &Style) -> String {
    found_by_two(conversation).map_or(String::new(), |line| lines(&line, style))
}

pub(crate) fn found_by_two(conversation: &Conversation) -> Option<String> {
    let located = conversation.located.as_ref()?;
    let side = |who: &str, (sent, lost): &(u64, Vec<u64>)| {
        let frames: Vec<String> = lost.iter().take(MAX_ROWS).map(u64::to_string).collect();
        let more = if lost.len() > MAX_ROWS { ", …" } else { "" };
        let frames = match lost.len() {
            0 => String::new(),
            1 => format!(" (frame {})", frames.join("")),
            _ => format!(" (frames {}{more})", frames.join(", ")),
        };
        format!("{} of the {who}'s {sent}{frames}", lost.len())
    };
    Some(format!(
        "a round trip between the two captures takes {}; lost between them: {}, {}; the server's end took {} to answer",
        span(located.between.as_secs_f64() * 1e3),
        side("client", &located.from_client),
        side("server", &located.from_server),
        span(located.server.as_secs_f64() * 1e3),
    ))
}

/// How the clocks of two captures differ.
pub fn clocks(relation: &ClockRelation, near: &str, far: &str) -> String {
    let (way, ahead) = if relation.ahead < 0.0 {
        ("behind", -relation.ahead)
    } else {
        ("ahead", relation.ahead)
    };
    format!(
        "{near} was recorded nearer to the client; the clock of {far} is {:.3} ms {way} (± {:.3} ms, drift {:.1} ppm, by {} in both)",
        ahead / 1e6,
        relation.between as f64 / 2e6,
        relation.drift * 1e6,
        plural(relation.packets as u64, "packet"),
    )
}

/// What this capture cannot show, and what would be needed to show it.
pub fn undecidable(conversation: &Conversation, style: &Style) -> String {
    let mut out = String::new();
    for unknown in &conversation.undecidable {
        let line = format!(
            "not decidable from here: {}; it needs {}",
            unknown.what, unknown.needs
        );
        out += &lines(&line, style);
    }
    out
}

/// Each exchange of a connection, in full.
pub fn exchanges(conversation: &Conversation, style: &Style) -> String {
    let all = conversation.exchanges.iter();
    all.map(|exchange| text::exchange(exchange, style))
        .collect()
}

/// Causes by their total cost, and servers by their slowest exchanges.
pub fn ranking(ranking: &Ranking, style: &Style) -> String {
    let mut out = String::new();
    let whole = ranking.total.max(f64::MIN_POSITIVE);
    let parties: Vec<String> = Party::BY_WEIGHT
        .iter()
        .zip(ranking.waited)
        .filter(|(_, ms)| *ms / whole >= 0.005)
        .map(|(party, ms)| format!("{} {:.0} %", party.name(), 100.0 * ms / whole))
        .collect();
    let _ = writeln!(
        out,
        "\nAltogether {} of waiting: {}",
        span(ranking.total),
        parties.join(", ")
    );
    let causes = ranking.causes();
    if !causes.is_empty() {
        out += "\nCauses, by total cost\n";
        let mut table = Table::new(INDENT);
        table.line(
            Tone::Faint,
            [
                "cause",
                "exchanges",
                "share",
                "altogether",
                "each",
                "at most",
                "see --flow (frame)",
            ]
            .map(Cell::plain),
        );
        for cause in causes.iter().take(MAX_ROWS) {
            table.row([
                Cell::new(Tone::Strong, cause.id),
                Cell::plain(cause.exchanges.to_string()),
                Cell::plain(share(cause.exchanges, ranking.exchanges)),
                Cell::plain(span(cause.ms)),
                Cell::plain(span(cause.ms / cause.exchanges.max(1) as f64)),
                Cell::plain(span(cause.most)),
                Cell::long(Tone::Plain, examples(cause)),
            ]);
        }
        out += &table.fitted(style);
        if causes.len() > MAX_ROWS {
            let _ = writeln!(
                out,
                "  and {} more; --json has all of them",
                causes.len() - MAX_ROWS
            );
        }
    }
    let servers = ranking.servers();
    if servers.len() > 1 || ranking.exchanges > 1 {
        out += "\nServers, slowest first\n";
        let mut table = Table::new(INDENT);
        table.line(
            Tone::Faint,
            ["server", "exchanges", "median", "p99"].map(Cell::plain),
        );
        for server in servers.iter().take(MAX_ROWS) {
            table.row([
                Cell::plain(&server.name),
                Cell::plain(server.exchanges.to_string()),
                Cell::plain(span(server.median)),
                Cell::plain(span(server.p99)),
            ]);
        }
        out += &table.fitted(style);
        if servers.len() > MAX_ROWS {
            let _ = writeln!(out, "  and {} more", servers.len() - MAX_ROWS);
        }
        if ranking.of_other_servers > 0 {
            let others = plural(ranking.of_other_servers, "exchange");
            let _ = writeln!(out, "  and {others} with further servers");
        }
    }
    out
}

/// The packets of a connection, with the party that each one waited for; packets that came together
/// share a line, unless `each`.
pub fn ladder(conversation: &Conversation, each: bool, style: &Style) -> String {
    let rtt = conversation.vantage.rtt();
    let rtt = rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
    let mut table = Table::new(INDENT);
    let arrows = if style.unicode {
        ("──▶", "◀──")
    } else {
        ("-->", "<--")
    };
    table.line(
        Tone::Faint,
        [
            "at",
            if conversation.located.is_some() {
                "there"
            } else {
                ""
            },
            "after",
            "in R",
            "",
            "",
            "frame",
        ]
        .map(Cell::plain),
    );
    for rung in rungs(conversation, each) {
        let in_trips = rtt.filter(|rtt| *rtt > 0.0 && rung.gap >= 0.25 * rtt);
        let tone = tone(&rung);
        let (side, arrow) = if rung.is_from_client() {
            ("client", arrows.0)
        } else {
            ("server", arrows.1)
        };
        let (words, text) = if rung.lost() {
            (Tone::Problem, format!("{}  lost on the way", rung.text()))
        } else if rung.again() {
            (Tone::Problem, format!("{}  sent again", rung.text()))
        } else {
            (Tone::Plain, rung.text())
        };
        table.row([
            Cell::plain(format!("{:.1}", rung.at)),
            Cell::plain(there(conversation, &rung)),
            Cell::new(tone, format!("+{:.1}", rung.gap)),
            Cell::new(
                tone,
                in_trips.map_or(String::new(), |rtt| format!("{:.2}", rung.gap / rtt)),
            ),
            Cell::plain(side),
            Cell::plain(arrow),
            Cell::plain(rung.frames().0.to_string()),
            Cell::long(words, text),
        ]);
    }
    let shown = conversation.steps.len() as u64;
    let left_out = conversation.packets.saturating_sub(shown);
    let mut out = finished(&[format!(
        "Packets of connection {}, in milliseconds",
        conversation.number
    )]);
    out += &table.whole(style);
    if left_out > 0 {
        let _ = writeln!(out, "  and {left_out} more");
    }
    out
}

/// When the other capture saw the rung.
fn there(conversation: &Conversation, rung: &Rung<'_>) -> String {
    match rung.steps.first().and_then(|step| step.elsewhere) {
        Some(Elsewhere::At { at, .. }) => {
            let ms = (at as f64 - conversation.began as f64) / 1e6;
            format!("{ms:.1}")
        }
        Some(Elsewhere::Never) => "never".to_owned(),
        None => String::new(),
    }
}

/// The colour of the party that a gap waited for most.
fn tone(rung: &Rung<'_>) -> Tone {
    let shares = Party::BY_WEIGHT.map(|party| (party, party.share(&rung.waited)));
    let most = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match most {
        Some((party, _)) if rung.gap >= 1.0 => Tone::Of(party),
        _ => Tone::Faint,
    }
}

/// The share in percent.
pub(crate) fn share(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Where examples of a cause can be found: connections, with their first frames.
pub(crate) fn examples(cause: &CauseTotal) -> String {
    let all = cause.examples.iter();
    let words: Vec<String> = all
        .map(|(_, number, frame)| format!("{number} ({frame})"))
        .collect();
    words.join(", ")
}

pub(crate) fn span(milliseconds: f64) -> String {
    if milliseconds >= 10_000.0 {
        format!("{:.1} s", milliseconds / 1e3)
    } else {
        format!("{} ms", ms(milliseconds))
    }
}

fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn lines(text: &str, style: &Style) -> String {
    let lines = wrap(&clean(text), style.width.saturating_sub(INDENT));
    lines
        .iter()
        .enumerate()
        .map(|(n, line)| format!("{}{line}\n", if n == 0 { "" } else { "  " }))
        .collect()
}
