//! The packets of an arm as a ladder: the client's times on the left, the server's on the right,
//! one packet per line.

use std::collections::BTreeSet;
use std::fmt::Write;

use roundtrip_report::terminal::{Style, Tone, clean, width as columns};

use crate::packets::{PacketEnd, TracedPacket};

/// The width of the space between the two columns of times.
const NARROW: usize = 40;
const WIDE: usize = 56;
/// The width of the columns on both sides of that space.
const MARGINS: usize = 24;

pub(super) fn ladder(name: &str, packets: &[TracedPacket], style: Style) -> String {
    let width = style.width.saturating_sub(MARGINS).clamp(NARROW, WIDE);
    let mut out = String::new();
    let (from, to) = ("client", "server");
    let _ = writeln!(out, "  packets of {}, in ms since the first", clean(name));
    let _ = writeln!(out, "  {from:>9} {:width$} {to}", "");
    let mut connections = 1;
    let mut told = BTreeSet::new();
    for packet in packets.iter().filter(|packet| !packet.is_idle()) {
        if packet.connection >= connections {
            connections = packet.connection + 1;
            out.push('\n');
        }
        let _ = writeln!(out, "{}", line(packet, width, style).trim_end());
        // A box's effect on each packet of a connection is shown only once.
        let mut news = packet.path.clone();
        news.retain(|said| told.insert((packet.connection, said.clone())) || packet.is_lost());
        for said in news {
            let tone = if packet.is_lost() {
                Tone::Problem
            } else {
                Tone::Faint
            };
            let _ = writeln!(out, "  {:>9}   {}", "", style.tint(tone, &clean(&said)));
        }
    }
    let idle = packets.iter().filter(|packet| packet.is_idle()).count();
    if idle > 0 {
        let said = format!("left out: {idle} that only acknowledge or close");
        let _ = writeln!(out, "  {:>9}   {}", "", style.tint(Tone::Faint, &said));
    }
    out
}

fn line(packet: &TracedPacket, width: usize, style: Style) -> String {
    let time = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.1}"));
    let (client, server) = match packet.from {
        PacketEnd::Client => (packet.sent_ms, packet.arrived_ms),
        PacketEnd::Server => (packet.arrived_ms, packet.sent_ms),
    };
    let arrow = arrow(packet, width, style.unicode);
    format!("  {:>9} {arrow} {}", time(client), time(server))
}

/// An arrow with its text at the end that sends it. An arrow for a lost packet ends half way.
fn arrow(packet: &TracedPacket, width: usize, unicode: bool) -> String {
    let (dash, head, lost) = match (unicode, packet.from) {
        (true, PacketEnd::Client) => ("─", "▶", "✗"),
        (true, PacketEnd::Server) => ("─", "◀", "✗"),
        (false, PacketEnd::Client) => ("-", ">", "x"),
        (false, PacketEnd::Server) => ("-", "<", "x"),
    };
    let said = clean(&packet.describe());
    // One dash, a blank on either side of the text, and the head.
    let rest = width.saturating_sub(columns(&said) + 4);
    let (shaft, head, blank) = if packet.is_lost() {
        (rest / 2, lost, rest - rest / 2)
    } else {
        (rest, head, 0)
    };
    let (shaft, blank) = (dash.repeat(shaft), " ".repeat(blank));
    match packet.from {
        PacketEnd::Client => format!("{dash} {said} {shaft}{head}{blank}"),
        PacketEnd::Server => format!("{blank}{head}{shaft} {said} {dash}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
