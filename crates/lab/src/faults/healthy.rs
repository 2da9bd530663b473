//! Conditions that a healthy exchange can meet: named networks, jitter, and each congestion
//! control.

use std::time::Duration;

use roundtrip_model::{Random, Strategy};
use roundtrip_path::PRESETS;

use super::foreign::ForeignKind;

const SHAPES: [&str; 4] = ["uniform", "normal", "exponential", "pareto"];
const WAYS: [&str; 3] = ["", "up:", "down:"];
/// The largest jitter of a healthy path, in milliseconds.
const MAX_JITTER: usize = 20;
const CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];

/// The setting for the server's end.
pub(super) fn congestion_control(random: &mut Random) -> String {
    let control = CONTROLS
        .get(random.below(CONTROLS.len()))
        .unwrap_or(&"reno");
    format!("net.ipv4.tcp_congestion_control={control}")
}

/// Draws a path: a steady one, one with jitter, or a named network. Also returns the findings that
/// are allowed there.
pub(super) fn path(random: &mut Random) -> (Vec<String>, Vec<&'static str>) {
    match random.below(4) {
        0 => (Vec::new(), Vec::new()),
        1 => (vec![jitter(random)], vec!["path-varies"]),
        _ => network(random),
    }
}

/// Draws a body: one in three needs several flights. Also returns the findings that are allowed
/// then.
pub(super) fn body(random: &mut Random) -> Option<(String, [&'static str; 4])> {
    let bytes = [100_000, 200_000, 300_000].get(random.below(9))?;
    let causes = [
        "slow-start",
        "slow-start-after-idle",
        "record-over-window",
        // Linux begins with 64 kB.
        "receive-window",
    ];
    Some((format!("/bytes/{bytes}"), causes))
}

/// Draws a server: one in three is another project's, if that one is installed and can be asked in
/// this way.
pub(super) fn server(strategy: Strategy, random: &mut Random) -> Option<ForeignKind> {
    let draw = random.below(3 * ForeignKind::ALL.len());
    let kind = ForeignKind::ALL.get(draw).copied();
    kind.filter(|kind| kind.is_healthy_over(strategy) && kind.is_installed())
}

/// How long a kept connection is idle: a radio may sleep meanwhile.
pub(super) fn pause(random: &mut Random) -> Duration {
    let waits = [0, 0, 1_500];
    let wait = waits.get(random.below(waits.len()));
    Duration::from_millis(wait.copied().unwrap_or(0))
}

fn jitter(random: &mut Random) -> String {
    let way = WAYS.get(random.below(WAYS.len())).unwrap_or(&"");
    let by = 1 + random.below(MAX_JITTER);
    let shape = SHAPES.get(random.below(SHAPES.len())).unwrap_or(&"uniform");
    format!("jitter={way}{by}ms,{shape}")
}

/// Draws a named network, with a queue so long that no packet is lost, because a loss would be a
/// finding.
fn network(random: &mut Random) -> (Vec<String>, Vec<&'static str>) {
    let Some(preset) = PRESETS.get(random.below(PRESETS.len())) else {
        return (Vec::new(), Vec::new());
    };
    let words = vec![format!("preset={}", preset.name), "queue=10s".into()];
    let mut allowed = Vec::new();
    // On a path with a rate, round trips of more bytes take longer.
    if preset.words.contains("jitter=") || preset.words.contains("rate=") {
        allowed.push("path-varies");
    }
    if preset.words.contains("rate=") {
        allowed.extend(["slow-downlink", "slow-uplink"]);
    }
    (words, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_bodies_are_large() {
        let mut random = Random::seeded(1);
        let large = (0..300).filter_map(|_| body(&mut random)).count();
        assert!((70..130).contains(&large), "{large}");
    }

    #[test]
    fn every_preset_and_shape_is_drawn_and_possible() {
        let mut random = Random::seeded(1);
        let drawn: Vec<String> = (0..1000).flat_map(|_| path(&mut random).0).collect();
        for preset in PRESETS {
            let word = format!("preset={}", preset.name);
            assert!(drawn.contains(&word), "{word}");
        }
        for shape in SHAPES {
            assert!(drawn.iter().any(|word| word.ends_with(shape)), "{shape}");
        }
        for said in drawn {
            let (word, value) = said.split_once('=').unwrap();
            roundtrip_path::Path::builder().set(word, value).unwrap();
        }
    }
}
