//! A comparison and an origin with a path between them, both in this process.

use std::ops::Deref;
use std::time::Duration;

use roundtrip_compare::{CompareConfig, CompareError, Comparison, Remedy, RequestLimits, compare};
use roundtrip_model::Target;
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::{Options, Override};
use roundtrip_tls::Roots;

use crate::far::Far;

pub(crate) struct Scene(Far);

impl Deref for Scene {
    type Target = Far;

    fn deref(&self) -> &Far {
        &self.0
    }
}

impl Scene {
    /// The client may use fast open; the origin follows its knobs.
    pub(crate) fn new(rtt: Duration, mut knobs: Knobs) -> Self {
        let path = Path::builder().rtt(rtt).build().unwrap();
        let server = path.server();
        knobs.listen.bind = vec![server.address_v4().into(), server.address_v6().into()];
        Self(Far::new(path, knobs))
    }

    /// Both addresses of the server under one name.
    pub(crate) fn both_families(&self) -> Override {
        let server = self.path.server();
        Override {
            host: "far.test".into(),
            port: self.origin.https.port(),
            addresses: vec![server.address_v4().into(), server.address_v6().into()],
        }
    }

    /// At most this many requests, as fast as answers come.
    pub(crate) fn config(&self, requests: u32) -> CompareConfig {
        self.wishes_for(
            &format!("https://{}/bytes/100", self.origin.https),
            requests,
        )
    }

    pub(crate) fn wishes_for(&self, url: &str, requests: u32) -> CompareConfig {
        let options = Options {
            roots: Roots::File(self.ca()),
            max_time: Duration::from_secs(20),
            ..Options::default()
        };
        CompareConfig {
            target: Target::parse(url).unwrap(),
            url: url.to_owned(),
            options,
            requests: 1,
            strategies: Vec::new(),
            against: Vec::new(),
            limits: RequestLimits {
                requests,
                rate: 1000.0,
                time: Duration::from_mins(5),
            },
            seed: 7,
            force: false,
        }
    }

    pub(crate) fn try_compare(&self, config: CompareConfig) -> Result<Comparison, CompareError> {
        self.near(async move || compare(&config, std::future::pending(), |_| {}).await)
    }

    /// Whatever is compared, no more requests are made than were allowed, and the requests made are
    /// counted.
    pub(crate) fn compare(&self, config: CompareConfig) -> Comparison {
        let before = self.origin.stats().requests;
        let most = config.limits.requests;
        let comparison = self.try_compare(config).unwrap();
        let seen = self.origin.stats().requests - before;
        let sent = u64::from(comparison.sent);
        assert!(seen <= sent, "{seen} were seen, {sent} counted");
        assert!(sent <= u64::from(most), "{sent} of {most}");
        comparison
    }

    /// Mostly discovers, and measures little.
    pub(crate) fn discover(&self, url: &str) -> Comparison {
        self.compare(self.wishes_for(url, 36))
    }
}

/// The remedies that were measured.
pub(crate) fn measurable(c: &Comparison) -> Vec<Remedy> {
    let works = c.lines.iter().filter(|line| line.idle.is_none());
    works.map(|line| line.way.remedy).collect()
}

pub(crate) fn idle(c: &Comparison) -> Vec<Remedy> {
    let idle = c.lines.iter().filter(|line| line.idle.is_some());
    idle.map(|line| line.way.remedy).collect()
}

pub(crate) fn absent(c: &Comparison) -> Vec<Remedy> {
    c.absent.iter().map(|absent| absent.way.remedy).collect()
}
