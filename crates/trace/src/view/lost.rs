//! Which of the segments that were seen did not reach the client.

use std::collections::HashSet;

use crate::sight::Side;
use crate::tcp::TcpFlow;
use crate::vantage::{Vantage, VantagePoint};

/// The frames of the server's segments that were seen but did not reach the client: they were sent
/// again before they were acknowledged. Near the client, everything that is seen arrives.
pub(super) fn lost_beyond(flow: &TcpFlow, vantage: &Vantage) -> HashSet<u64> {
    let mut lost = HashSet::new();
    if !matches!(vantage.place, VantagePoint::Server | VantagePoint::Middle) {
        return lost;
    }
    let mut open: Vec<(u64, u64, u64)> = Vec::new();
    for sight in &flow.sights {
        if sight.from == Side::Client {
            if let Some(end) = flow.acknowledged(sight) {
                open.retain(|(_, until, _)| *until > end);
            }
            continue;
        }
        let at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let Some(start) = flow.place(Side::Server, at).filter(|_| sight.length > 0) else {
            continue;
        };
        let end = start + u64::from(sight.length);
        if open.last().is_some_and(|(_, until, _)| start < *until) {
            let covered = open
                .iter()
                .filter(|(from, until, _)| start <= *from && *until <= end);
            lost.extend(covered.map(|(.., frame)| *frame));
            open.retain(|(from, until, _)| !(start <= *from && *until <= end));
        }
        open.push((start, end, sight.frame));
    }
    lost
}
