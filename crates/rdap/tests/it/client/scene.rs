//! A registry on a separate thread, clients that trust it, and a clock that advances only when a
//! task sleeps.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use roundtrip_fetch::memory::answers::Policy;
use roundtrip_fetch::memory::{DEFAULT_SIZE, Memory, Stamp};
use roundtrip_fetch::pool::{Pool, PoolRequest, Settings};
use roundtrip_fetch::rate_limiter::{RateLimiter, Rules, Timer};
use roundtrip_http::Tokens;
use roundtrip_model::Target;
use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_rdap::bootstrap::{Bootstrap, Registry};
use roundtrip_rdap::client::{Client, LookupOptions, Outcome, Parts};
use roundtrip_tls::{Client as Tls, Roots};
use tempfile::TempDir;

pub(crate) struct Scene {
    pub(crate) origin: Running,
    pub(crate) directory: TempDir,
    pub(crate) timer: Arc<ManualClock>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::default();
        change(&mut knobs);
        Self {
            origin: Origin::spawn_thread(knobs).unwrap(),
            directory: tempfile::tempdir().unwrap(),
            timer: Arc::default(),
        }
    }

    /// A client of the registry that stores nothing and has short timeouts.
    pub(crate) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    pub(crate) fn client_with(&self, change: impl FnOnce(&mut Parts)) -> Client {
        self.client_of(Memory::nowhere(), change)
    }

    /// A client that stores answers; `change` is applied last.
    pub(crate) fn remembering(&self, change: impl FnOnce(&mut Parts)) -> Client {
        let memory = Memory::open(self.directory.path(), DEFAULT_SIZE).unwrap();
        self.client_of(memory, change)
    }

    fn client_of(&self, memory: Memory, change: impl FnOnce(&mut Parts)) -> Client {
        let (memory, tokens) = (Arc::new(memory), Tokens::default());
        let roots = Roots::Pem(self.origin.ca_pem.clone());
        let tls = Arc::new(Tls::new(roots.clone(), None).unwrap());
        let settings = Settings {
            roots,
            tls: Some(tls.clone()),
            tokens: tokens.clone(),
            ..Settings::default()
        };
        let mut parts = Parts {
            options: options(Some(self.server())),
            pool: Pool::new(settings).unwrap(),
            tls,
            tokens,
            bootstrap: Bootstrap::embedded(),
            rate_limiter: rate_limiter(&self.timer, &memory, "off"),
            memory,
        };
        change(&mut parts);
        Client::new(parts)
    }

    /// The registry's base URL.
    pub(crate) fn server(&self) -> Target {
        target(&format!("https://{}/rdap/", self.origin.https))
    }

    /// The number of requests for each path of the registry and the registrar.
    pub(crate) async fn asked(&self) -> BTreeMap<String, u32> {
        let settings = Settings {
            roots: Roots::Pem(self.origin.ca_pem.clone()),
            ..Settings::default()
        };
        let ask = PoolRequest::new(self.server().join("/rdap-asked").unwrap());
        let reply = Pool::new(settings).unwrap().fetch(&ask).await.unwrap();
        serde_json::from_slice(&reply.body).unwrap()
    }
}

pub(crate) fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

pub(crate) fn options(server: Option<Target>) -> LookupOptions {
    LookupOptions {
        kind: None,
        server,
        insecure_http: false,
        follow: true,
        pages: 1,
        by_range: false,
        policy: Policy::default(),
        early: true,
        credentials: None,
        certified: None,
        persistent: false,
        awaits_first_answer: false,
        shares: true,
        registries: None,
        user_agent: "test".into(),
    }
}

pub(crate) fn rate_limiter(
    timer: &Arc<ManualClock>,
    memory: &Arc<Memory>,
    rate: &str,
) -> RateLimiter {
    let mut rules = Rules::new(&[]);
    rules.add(rate).unwrap();
    RateLimiter::new(rules, memory.clone(), timer.clone(), 7)
}

pub(crate) async fn look_up(client: &Client, text: &str) -> Outcome {
    client.look_up(&client.read(text).unwrap()).await
}

/// IANA's registry of names, as if `example` had these servers.
pub(crate) fn registry(servers: &[&str]) -> String {
    serde_json::json!({
        "version": "1.0", "publication": "2126-01-01T00:00:00Z",
        "services": [[["example"], servers]],
    })
    .to_string()
}

/// A client that finds these servers in the registry of names.
pub(crate) fn bootstrapped(parts: &mut Parts, servers: &[&str]) {
    parts.options.server = None;
    let json = registry(servers);
    let replaced = parts.bootstrap.replace(Registry::Dns, json.as_bytes());
    replaced.unwrap();
}

/// The first words of the reason why nothing was found.
pub(crate) fn why(outcome: &Outcome) -> String {
    let whys = outcome.told(&[], |told| told.first.why.unwrap_or_default().to_owned());
    whys.into_iter().next().unwrap()
}

/// Sleeping takes no time: it advances the clock.
#[derive(Debug)]
pub(crate) struct ManualClock {
    began: Stamp,
    passed: AtomicU64,
    pub(crate) sleeps: Mutex<Vec<Duration>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            began: Stamp::from_time(SystemTime::now()),
            passed: AtomicU64::new(0),
            sleeps: Mutex::default(),
        }
    }
}

impl ManualClock {
    pub(crate) fn slept(&self) -> Duration {
        self.sleeps.lock().unwrap().iter().sum()
    }
}

impl Timer for ManualClock {
    fn now(&self) -> Stamp {
        self.began
            .plus(Duration::from_millis(self.passed.load(SeqCst)))
    }

    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.sleeps.lock().unwrap().push(span);
        let passed = span.as_millis() as u64 + 1;
        self.passed.fetch_add(passed, SeqCst);
        Box::pin(tokio::task::yield_now())
    }
}
