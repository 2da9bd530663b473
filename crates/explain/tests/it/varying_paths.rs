//! How often causes are named over paths whose delay varies: in healthy exchanges hardly ever, and
//! where the server is slow as often as the path allows.

use std::collections::BTreeMap;

use roundtrip_explain::findings;
use roundtrip_model::Random;

use crate::world::{Jitter, Opening, Scene, Security, Shape};

/// Round trips in milliseconds.
const ROUND_TRIPS: [f64; 5] = [0.5, 2.0, 20.0, 70.0, 150.0];
/// The largest variation, in milliseconds.
const MAX_JITTER: f64 = 20.0;
const SMALL_BODIES: [u64; 6] = [0, 10, 1_000, 5_000, 9_000, 12_000];
const LARGE_BODIES: [u64; 3] = [100_000, 200_000, 300_000];
/// What is true of the path, and of a large body on a new connection.
pub(crate) const ALLOWED: [&str; 4] = [
    "path-varies",
    "slow-start",
    "slow-start-after-idle",
    "record-over-window",
];

fn one_of<T: Copy>(all: &[T], random: &mut Random) -> T {
    all[random.below(all.len())]
}

/// An exchange over a path with jitter of any shape, in one direction or in both.
pub(crate) fn draw(random: &mut Random) -> Scene {
    let (up, down) = one_of(&[(true, true), (true, false), (false, true)], random);
    let by = 1.0 + (MAX_JITTER - 1.0) * random.unit();
    let jitter = Jitter {
        by,
        shape: one_of(&Shape::ALL, random),
        up,
        down,
    };
    let openings = [
        Opening::New,
        Opening::New,
        Opening::Kept(0),
        Opening::Kept(1_500),
        Opening::FastOpen,
    ];
    let opening = one_of(&openings, random);
    let securities = [Security::Clear, Security::Full, Security::Resumed];
    let security = match opening {
        Opening::FastOpen => Security::Clear,
        _ => one_of(&securities, random),
    };
    let is_large = random.below(3) == 0;
    Scene {
        jitter: Some(jitter),
        opening,
        security,
        body: if is_large {
            one_of(&LARGE_BODIES, random)
        } else {
            one_of(&SMALL_BODIES, random)
        },
        timing: random.below(3) > 0,
        ..Scene::over(one_of(&ROUND_TRIPS, random))
    }
}

/// How often each cause was found in `count` exchanges, apart from the allowed ones.
fn found(count: u64, seed: u64, change: impl Fn(&mut Scene)) -> BTreeMap<&'static str, u64> {
    let mut random = Random::seeded(seed);
    let mut found = BTreeMap::new();
    for number in 0..count {
        let mut scene = draw(&mut random);
        change(&mut scene);
        let exchange = scene.run((seed << 32) | number);
        for finding in findings(&exchange) {
            if !ALLOWED.contains(&finding.id) {
                *found.entry(finding.id).or_insert(0) += 1;
            }
        }
    }
    found
}

#[test]
fn healthy_exchanges_accuse_nobody() {
    let count = 5_000;
    let alarms = found(count, 1, |_| {});
    let all: u64 = alarms.values().sum();
    assert!(500 * all <= count, "{alarms:?} of {count}");
}

/// Without variation, there is nothing but what the body's size explains.
#[test]
fn healthy_exchanges_over_steady_paths_are_silent() {
    let alarms = found(500, 2, |scene| scene.jitter = None);
    assert!(alarms.is_empty(), "{alarms:?}");
}

/// A server that thinks for longer than such a path varies. Without a witness, the answer is only
/// late.
#[test]
fn a_server_that_thinks_is_named() {
    let count = 300;
    let named = found(count, 3, |scene| {
        scene.think = 600.0;
        scene.timing = false;
    });
    let thought = named.get("server-think-time").copied().unwrap_or(0);
    let late = named.get("late-answer").copied().unwrap_or(0);
    assert!(3 * thought >= 2 * count, "{named:?} of {count}");
    assert!(20 * (thought + late) >= 19 * count, "{named:?} of {count}");
}

#[test]
fn a_server_that_pauses_in_a_body_is_named() {
    let count = 300;
    let named = found(count, 4, |scene| {
        scene.stalls = (4, 300.0);
        scene.body = 60_000;
    });
    let paused = named.get("body-stalls").copied().unwrap_or(0);
    assert!(4 * paused >= 3 * count, "{named:?} of {count}");
}
