//! Many exchanges at once: which causes cost most in total, and which servers are slow.

use std::collections::BTreeMap;

use roundtrip_model::Exchange;
use roundtrip_report::Party;

use crate::conversation::Conversation;
use crate::spread::Spread;

/// The number of examples that are kept of each cause.
const EXAMPLES: usize = 3;
/// The number of servers whose times are kept.
const MAX_SERVERS: usize = 10_000;

/// The exchanges of a capture, summed.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    pub exchanges: u64,
    pub failed: u64,
    /// The total in milliseconds over all exchanges.
    pub total: f64,
    /// The waits by party in milliseconds, in the order of [`Party::BY_WEIGHT`].
    pub waited: [f64; 6],
    pub unexplained: f64,
    causes: BTreeMap<&'static str, CauseTotal>,
    servers: BTreeMap<String, Spread>,
    /// Exchanges with servers beyond the limit.
    pub of_other_servers: u64,
}

/// The total cost of one cause.
#[derive(Debug, Clone, Default)]
pub struct CauseTotal {
    pub id: &'static str,
    pub exchanges: u64,
    /// The cost in milliseconds.
    pub ms: f64,
    pub most: f64,
    pub round_trips: u64,
    /// The connections in which the cause cost most: cost in milliseconds, number, first frame.
    pub examples: Vec<(f64, u64, u64)>,
}

/// How long the exchanges with one server took.
#[derive(Debug, Clone)]
pub struct ServerTotal {
    pub name: String,
    pub exchanges: usize,
    /// The median in milliseconds.
    pub median: f64,
    pub p99: f64,
}

impl Ranking {
    pub fn add(&mut self, conversation: &Conversation) {
        for exchange in &conversation.exchanges {
            let (frame, _) = conversation.frames;
            self.add_exchange(exchange, Some((conversation.number, frame)));
        }
    }

    /// Adds one exchange. `example` says where it can be found: its connection and first frame.
    pub fn add_exchange(&mut self, exchange: &Exchange, example: Option<(u64, u64)>) {
        let total = exchange.total().as_secs_f64() * 1e3;
        self.exchanges += 1;
        self.failed += u64::from(!exchange.ok());
        self.total += total;
        self.unexplained += exchange.unexplained_worth_reporting().unwrap_or(0.0);
        for phase in exchange.phases() {
            for (sum, party) in self.waited.iter_mut().zip(Party::BY_WEIGHT) {
                *sum += party.share(&phase.waited);
            }
        }
        for finding in &exchange.findings {
            let cause = self.causes.entry(finding.id).or_default();
            cause.id = finding.id;
            cause.exchanges += 1;
            cause.ms += finding.ms;
            cause.most = cause.most.max(finding.ms);
            cause.round_trips += u64::from(finding.round_trips);
            let example = example.map(|(number, frame)| (finding.ms, number, frame));
            cause.examples.extend(example);
            cause.examples.sort_by(|a, b| b.0.total_cmp(&a.0));
            cause.examples.truncate(EXAMPLES);
        }
        let server = origin(&exchange.url);
        if let Some(times) = self.servers.get_mut(server) {
            times.push(total);
        } else if self.servers.len() < MAX_SERVERS {
            let times = self.servers.entry(server.to_owned()).or_default();
            times.push(total);
        } else {
            self.of_other_servers += 1;
        }
    }

    /// The causes, most costly first.
    pub fn causes(&self) -> Vec<&CauseTotal> {
        let mut causes: Vec<&CauseTotal> = self.causes.values().collect();
        causes.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        causes
    }

    /// The servers, slowest first.
    pub fn servers(&self) -> Vec<ServerTotal> {
        let mut servers: Vec<ServerTotal> = self
            .servers
            .iter()
            .map(|(name, times)| ServerTotal {
                name: name.clone(),
                exchanges: times.count(),
                median: times.at(0.5),
                p99: times.at(0.99),
            })
            .collect();
        servers.sort_by(|a, b| b.p99.total_cmp(&a.p99));
        servers
    }
}

/// Scheme, host and port.
fn origin(url: &str) -> &str {
    let after = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(after..).and_then(|rest| rest.find('/'));
    let end = end.map_or(url.len(), |end| after + end);
    url.get(..end).unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_precedes_the_path() {
        for (url, expected) in [
            ("https://a.example/b/c", "https://a.example"),
            ("tcp://10.0.0.1:6379", "tcp://10.0.0.1:6379"),
            ("a.example:443", "a.example:443"),
        ] {
            assert_eq!(origin(url), expected);
        }
    }
}
