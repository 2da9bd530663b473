//! A comparison and an origin with a path between them, both in this process.

use std::time::Duration;

use roundtrip_compare::{CompareError, Comparison, Limits, Remedy, Wishes, compare};
use roundtrip_model::Target;
use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::Path;
use roundtrip_probe::{Options, Override};
use roundtrip_tls::Roots;

pub(crate) struct Scene {
    path: Path,
    pub(crate) origin: Running,
    ca: tempfile::NamedTempFile,
}

impl Scene {
    /// The client may use fast open; the origin does as its knobs say.
    pub(crate) fn new(rtt: Duration, mut knobs: Knobs) -> Self {
        let path = Path::builder().rtt(rtt).build().unwrap();
        for side in [path.client(), path.server()] {
            side.sysctl("net.ipv4.tcp_fastopen", "3").unwrap();
        }
        let (v4, v6) = (path.server().address_v4(), path.server().address_v6());
        knobs.listen.bind = vec![v4.into(), v6.into()];
        knobs.tls.names = vec![v4.to_string(), "far.test".into()];
        let origin = path
            .server()
            .run(move || Origin::spawn_thread(knobs))
            .unwrap()
            .unwrap();
        let ca = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(ca.path(), &origin.ca_pem).unwrap();
        Self { path, origin, ca }
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

    /// At most so many requests, as fast as answers come.
    pub(crate) fn wishes(&self, requests: u32) -> Wishes {
        self.wishes_for(
            &format!("https://{}/bytes/100", self.origin.https),
            requests,
        )
    }

    pub(crate) fn wishes_for(&self, url: &str, requests: u32) -> Wishes {
        let options = Options {
            roots: Roots::File(self.ca.path().to_owned()),
            max_time: Duration::from_secs(20),
            ..Options::default()
        };
        Wishes {
            target: Target::parse(url).unwrap(),
            url: url.to_owned(),
            options,
            requests: 1,
            strategies: Vec::new(),
            against: Vec::new(),
            limits: Limits {
                requests,
                rate: 1000.0,
                time: Duration::from_mins(5),
            },
            seed: 7,
            force: false,
        }
    }

    pub(crate) fn try_compare(&self, wishes: Wishes) -> Result<Comparison, CompareError> {
        self.path
            .client()
            .run(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let never = std::future::pending();
                runtime.block_on(compare(&wishes, never, |_| {}))
            })
            .unwrap()
    }

    /// Whatever is compared, no more is asked than was allowed, and what was asked is counted.
    pub(crate) fn compare(&self, wishes: Wishes) -> Comparison {
        let before = self.origin.stats().requests;
        let most = wishes.limits.requests;
        let comparison = self.try_compare(wishes).unwrap();
        let seen = self.origin.stats().requests - before;
        let sent = u64::from(comparison.sent);
        assert!(seen <= sent, "{seen} were seen, {sent} counted");
        assert!(sent <= u64::from(most), "{sent} of {most}");
        comparison
    }

    /// What there is; of measuring, there is little.
    pub(crate) fn discover(&self, url: &str) -> Comparison {
        self.compare(self.wishes_for(url, 36))
    }
}

/// What became of each way.
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
