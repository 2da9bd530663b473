//! A section of the path: middleboxes, then a link. A path is a chain of sections, from the client
//! to the server.

use std::time::Duration;

use crate::course::PlacedHop;
use crate::direction::{Direction, PerWay};
use crate::hop::{
    CorruptionHop, DelayHop, DuplicationHop, Hop, LossHop, MtuHop, OutageHop, RateHop,
};
use crate::link::Link;
use crate::middlebox::Middlebox;
use crate::random;
use roundtrip_model::Random;

#[derive(Clone, Debug, Default)]
pub(crate) struct PathSection {
    /// The middleboxes, on the client's side of the link.
    pub(crate) boxes: Vec<Middlebox>,
    pub(crate) link: PerWay<Link>,
}

/// The values that all hops of a path share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopContext {
    pub(crate) seed: u64,
    pub(crate) start: Duration,
}

/// All stations of a path.
pub(crate) fn stations(
    sections: &[PathSection],
    setting: HopContext,
) -> Result<Vec<PlacedHop>, String> {
    let mut all = Vec::new();
    for (section, place) in sections.iter().zip(0..) {
        for middlebox in &section.boxes {
            let hop = middlebox.make()?;
            all.push(PlacedHop { hop, way: None });
        }
        let hops = |way| {
            let random = random::for_stretch(setting.seed, place, way);
            let one = move |hop| PlacedHop {
                hop,
                way: Some(way),
            };
            hops(section.link.get(way), random, setting.start)
                .into_iter()
                .map(one)
        };
        all.extend(hops(Direction::Up));
        // Packets from the server meet the last hop first.
        all.extend(hops(Direction::Down).rev());
    }
    Ok(all)
}

/// The hops of one direction of a link, in order. A property without effect adds no hop.
fn hops(link: &Link, mut random: Random, start: Duration) -> Vec<Box<dyn Hop>> {
    let mut hops: Vec<Box<dyn Hop>> = Vec::new();
    // Each hop has separate random numbers, independent of the other hops.
    let mut fresh = || Random::seeded(random.next_u64());
    let (mut for_loss, for_twins, for_bits, for_delay) = (fresh(), fresh(), fresh(), fresh());
    if !link.outages.is_empty() {
        hops.push(Box::new(OutageHop::new(link.outages.clone(), start)));
    }
    if let Some(mtu) = link.mtu {
        hops.push(Box::new(MtuHop(mtu)));
    }
    if !link.loss.is_empty() {
        hops.push(Box::new(LossHop::new(&link.loss, &mut for_loss)));
    }
    if link.duplicate > 0.0 {
        hops.push(Box::new(DuplicationHop {
            share: link.duplicate,
            random: for_twins,
        }));
    }
    if let Some(corruption) = link.corrupt {
        hops.push(Box::new(CorruptionHop {
            corruption,
            random: for_bits,
        }));
    }
    if let Some(rate) = &link.rate {
        hops.push(Box::new(RateHop::new(rate, link.queue, start)));
    }
    if !link.delay.is_zero() || link.jitter.is_some() || link.reorder.is_some() {
        let delay = DelayHop::new(link.delay, link.jitter, link.reorder, for_delay);
        hops.push(Box::new(delay));
    }
    hops
}
