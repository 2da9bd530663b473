//! From a host to addresses, by the first authority that has a word: flags, literals, DoH, the system's resolver.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use roundtrip_model::{Answer, Event, Http, NameFacts, Recorder, Scheme, Target};
use roundtrip_net::Wanted;

use crate::{Family, ProbeError, Prober};

/// How long a client waits for the HTTPS record once it has addresses. RFC 8305 §3 gives late answers 50 ms.
const HTTPS_GRACE: Duration = Duration::from_millis(50);

/// Where to connect: not always where the URL points.
pub(crate) struct Destination {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Prober {
    /// `--connect-to` and the proxy redirect the connection, never the request.
    pub(crate) fn destination(&self, target: &Target) -> Destination {
        if let Some(proxy) = self.options.proxy_for(target) {
            return Destination {
                host: proxy.0.host_name(),
                port: proxy.0.port,
            };
        }
        let (host, port) = (target.host_name(), target.port);
        match self.options.connect_to.iter().find(|c| c.fits(&host, port)) {
            Some(c) => Destination {
                host: c.to_host.clone().unwrap_or(host),
                port: c.to_port.unwrap_or(port),
            },
            None => Destination { host, port },
        }
    }

    pub(crate) async fn look_up(
        &mut self,
        destination: &Destination,
        target: &Target,
        recorder: &Recorder,
    ) -> Result<NameFacts, ProbeError> {
        recorder.record(Event::LookupStarted);
        let mut facts = self.answer(destination, target).await?;
        let family = self.options.family;
        facts.addresses.retain(|a| family.admits(*a));
        if facts.addresses.is_empty() {
            let family = match family {
                Family::Any => "IPv4 or IPv6",
                Family::V4 => "IPv4",
                Family::V6 => "IPv6",
            };
            return Err(ProbeError::NoAddressOfFamily {
                host: destination.host.clone(),
                family,
            });
        }
        recorder.record(Event::LookupFinished);
        Ok(facts)
    }

    async fn answer(&mut self, to: &Destination, target: &Target) -> Result<NameFacts, ProbeError> {
        if let Some(fixed) = self
            .options
            .overrides
            .iter()
            .find(|o| o.fits(&to.host, to.port))
        {
            return Ok(NameFacts::new(
                &to.host,
                Answer::Given,
                fixed.addresses.clone(),
            ));
        }
        if let Ok(address) = to.host.parse::<IpAddr>() {
            return Ok(NameFacts::new(&to.host, Answer::Literal, vec![address]));
        }
        let ours = target.host_name() == to.host;
        let wanted = Wanted {
            v4: self.options.family != Family::V6,
            v6: self.options.family != Family::V4,
            https: (target.scheme == Scheme::Https
                && ours
                && matches!(self.options.strategy.http, Http::Auto | Http::H3))
            .then_some((target.port, HTTPS_GRACE)),
        };
        if let Some(server) = self.options.doh.clone() {
            return Box::pin(self.ask_doh(&server, &to.host, wanted)).await;
        }
        Ok(self.resolver()?.look_up(&to.host, wanted).await?)
    }
}

pub(crate) fn peers(facts: &NameFacts, port: u16) -> Vec<SocketAddr> {
    facts
        .addresses
        .iter()
        .map(|a| SocketAddr::new(*a, port))
        .collect()
}
