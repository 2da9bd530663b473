//! The limits of each server: the default, those that servers have published, and the user's rules.

use std::time::Duration;

use super::bucket::Limit;
use crate::memory::Authority;

/// Queries per second, for each origin without a known limit.
const DEFAULT_RATE: f64 = 10.0;
/// A longer pause is reported instead of waited for.
const TIMEOUT: Duration = Duration::from_mins(2);
/// The number of times that one query is repeated after complaints.
const ASKED_AGAIN: u32 = 4;

/// The limits that the owner of a server has published.
#[derive(Debug, Clone, Copy)]
pub struct PublishedLimits {
    pub host: &'static str,
    /// Requests per minute; `None` for the default.
    pub a_minute: Option<f64>,
    /// The number of personal data sets in 24 hours.
    pub personal: Option<u16>,
    /// The number of connections at the same time.
    pub connections: Option<u8>,
}

#[derive(Debug, Clone)]
pub struct Rules {
    published: &'static [PublishedLimits],
    /// The limit of origins without a known limit; `None` for no limit.
    default: Option<Limit>,
    /// Whether all limits are off, even those of origins with a known limit.
    all_off: bool,
    /// The user's rules; the last match counts.
    own: Vec<(Host, Option<Limit>)>,
    /// A longer pause is reported instead of waited for.
    pub patience: Duration,
    /// The number of times that one query is repeated after complaints.
    pub asked_again: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    /// The port, or `None` for every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    #[error(
        "'{given}' is not a rate: {why}\nwrite it as 10/s, 10/min, 600/h, 5000/day or off, for one server as HOST=10/min"
    )]
    Rate { given: String, why: &'static str },
    #[error("'{given}' has no server before '='\nwrite it as HOST=10/min or HOST:PORT=10/min")]
    Host { given: String },
}

impl Rules {
    pub fn new(published: &'static [PublishedLimits]) -> Self {
        Self {
            published,
            default: Some(Limit::new(DEFAULT_RATE, Duration::from_secs(1))),
            all_off: false,
            own: Vec::new(),
            patience: TIMEOUT,
            asked_again: ASKED_AGAIN,
        }
    }

    /// Adds a rule of the user: `10/min`, `off`, `HOST=10/min`, `HOST:PORT=off`. Later rules
    /// override earlier ones.
    pub fn add(&mut self, given: &str) -> Result<(), RateError> {
        let wrong = |why| RateError::Rate {
            given: given.to_owned(),
            why,
        };
        match given.rsplit_once('=') {
            None => {
                self.default = read_rate(given).map_err(wrong)?;
                self.all_off = self.default.is_none();
            }
            Some((host, rate)) => {
                let host = read_host(host).ok_or_else(|| RateError::Host {
                    given: given.to_owned(),
                })?;
                self.own.push((host, read_rate(rate).map_err(wrong)?));
            }
        }
        Ok(())
    }

    /// The limit of an origin; `None` if it has none.
    pub fn limit(&self, origin: &Authority) -> Option<Limit> {
        let is_it = |host: &Host| {
            host.name == origin.host() && host.port.is_none_or(|port| port == origin.port())
        };
        if let Some((_, limit)) = self.own.iter().rev().find(|(host, _)| is_it(host)) {
            return *limit;
        }
        if self.all_off {
            return None;
        }
        let published = self.published(origin).and_then(|limits| limits.a_minute);
        published.map_or(self.default, |count| {
            Some(Limit::new(count, Duration::from_mins(1)))
        })
    }

    /// The number of personal data sets that an origin gives out in 24 hours, if it has published
    /// that.
    pub fn personal(&self, origin: &Authority) -> Option<u16> {
        self.published(origin)?.personal
    }

    /// The largest number of connections that an origin allows, if it has published that.
    pub fn connections(&self, origin: &Authority) -> Option<u8> {
        self.published(origin)?.connections
    }

    fn published(&self, origin: &Authority) -> Option<&'static PublishedLimits> {
        let mut all = self.published.iter();
        all.find(|limits| limits.host == origin.host())
    }
}

fn read_host(text: &str) -> Option<Host> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']')?;
            (
                name,
                rest.strip_prefix(':').or(rest.is_empty().then_some(""))?,
            )
        }
        // More than one colon is an IPv6 address without brackets.
        None if text.matches(':').count() == 1 => text.split_once(':')?,
        None => (text, ""),
    };
    let port = match port {
        "" if text.ends_with(':') => return None,
        "" => None,
        port => Some(port.parse().ok()?),
    };
    let name = Authority::new(name, 0).host().to_owned();
    (!name.is_empty() && !name.contains(['/', ' '])).then_some(Host { name, port })
}

fn read_rate(text: &str) -> Result<Option<Limit>, &'static str> {
    if text == "off" {
        return Ok(None);
    }
    let (count, span) = text.split_once('/').ok_or("it has no '/'")?;
    let seconds = match span {
        "s" | "sec" | "second" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 60 * 60,
        "d" | "day" => 24 * 60 * 60,
        _ => return Err("the unit after '/' must be s, min, h or day"),
    };
    let is_plain = count
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let count: f64 = count.parse().map_err(|_| "there is no number before '/'")?;
    if !is_plain || count <= 0.0 || count > 1e6 {
        return Err("the number must be above 0 and at most 1000000");
    }
    Ok(Some(Limit::new(count, Duration::from_secs(seconds))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: [PublishedLimits; 2] = [
        PublishedLimits {
            host: "quota.example",
            a_minute: None,
            personal: Some(1000),
            connections: Some(3),
        },
        PublishedLimits {
            host: "slow.example",
            a_minute: Some(10.0),
            personal: None,
            connections: None,
        },
    ];

    fn limit(rules: &Rules, host: &str, port: u16) -> Option<(f64, u64)> {
        let limit = rules.limit(&Authority::new(host, port))?;
        Some((limit.a_second(), limit.burst()))
    }

    #[test]
    fn by_default_the_published_limits_apply() {
        let rules = Rules::new(&PUBLISHED);
        assert_eq!(limit(&rules, "other.example", 443), Some((10.0, 20)));
        let (rate, burst) = limit(&rules, "SLOW.example", 443).unwrap();
        assert!((rate * 60.0 - 10.0).abs() < 0.001 && burst == 1);
        let quota = Authority::new("quota.example", 443);
        assert_eq!(rules.limit(&quota).unwrap().burst(), 20);
        assert_eq!(rules.personal(&quota), Some(1000));
        assert_eq!(rules.connections(&quota), Some(3));
        assert_eq!(rules.personal(&Authority::new("other.example", 443)), None);
    }

    #[test]
    fn the_users_rules_take_precedence() {
        let mut rules = Rules::new(&PUBLISHED);
        for word in [
            "5/s",
            "a.example=60/min",
            "b.example:8080=off",
            "[2001:db8::1]:8=600/h",
        ] {
            rules.add(word).unwrap();
        }
        assert_eq!(limit(&rules, "other.example", 1), Some((5.0, 10)));
        assert_eq!(limit(&rules, "a.example", 8443), Some((1.0, 2)));
        assert_eq!(limit(&rules, "b.example", 8080), None);
        assert_eq!(limit(&rules, "b.example", 80), Some((5.0, 10)));
        let (rate, burst) = limit(&rules, "2001:db8::1", 8).unwrap();
        assert!((rate - 1.0 / 6.0).abs() < 1e-5 && burst == 1);
        // A published limit takes precedence over the default; a rule for that server or `off`
        // overrides it.
        assert_eq!(limit(&rules, "slow.example", 443).unwrap().1, 1);
        rules.add("off").unwrap();
        assert_eq!(limit(&rules, "slow.example", 443), None);
        rules.add("slow.example=2/s").unwrap();
        assert_eq!(limit(&rules, "slow.example", 443), Some((2.0, 4)));
    }

    #[test]
    fn invalid_rates_are_refused_with_advice() {
        for bad in [
            "",
            "10",
            "10/",
            "/s",
            "10/week",
            "0/s",
            "-1/s",
            "1e3/s",
            "inf/s",
            "NaN/s",
            "2000000/s",
            "a.example=",
            "a.example=10",
            "=10/s",
            "a:x=10/s",
            "a:=10/s",
            "[::1=10/s",
            "[::1]x=10/s",
            "a b=10/s",
            "https://a/=10/s",
        ] {
            let error = Rules::new(&PUBLISHED).add(bad).unwrap_err().to_string();
            assert!(error.contains("write it as"), "{bad}: {error}");
        }
    }
}
