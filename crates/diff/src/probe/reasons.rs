//! What explains a part: if a count of round trips differs, the facts that differ; if the client's
//! time differs, its tasks. Only facts that both reports state are named.

use super::attribution::{Contribution, ContributionKind};
use super::changes::Values;
use super::figures::{CONNECT, StageDiff};
use super::words;
use super::{Probe, SideFigures, mean};

pub(super) struct Reasons<'a> {
    a: &'a Probe,
    b: &'a Probe,
    figures: (&'a SideFigures, &'a SideFigures),
    values: (&'a Values, &'a Values),
}

impl<'a> Reasons<'a> {
    pub(super) fn new(
        a: &'a Probe,
        b: &'a Probe,
        figures: (&'a SideFigures, &'a SideFigures),
        values: (&'a Values, &'a Values),
    ) -> Self {
        Self {
            a,
            b,
            figures,
            values,
        }
    }

    /// A fact that has one value on each side, and the two differ.
    fn unlike(&self, label: &str) -> Option<(&'a str, &'a str)> {
        let (a, b) = (self.values.0.only(label), self.values.1.only(label));
        let (a, b) = (a?, b?);
        (a != b).then_some((a, b))
    }

    pub(super) fn of_trips(&self, stage: &StageDiff) -> String {
        let redirects = self.redirects();
        let mut reasons: Vec<String> = redirects.into_iter().collect();
        let (ka, kb) = stage.round_trips();
        if !words::same(ka, kb) {
            match stage.name.as_str() {
                "tcp" => reasons.extend(self.connecting()),
                "tls" => {
                    reasons.extend(self.connecting().filter(|_| stage.a.seen != stage.b.seen));
                    reasons.extend(self.shaking_hands());
                }
                "quic" => reasons.extend(self.of_quic()),
                CONNECT => {
                    let (to, from) = if self.b.uses("quic") {
                        ("QUIC", "TCP and TLS")
                    } else {
                        ("TCP and TLS", "QUIC")
                    };
                    reasons.push(format!("{to} instead of {from}"));
                }
                "body" => reasons.extend(
                    self.unlike("body bytes")
                        .map(|(a, b)| format!("{b} bytes instead of {a}")),
                ),
                _ => {}
            }
        }
        reasons.join(", ")
    }

    fn redirects(&self) -> Option<String> {
        let (a, b) = (self.figures.0.hops, self.figures.1.hops);
        (!words::same(a, b)).then(|| {
            let count = |hops: f64| words::number(hops - 1.0);
            format!("redirects: {} instead of {}", count(b), count(a))
        })
    }

    fn connecting(&self) -> Option<String> {
        let kept = self.unlike("connection kept from before");
        let kept = kept.map(|(_, b)| match b {
            "yes" => "B kept its connection from before".to_owned(),
            _ => "A kept its connection from before".to_owned(),
        });
        let fast = self.unlike("fast open saved round trips");
        kept.or(fast.map(|(_, b)| match b {
            "0" => "fast open saved one in A".to_owned(),
            _ => "fast open saved one in B".to_owned(),
        }))
    }

    fn shaking_hands(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some((a, b)) = self.unlike("TLS version") {
            reasons.push(format!("{} instead of {}", version(b), version(a)));
        }
        let sides = |unlike: Option<(&str, &str)>, yes: &str| {
            unlike.map(|(_, b)| if b == yes { "B" } else { "A" })
        };
        if let Some(side) = sides(self.unlike("resumed"), "yes") {
            reasons.push(format!("a session resumed in {side} alone"));
        }
        if let Some(side) = sides(self.unlike("early data"), "accepted") {
            reasons.push(format!("early data accepted in {side} alone"));
        }
        if let Some(side) = sides(self.unlike("HelloRetryRequest"), "yes") {
            reasons.push(format!("a HelloRetryRequest in {side} alone"));
        }
        if reasons.is_empty()
            && let Some((a, b)) = self.unlike("certificate bytes on the wire")
        {
            reasons.push(format!("{b} bytes of certificates instead of {a}"));
        }
        reasons
    }

    fn of_quic(&self) -> Vec<String> {
        let labels = ["QUIC Retry", "QUIC version negotiation", "early data"];
        let told = labels.iter().filter_map(|label| {
            let (a, b) = self.unlike(label)?;
            Some(format!("{label}: {b} instead of {a}"))
        });
        told.collect()
    }

    pub(super) fn of_loss(&self) -> String {
        let labels = ["SYN sent again", "segments sent again"];
        let told = labels.iter().filter_map(|label| {
            let (a, b) = self.unlike(label)?;
            Some(format!("{label}: {a} in A, {b} in B"))
        });
        told.collect::<Vec<String>>().join(", ")
    }

    /// Names in the largest part of the client the task that explains it, if one explains half of
    /// it.
    pub(super) fn name_tasks(&self, parts: &mut [Contribution]) {
        let clients = parts
            .iter_mut()
            .filter(|part| part.kind == ContributionKind::Client);
        let Some(largest) = clients.max_by(|a, b| a.ms.abs().total_cmp(&b.ms.abs())) else {
            return;
        };
        let took = |probe: &Probe, task: &str| {
            let runs = probe.middle();
            let each = runs.iter().map(|run| {
                let mine = run.work.iter().filter(|(name, _)| name == task);
                mine.map(|(_, took)| took).sum::<f64>()
            });
            mean(each)
        };
        let mut tasks: Vec<&str> = Vec::new();
        for (name, _) in [self.a, self.b]
            .iter()
            .flat_map(|p| &p.runs)
            .flat_map(|r| &r.work)
        {
            // A client has a handful of tasks.
            if tasks.len() < 16 && !tasks.contains(&name.as_str()) {
                tasks.push(name);
            }
        }
        let told = tasks
            .iter()
            .map(|task| (*task, took(self.a, task), took(self.b, task)));
        let most = told.max_by(|x, y| (x.2 - x.1).abs().total_cmp(&(y.2 - y.1).abs()));
        if let Some((task, a, b)) = most
            && (b - a) * largest.ms > 0.0
            && (b - a).abs() >= largest.ms.abs() / 2.0
        {
            largest.why = format!(
                "its task '{task}' took {} in A, {} in B",
                words::ms(a),
                words::ms(b)
            );
        }
    }
}

fn version(text: &str) -> String {
    text.strip_prefix("TLSv")
        .map_or_else(|| text.to_owned(), |number| format!("TLS {number}"))
}
