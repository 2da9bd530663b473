//! Resolves a host to addresses with the first source that knows it: flags, literals, DNS over
//! HTTPS, the system's resolver.

mod doh;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use roundtrip_model::{Answer, Event, Http, NameFacts, Recorder, Scheme, Target};
use roundtrip_net::{Attendance, Resolver, Wanted};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::ProbeError;
use crate::options::{Destination, Options};
pub(crate) use doh::Requester;

/// How long to wait for the HTTPS record once there are addresses. RFC 8305 §3 allows 50 ms for
/// late answers.
const HTTPS_GRACE: Duration = Duration::from_millis(50);
/// How long an exchange waits, after its end, for the answer to a repeated lookup.
const AGAIN: Duration = Duration::from_millis(50);
/// An address of each family, to find out whether the options admit that family.
const V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// Looks names up. Owns the resolver, which is created when it is first needed.
pub(crate) struct Names {
    options: Arc<Options>,
    resolver: Option<Arc<Resolver>>,
    /// The task that repeats the last lookup and returns how long that took.
    again: Option<JoinHandle<Option<Duration>>>,
}

impl Names {
    pub(crate) fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            resolver: None,
            again: None,
        }
    }

    /// Finds the addresses of `destination`, of the requested family. `requester` creates the
    /// client that carries queries to a DNS-over-HTTPS server, if the options name one.
    pub(crate) async fn look_up<R: Requester>(
        &mut self,
        destination: &Destination,
        target: &Target,
        recorder: &Recorder,
        requester: impl FnOnce(Options) -> R,
    ) -> Result<NameFacts, ProbeError> {
        recorder.record(Event::LookupStarted);
        let facts = self.answer(destination, target, recorder, requester);
        let mut facts = facts.await?;
        let family = self.options.family;
        family.choose(&mut facts.addresses);
        if facts.addresses.is_empty() {
            let family = match (family.admits(V4), family.admits(V6)) {
                (true, false) => "IPv4",
                (false, true) => "IPv6",
                _ => "IPv4 or IPv6",
            };
            return Err(ProbeError::NoAddressOfFamily {
                host: destination.host.clone(),
                family,
            });
        }
        recorder.record(Event::LookupFinished);
        Ok(facts)
    }

    async fn answer<R: Requester>(
        &mut self,
        to: &Destination,
        target: &Target,
        recorder: &Recorder,
        requester: impl FnOnce(Options) -> R,
    ) -> Result<NameFacts, ProbeError> {
        let options = &self.options;
        if let Some(fixed) = options.overrides.iter().find(|o| o.fits(&to.host, to.port)) {
            let addresses = fixed.addresses.clone();
            return Ok(NameFacts::new(&to.host, Answer::Given, addresses));
        }
        if let Ok(address) = to.host.parse::<IpAddr>() {
            return Ok(NameFacts::new(&to.host, Answer::Literal, vec![address]));
        }
        let is_targets_own = target.host_name() == to.host;
        let wanted = Wanted {
            v4: options.family.admits(V4),
            v6: options.family.admits(V6),
            https: (target.scheme == Scheme::Https
                && is_targets_own
                && options.announcements
                && matches!(options.strategy.http, Http::Auto | Http::H3))
            .then_some((target.port, HTTPS_GRACE)),
        };
        if let Some(server) = &options.doh {
            let requester = requester(doh::options(options));
            // Boxed: the lookup contains another exchange, which may look up a name.
            return Box::pin(doh::look_up(requester, server, &to.host, wanted)).await;
        }
        let mut attendance = Attendance::begin(recorder);
        let resolver = self.resolver()?;
        let facts = resolver.look_up(&to.host, wanted).await?;
        let arrived = recorder.now() - facts.waits.unread;
        if let Some((at, absence)) = attendance.read(arrived, recorder) {
            recorder.record_at(at, absence);
        }
        self.again = facts.has_many_aliases().then(|| {
            let host = to.host.clone();
            tokio::spawn(async move {
                let began = Instant::now();
                let outcome = resolver.look_up(&host, wanted).await;
                outcome.is_ok().then(|| began.elapsed())
            })
        });
        Ok(facts)
    }

    /// How long the last lookup took when it was repeated, if it led over many aliases: a resolver
    /// that had to follow them now knows where they lead. Of a short exchange, this waits for the
    /// answer.
    pub(crate) async fn again(&mut self) -> Option<Duration> {
        let again = self.again.take()?;
        timeout(AGAIN, again).await.ok()?.ok()?
    }

    fn resolver(&mut self) -> Result<Arc<Resolver>, ProbeError> {
        if let Some(resolver) = &self.resolver {
            return Ok(resolver.clone());
        }
        let resolver = Arc::new(Resolver::system()?.asking(&self.options.name_servers));
        Ok(self.resolver.insert(resolver).clone())
    }
}
