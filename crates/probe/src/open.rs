//! From addresses to an open connection, as the plan wants it. How one comes up is `http`'s; here is what a prober has
//! besides: a proxy, a Unix socket, a library that is slow on purpose.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_http::{Connection, OpenError, Opened, Opening, Speech, Stream, Trail, Transport};
use roundtrip_model::{
    HttpFacts, KeptFacts, Moment, NameFacts, QuicFacts, Recorder, Scheme, Target, Task, TcpFacts,
    TlsFacts,
};
use roundtrip_net::{Connect, Gauge};
use roundtrip_tls::Offer;

use crate::plan::Plan;
use crate::{ProbeError, Prober, name};

/// An open connection, with what there is to know about it.
pub(crate) struct Open {
    pub(crate) connection: Connection,
    pub(crate) recorder: Recorder,
    pub(crate) gauge: Transport,
    /// The origin it serves: scheme, host, port.
    pub(crate) origin: (Scheme, String, u16),
    pub(crate) early_data: bool,
    pub(crate) proxy_status: u16,
}

/// What is learnt on the way, kept even when the way ends badly.
#[derive(Default)]
pub(crate) struct Learnt {
    pub(crate) trail: Trail,
    pub(crate) tcp: Option<TcpFacts>,
    pub(crate) tls: Option<TlsFacts>,
    pub(crate) quic: Option<QuicFacts>,
    /// What was asked and answered, as far as that went.
    pub(crate) http: HttpFacts,
    pub(crate) notes: Vec<String>,
    /// When the last byte was here, before anybody read gauges.
    pub(crate) ended: Option<Moment>,
}

impl Learnt {
    /// Reads the gauges of a connection that failed half way.
    pub(crate) fn settle(&mut self) {
        let gauge = self.trail.gauge.as_ref();
        self.tcp = self.tcp.take().or_else(|| gauge.map(Gauge::facts));
        let told = self.trail.tls.as_ref().and_then(|f| f.get());
        self.tls = self.tls.take().or_else(|| told.cloned());
        if let Some(gauge) = &self.trail.quic {
            self.quic.get_or_insert_with(|| gauge.facts());
            // The server's hello, or what it showed.
            let heard = |facts: &TlsFacts| !facts.cipher.is_empty() || facts.chain.is_some();
            let seen = || Some(gauge.tls_facts()).filter(heard);
            self.tls = self.tls.take().or_else(seen);
        }
    }
}

impl Prober {
    pub(crate) async fn open(
        &mut self,
        plan: &Plan,
        target: &Target,
        found: Option<&NameFacts>,
        recorder: &Recorder,
        learnt: &mut Learnt,
    ) -> Result<Open, ProbeError> {
        let port = self.destination(target).port;
        let peers = found.map(|f| name::peers(f, port)).unwrap_or_default();
        match (&plan.quic, plan.tcp) {
            (Some(offer), false) => {
                self.open_quic(offer, target, &peers, recorder, &mut learnt.trail)
                    .await
            }
            (Some(offer), true) => {
                let h3_port = found
                    .and_then(|f| f.https_record.as_ref())
                    .and_then(|r| r.port)
                    .unwrap_or(port);
                let h3_peers = found.map(|f| name::peers(f, h3_port)).unwrap_or_default();
                self.race(plan, offer, target, (&peers, &h3_peers), recorder, learnt)
                    .await
            }
            (None, _) => {
                self.open_tcp(plan, target, &peers, recorder, &mut learnt.trail)
                    .await
            }
        }
    }

    pub(crate) async fn open_quic(
        &self,
        offer: &Offer,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        trail: &mut Trail,
    ) -> Result<Open, ProbeError> {
        let host = target.host_name();
        let opening = self.opening(&host, recorder);
        let opened = opening.over_quic(offer, peers, trail).await;
        let opened = opened.map_err(|error| self.error(error))?;
        Ok(Open::new(opened, target, recorder, 0))
    }

    pub(crate) async fn open_tcp(
        &self,
        plan: &Plan,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        trail: &mut Trail,
    ) -> Result<Open, ProbeError> {
        let socket = match &self.options.unix_socket {
            Some(path) => Connect::open_unix(path, recorder)?,
            None => {
                let connect = Connect {
                    fast_open: plan.fast_open,
                    bind: self.options.bind.clone(),
                };
                connect.open(peers, recorder, &mut trail.attempts).await?
            }
        };
        let gauge = socket.gauge().map_err(roundtrip_net::NetError::Socket)?;
        trail.gauge = socket.gauge().ok();
        let mut stream: Box<dyn Stream> = Box::new(socket);
        let mut proxy_status = 0;
        if plan.via_proxy {
            (stream, proxy_status) = self.through_proxy(stream, plan, target, recorder).await?;
        }
        if plan.tls.is_some() && !self.options.hello_delay.is_zero() {
            // A library that computes lets nothing else happen on its thread.
            recorder.timed(Task::Configure, || {
                std::thread::sleep(self.options.hello_delay);
            });
        }
        let host = target.host_name();
        let speech = Speech {
            tls: plan.tls.clone(),
            early_data: plan.early_data,
            prior_knowledge: plan.prior_knowledge,
            insists: plan.insists,
        };
        let opening = self.opening(&host, recorder);
        let opened = opening.over_stream(stream, gauge, &speech, trail).await;
        let opened = opened.map_err(|error| self.error(error))?;
        Ok(Open::new(opened, target, recorder, proxy_status))
    }

    fn opening<'a>(&'a self, host: &'a str, recorder: &'a Recorder) -> Opening<'a> {
        Opening {
            host,
            client: self.tls(),
            tokens: &self.tokens,
            bind: self.options.bind.as_ref(),
            recorder,
        }
    }

    fn error(&self, error: OpenError) -> ProbeError {
        match error {
            OpenError::Net(error) => error.into(),
            OpenError::Tls(error) => error.into(),
            OpenError::Http(error) => error.into(),
            OpenError::Alpn { wanted, got } => ProbeError::Alpn { wanted, got },
            OpenError::NoTls => self.no_tls(),
        }
    }
}

pub(crate) fn origin(target: &Target) -> (Scheme, String, u16) {
    (target.scheme, target.host_name(), target.port)
}

impl Open {
    fn new(opened: Opened, target: &Target, recorder: &Recorder, proxy_status: u16) -> Self {
        Self {
            connection: opened.connection,
            recorder: recorder.clone(),
            gauge: opened.transport,
            origin: origin(target),
            early_data: opened.early_data,
            proxy_status,
        }
    }

    /// The path's round trip, as far as it is known.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.gauge.min_rtt()
    }

    /// What it has carried before, as far as the kernel tells.
    pub(crate) fn past(&self) -> Option<KeptFacts> {
        self.gauge.past()
    }

    pub(crate) fn serves(&self, target: &Target) -> bool {
        self.origin == origin(target)
    }

    /// Can another request go out on it?
    pub(crate) fn is_usable(&self) -> bool {
        self.connection.is_open()
            && match &self.gauge {
                // HTTP/2 has a driver that reads: what is in the socket says nothing there.
                Transport::Tcp { gauge, .. } => {
                    !matches!(self.connection, Connection::H1(_)) || !gauge.is_spent()
                }
                Transport::Quic(_) => true,
            }
    }
}
