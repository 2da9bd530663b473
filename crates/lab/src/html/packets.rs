//! The packets of a recorded run as a ladder: time runs down, the client is on the left and the
//! server on the right; each packet is a line from one to the other, or ends half way if it is
//! lost.

use maud::{Markup, html};
use roundtrip_report::{clean, count, ms};

use crate::LabOutcome;
use crate::outcome::ArmOutcome;
use crate::packets::{PacketEnd, TracedPacket};

/// The horizontal positions of the two ends, in percent.
const CLIENT: &str = "11%";
const SERVER: &str = "89%";
const MIDDLE: &str = "50%";
/// The height from one departing packet to the next: room for a line of text.
const ROW: f64 = 21.0;
/// The height of each millisecond, so that a longer time is drawn further down; long silences are
/// cut short.
const EACH_MS: f64 = 0.12;
const MAX_DEPTH: f64 = 46.0;
const HEAD: f64 = 40.0;
/// The number of ladders that are open at first; the others can be unfolded.
const OPEN: usize = 2;

pub(super) fn section(outcome: &LabOutcome, key: usize) -> Markup {
    let told = outcome.arms.iter().filter(|arm| !arm.packets.is_empty());
    let told: Vec<&ArmOutcome> = told.collect();
    html! {
        @if !told.is_empty() {
            h2 { "Packets" }
            p.legend-note {
                "One further run, recorded at both ends of the path. Time runs down, in ms since the first packet; long silences are cut short. Packets that only acknowledge or close are left out."
            }
            @for (place, arm) in told.iter().enumerate() {
                details.figure open[place < OPEN] {
                    summary { (clean(&arm.name)) @for news in remarks(arm) { span.quiet { " · " (clean(&news)) } } }
                    figure { div.scroll { (ladder(arm, &format!("{key}-{place}"))) } }
                }
            }
        }
    }
}

/// The effects of the path, each one once and without details.
fn remarks(arm: &ArmOutcome) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for said in arm.packets.iter().flat_map(|packet| &packet.path) {
        let particular = said.contains(char::is_numeric);
        if !particular && !told.contains(said) {
            told.push(said.clone());
        }
    }
    told
}

fn ladder(arm: &ArmOutcome, key: &str) -> Markup {
    let shown: Vec<&TracedPacket> = arm.packets.iter().filter(|p| !p.is_idle()).collect();
    let clock = LadderClock::from_packets(&shown);
    let height = clock.last() + 16.0;
    let (title, words) = (format!("packets-{key}-t"), format!("packets-{key}-d"));
    html! {
        svg.ladder width="100%" height=(height) role="img" aria-labelledby={ (title) " " (words) } {
            title id=(title) { "The packets of " (clean(&arm.name)) }
            desc id=(words) { (description(&shown)) }
            @for (x, name) in [(CLIENT, "client"), (SERVER, "server")] {
                text.label x=(x) y="12" { (name) }
                line.life x1=(x) x2=(x) y1="20" y2=(height) {}
            }
            @for packet in shown { (drawn(packet, &clock)) }
        }
    }
}

fn drawn(packet: &TracedPacket, clock: &LadderClock) -> Markup {
    let (from, to, dx, class) = match packet.from {
        PacketEnd::Client => (CLIENT, SERVER, 8, "right"),
        PacketEnd::Server => (SERVER, CLIENT, -8, "left"),
    };
    let sent = packet.sent_ms.map(|at| clock.at(at));
    let arrived = packet.arrived_ms.map(|at| clock.at(at));
    let top = sent.or(arrived).unwrap_or(HEAD);
    let bottom = arrived.unwrap_or(top + ROW / 2.0);
    // Packets that the path itself made begin half way, and lost ones end half way.
    let begin = if sent.is_some() { from } else { MIDDLE };
    let end = if arrived.is_some() { to } else { MIDDLE };
    let top = if sent.is_some() {
        top
    } else {
        bottom - ROW / 2.0
    };
    html! {
        g.lost[packet.is_lost()] {
            title { (clean(&told(packet))) }
            line x1=(begin) y1=(top) x2=(end) y2=(bottom) {}
            @if packet.is_lost() { text.cross x=(MIDDLE) y=(bottom + 5.0) { "✗" } }
            @else { circle cx=(end) cy=(bottom) r="3" {} }
            text class=(class) x=(begin) dx=(dx) y=(top - 4.0) { (clean(&packet.describe())) }
            @if let Some(sent) = packet.sent_ms { (time(sent, packet.from, top)) }
            @if let Some(arrived) = packet.arrived_ms { (time(arrived, packet.from.other(), bottom)) }
        }
    }
}

/// A time, outside the two lifelines.
fn time(at: f64, end: PacketEnd, y: f64) -> Markup {
    let (x, dx, class) = match end {
        PacketEnd::Client => (CLIENT, -8, "time left"),
        PacketEnd::Server => (SERVER, 8, "time right"),
    };
    html! { text class=(class) x=(x) dx=(dx) y=(y + 4.0) { (format!("{at:.1}")) } }
}

/// The depth of each time.
struct LadderClock(Vec<(f64, f64)>);

impl LadderClock {
    fn from_packets(packets: &[&TracedPacket]) -> Self {
        let departures = packets.iter().filter_map(|p| p.sent_ms.or(p.arrived_ms));
        let arrivals = packets.iter().filter_map(|p| p.arrived_ms);
        let mut times: Vec<(f64, bool)> = departures
            .map(|at| (at, true))
            .chain(arrivals.map(|at| (at, false)))
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut deep = HEAD;
        let mut before = times.first().map_or(0.0, |(at, _)| *at);
        let mut places: Vec<(f64, f64)> = Vec::new();
        for (at, leaves) in times {
            let least = if leaves && !places.is_empty() {
                ROW
            } else {
                0.0
            };
            deep += ((at - before) * EACH_MS).clamp(least, MAX_DEPTH.max(least));
            places.push((at, deep));
            before = at;
        }
        Self(places)
    }

    /// The depth of a time; the last one if several packets share it.
    fn at(&self, time: f64) -> f64 {
        let known = self.0.iter().rev().find(|(at, _)| *at <= time);
        known.map_or(HEAD, |(_, deep)| *deep)
    }

    fn last(&self) -> f64 {
        self.0.last().map_or(HEAD, |(_, deep)| *deep)
    }
}

/// A packet in words, with everything that the path did to it.
fn told(packet: &TracedPacket) -> String {
    let mut words = vec![packet.describe()];
    words.extend(packet.sent_ms.map(|at| format!("sent at {}", ms(at))));
    words.extend(packet.arrived_ms.map(|at| format!("arrived at {}", ms(at))));
    words.extend(packet.path.iter().cloned());
    words.join("; ")
}

fn description(packets: &[&TracedPacket]) -> String {
    let each = packets.iter().map(|packet| {
        let whose = match packet.from {
            PacketEnd::Client => "client",
            PacketEnd::Server => "server",
        };
        format!("{whose}: {}", clean(&told(packet)))
    });
    let each: Vec<String> = each.collect();
    let n = count(packets.len() as u64, "packet", "packets");
    format!("{n}. {}.", each.join(". "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ladder_sample as sample;

    #[test]
    fn later_is_deeper_and_each_departure_has_its_row() {
        let packets = sample();
        let shown: Vec<&TracedPacket> = packets.iter().collect();
        let clock = LadderClock::from_packets(&shown);
        let mut departures: Vec<f64> = packets.iter().filter_map(|p| p.sent_ms).collect();
        departures.sort_by(f64::total_cmp);
        for pair in departures.windows(2) {
            assert!(clock.at(pair[1]) - clock.at(pair[0]) >= ROW, "{pair:?}");
        }
        for (sent, arrived) in packets
            .iter()
            .filter_map(|p| Some((p.sent_ms?, p.arrived_ms?)))
        {
            assert!(clock.at(arrived) >= clock.at(sent));
        }
    }
}
