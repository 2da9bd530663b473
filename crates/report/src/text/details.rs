//! The additions of `-v`: the response's headers, and every event with its time.

use roundtrip_model::{Event, Exchange};

use crate::numbers::{self, count};
use crate::terminal::{Style, Tone, clean, cut, lossy};

/// Headers and events of one exchange, and the causes that were withdrawn.
pub fn details(exchange: &Exchange, style: &Style) -> String {
    let mut lines = Vec::new();
    if let Some(http) = &exchange.http {
        lines.push(format!(
            "HTTP/{} {} {}",
            http.version,
            http.status,
            clean(&http.reason)
        ));
        lines.extend(
            http.headers
                .iter()
                .map(|(name, value)| format!("{}: {}", clean(name), clean(&lossy(value)))),
        );
        lines.push(String::new());
    }
    lines.extend(
        exchange
            .timeline
            .iter()
            .map(|(at, event)| format!("{:>12.3} ms  {}", at.as_millis(), told(event))),
    );
    lines.extend(exchange.withdrawn.iter().map(|withdrawn| {
        let (id, ms) = (clean(withdrawn.id), numbers::ms(withdrawn.ms));
        format!("withdrawn: {id} ({ms} ms): {}", clean(&withdrawn.why))
    }));
    lines.push(String::new());
    let painted = lines
        .iter()
        .map(|line| style.paint(Tone::Faint, &cut(line, style.columns())));
    painted.map(|line| line + "\n").collect()
}

fn told(event: &Event) -> String {
    match event {
        Event::LookupStarted => "lookup started".into(),
        Event::LookupFinished => "lookup finished".into(),
        Event::AttemptStarted { peer } => format!("attempt started: {peer}"),
        Event::AttemptFailed { peer } => format!("attempt failed: {peer}"),
        Event::Connected {
            peer,
            deferred: true,
        } => format!("fast open to {peer}: the first write will leave in the SYN"),
        Event::Connected {
            peer,
            deferred: false,
        } => format!("connected: {peer}"),
        Event::SynAcked {
            data_sent,
            data_acked,
        } => {
            format!("SYN-ACK acknowledged {data_acked} of {data_sent} bytes")
        }
        Event::TunnelStarted => "tunnel asked for".into(),
        Event::TunnelReady => "tunnel ready".into(),
        Event::HandshakeStarted => "handshake started".into(),
        Event::HandshakeFinished => "handshake finished".into(),
        Event::EarlyDataRefused => "early data refused: sent again".into(),
        Event::RequestStarted => "request started".into(),
        Event::RequestSent => "request sent".into(),
        Event::FirstByte => "first byte of the response".into(),
        Event::Finished => "finished".into(),
        Event::Sent { bytes } => format!("-> {bytes} bytes"),
        Event::Received { bytes } => format!("<- {bytes} bytes"),
        Event::StreamEnded => "<- end of the stream".into(),
        Event::Resent { segments, unacked } => format!(
            "{} again, the last acknowledged after {:.0} ms",
            count(u64::from(*segments), "segment sent", "segments sent"),
            unacked.as_secs_f64() * 1e3
        ),
        Event::Overtaken { segments, late } => format!(
            "{} {:.1} ms before this data",
            count(
                u64::from(*segments),
                "segment had arrived",
                "segments had arrived"
            ),
            late.as_secs_f64() * 1e3
        ),
        Event::Paused {
            segments, bytes, ..
        } => format!(
            "end of a flight of {} with {bytes} bytes",
            count(*segments, "segment", "segments")
        ),
        Event::CutOff => "the data pauses although the sender had more".into(),
        Event::AckDelayed => "the acknowledgement is delayed".into(),
        Event::RecordBegan { bytes } => format!("a TLS record of {bytes} bytes begins"),
        Event::Answered => "head of the final response".into(),
        Event::Acknowledged { after, .. } => format!(
            "acknowledged, {:.1} ms after it had left",
            after.as_secs_f64() * 1e3
        ),
        Event::AckLeftLate => "the server was late with an acknowledgement".into(),
        Event::HeldBack { took } => format!(
            "left the host {:.1} ms after it was written",
            took.as_secs_f64() * 1e3
        ),
        Event::GapOpened { segments, short } => format!(
            "{}{} behind a gap",
            count(u64::from(*segments), "segment", "segments"),
            if *short { ", none of them full," } else { "" }
        ),
        Event::Missed { packets } => format!(
            "{} missing before this data",
            count(*packets, "packet", "packets")
        ),
        Event::Departed { after } => format!(
            "the next bytes left the server {:.1} ms later",
            after.as_secs_f64() * 1e3
        ),
        Event::Starved { took, throttled } => format!(
            "did not run for {:.1} ms: {}",
            took.as_secs_f64() * 1e3,
            if *throttled {
                "the quota was used up"
            } else {
                "other programs used the processors, or it was stopped"
            }
        ),
        Event::WindowClosed { took } => format!(
            "the receive window was closed for {:.1} ms",
            took.as_secs_f64() * 1e3
        ),
        Event::Worked { task, took } => format!(
            "worked {:.3} ms: {}",
            took.as_secs_f64() * 1e3,
            task.title()
        ),
    }
}
