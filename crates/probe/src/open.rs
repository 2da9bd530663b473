//! From addresses to a connection that speaks HTTP: TCP raced, TLS on top, QUIC beside it where it is announced.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roundtrip_http::{Connection, Quic, QuicGauge, Stream};
use roundtrip_model::{
    Attempt, AttemptOutcome, HttpFacts, KeptFacts, Moment, NameFacts, QuicFacts, Recorder, Scheme,
    Target, Task, TcpFacts, TlsFacts,
};
use roundtrip_net::{Connect, Gauge, datagram_socket};
use roundtrip_tls::Offer;
use tokio::time::timeout;

use crate::plan::Plan;
use crate::{Prober, Trouble, name};

/// RFC 8305 §5, for addresses that are tried over QUIC.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

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

/// The transport's gauges, which outlive its burial under HTTP.
pub(crate) enum Transport {
    Tcp {
        gauge: Gauge,
        tls: Option<Arc<OnceLock<TlsFacts>>>,
    },
    Quic(Arc<QuicGauge>),
}

/// What is learnt on the way, kept even when the way ends badly.
#[derive(Default)]
pub(crate) struct Learnt {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) tcp: Option<TcpFacts>,
    pub(crate) tls: Option<TlsFacts>,
    pub(crate) quic: Option<QuicFacts>,
    pub(crate) over_quic: bool,
    /// What was asked and answered, as far as that went.
    pub(crate) http: HttpFacts,
    pub(crate) notes: Vec<String>,
    /// When the last byte was here, before anybody read gauges.
    pub(crate) ended: Option<Moment>,
    gauge: Option<Gauge>,
    tls_facts: Option<Arc<OnceLock<TlsFacts>>>,
}

impl Learnt {
    /// Reads the gauges of a connection that failed half way.
    pub(crate) fn settle(&mut self) {
        let gauge = self.gauge.as_ref();
        self.tcp = self.tcp.take().or_else(|| gauge.map(Gauge::facts));
        let told = self.tls_facts.as_ref().and_then(|f| f.get());
        self.tls = self.tls.take().or_else(|| told.cloned());
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
    ) -> Result<Open, Trouble> {
        let port = self.destination(target).port;
        let peers = found.map(|f| name::peers(f, port)).unwrap_or_default();
        match (&plan.quic, plan.tcp) {
            (Some(offer), false) => {
                self.open_quic(offer, target, &peers, recorder, learnt)
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
            (None, _) => self.open_tcp(plan, target, &peers, recorder, learnt).await,
        }
    }

    pub(crate) async fn open_quic(
        &self,
        offer: &Offer,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        learnt: &mut Learnt,
    ) -> Result<Open, Trouble> {
        learnt.over_quic = true;
        let (last, others) = peers
            .split_last()
            .ok_or(roundtrip_net::NetError::NoAddress)?;
        let mut quic = None;
        for peer in others {
            let attempt = self.try_quic(*peer, offer, target, recorder, learnt);
            // An address that has not answered by then is given up for the next.
            quic = timeout(ATTEMPT_DELAY, attempt)
                .await
                .ok()
                .and_then(Result::ok);
            if quic.is_some() {
                break;
            }
            if let Some(attempt) = learnt.attempts.last_mut() {
                attempt.ended = recorder.now();
            }
        }
        let quic = match quic {
            Some(quic) => quic,
            None => {
                self.try_quic(*last, offer, target, recorder, learnt)
                    .await?
            }
        };
        let early_data = quic.is_early();
        let gauge = Transport::Quic(quic.gauge());
        Ok(Open {
            connection: Connection::H3(quic),
            recorder: recorder.clone(),
            gauge,
            origin: origin(target),
            early_data,
            proxy_status: 0,
        })
    }

    async fn try_quic(
        &self,
        peer: SocketAddr,
        offer: &Offer,
        target: &Target,
        recorder: &Recorder,
        learnt: &mut Learnt,
    ) -> Result<Quic, Trouble> {
        let socket = datagram_socket(peer, self.options.bind.as_ref())?;
        let began = recorder.now();
        let place = learnt.attempts.len();
        let (ended, outcome) = (began, AttemptOutcome::Abandoned);
        learnt.attempts.push(Attempt {
            peer,
            over_quic: true,
            began,
            ended,
            outcome,
        });
        let tls = self.tls_ready()?;
        let quic = Quic::open(
            peer,
            socket,
            &target.host_name(),
            tls,
            offer,
            &self.tokens,
            recorder,
        )
        .await;
        if let Some(attempt) = learnt.attempts.get_mut(place) {
            attempt.ended = recorder.now();
            attempt.outcome = match &quic {
                Ok(_) => AttemptOutcome::Won,
                Err(error) => AttemptOutcome::Failed(error.to_string()),
            };
        }
        Ok(quic?)
    }

    pub(crate) async fn open_tcp(
        &self,
        plan: &Plan,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        learnt: &mut Learnt,
    ) -> Result<Open, Trouble> {
        let socket = match &self.options.unix_socket {
            Some(path) => Connect::open_unix(path, recorder)?,
            None => {
                let connect = Connect {
                    fast_open: plan.fast_open,
                    bind: self.options.bind.clone(),
                };
                connect.open(peers, recorder, &mut learnt.attempts).await?
            }
        };
        let gauge = socket.gauge().map_err(roundtrip_net::NetError::Socket)?;
        learnt.gauge = socket.gauge().ok();
        let mut stream: Box<dyn Stream> = Box::new(socket);
        let mut proxy_status = 0;
        if plan.via_proxy {
            (stream, proxy_status) = self.through_proxy(stream, plan, target, recorder).await?;
        }
        let Some(offer) = &plan.tls else {
            let connection = if plan.prior_knowledge {
                Connection::h2(stream).await?
            } else {
                Connection::h1(stream)
            };
            return Ok(Open::new(
                connection,
                target,
                recorder,
                Transport::Tcp { gauge, tls: None },
                proxy_status,
            ));
        };
        if !self.options.hello_delay.is_zero() {
            // A library that computes lets nothing else happen on its thread.
            recorder.timed(Task::Configure, || {
                std::thread::sleep(self.options.hello_delay);
            });
        }
        let mut tls = self
            .tls_ready()?
            .connect(stream, offer, &target.host_name(), recorder)?;
        let facts = tls.facts();
        learnt.tls_facts = Some(facts.clone());
        let early = plan.early_data && tls.takes_early_data();
        if !early {
            tls.handshake().await?;
        }
        let alpn = match (early, tls.connection().alpn_protocol()) {
            // Early data speaks the protocol of the ticket's connection; with one offered there is no doubt.
            (true, _) => offer.alpn.first().copied().unwrap_or("http/1.1").to_owned(),
            (false, got) => got.map_or_else(
                || "http/1.1".into(),
                |p| String::from_utf8_lossy(p).into_owned(),
            ),
        };
        if let Some(wanted) = plan.insists.filter(|w| *w != alpn) {
            return Err(Trouble::Alpn { wanted, got: alpn });
        }
        let connection = if alpn == "h2" {
            Connection::h2(tls).await?
        } else {
            Connection::h1(tls)
        };
        let mut open = Open::new(
            connection,
            target,
            recorder,
            Transport::Tcp {
                gauge,
                tls: Some(facts),
            },
            proxy_status,
        );
        open.early_data = early;
        Ok(open)
    }
}

pub(crate) fn origin(target: &Target) -> (Scheme, String, u16) {
    (target.scheme, target.host_name(), target.port)
}

impl Open {
    fn new(
        connection: Connection,
        target: &Target,
        recorder: &Recorder,
        gauge: Transport,
        proxy_status: u16,
    ) -> Self {
        let recorder = recorder.clone();
        Self {
            connection,
            recorder,
            gauge,
            origin: origin(target),
            early_data: false,
            proxy_status,
        }
    }

    /// The path's round trip, as far as it is known.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        match &self.gauge {
            Transport::Tcp { gauge, .. } => gauge.min_rtt(),
            Transport::Quic(gauge) => gauge.min_rtt(),
        }
    }

    /// What it has carried before, as far as the kernel tells.
    pub(crate) fn past(&self) -> Option<KeptFacts> {
        match &self.gauge {
            Transport::Tcp { gauge, .. } => gauge.past(),
            Transport::Quic(_) => None,
        }
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
