//! Opens a connection to the found addresses, following the plan. Crate `http` opens it; this
//! module adds a proxy, a Unix socket, and a TLS library that is slow on purpose.

mod proxy;
mod race;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::{ByteStream, OpenError, Opening, OpeningFacts, StreamProtocol, Tokens};
use roundtrip_model::{NameFacts, Recorder, Target, Task, TlsFacts};
use roundtrip_net::Connect;
use roundtrip_net::cpu::ThreadCpu;
use roundtrip_tls::{Client, Offer};

use crate::connection::OpenConnection;
use crate::observed::Observed;
use crate::plan::ConnectionPlan;
use crate::{Options, ProbeError};

/// Opens connections. Owns the state that connections leave for later ones: TLS sessions in the TLS
/// client, and address validation tokens of QUIC.
pub(crate) struct Connector {
    options: Arc<Options>,
    tls: Option<Client>,
    tokens: Tokens,
}

impl Connector {
    pub(crate) fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            tls: None,
            tokens: Tokens::default(),
        }
    }

    /// Creates the TLS client, if there is none yet.
    pub(crate) fn prepare_tls(&mut self) -> Result<(), ProbeError> {
        if self.tls.is_none() {
            let options = &self.options;
            let client = Client::new(options.roots.clone(), options.identity.as_ref())?;
            if options.remembers_chains {
                client.remember_chains();
            }
            self.tls = Some(client);
        }
        Ok(())
    }

    /// Whether TLS was used and no ticket has arrived yet.
    pub(crate) fn lacks_ticket(&self, quic: bool) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|t| t.tickets(quic).received() == 0)
    }

    /// Adds the TLS client's facts about a connection's handshake.
    pub(crate) fn read_tls(&self, facts: &mut TlsFacts, quic: bool) {
        if let Some(client) = &self.tls {
            let tickets = client.tickets(quic);
            facts.tickets = tickets.received();
            facts.ticket_shown = tickets.take_shown();
            facts.client_certificate_asked = client.take_certificate_asked();
        }
    }

    /// Opens a connection to `target` at the resolved addresses; a Unix socket has none.
    pub(crate) async fn open(
        &self,
        plan: &ConnectionPlan,
        target: &Target,
        found: Option<&NameFacts>,
        recorder: &Recorder,
        observed: &mut Observed,
    ) -> Result<OpenConnection, ProbeError> {
        let port = self.options.destination(target).port;
        let peers_at = |port| found.map(|f| peers(f, port)).unwrap_or_default();
        let peers = peers_at(port);
        match (&plan.quic, plan.tcp) {
            (Some(offer), false) => {
                self.open_quic(offer, target, &peers, recorder, &mut observed.facts)
                    .await
            }
            (Some(offer), true) => {
                let h3_port = found
                    .and_then(|f| f.https_record.as_ref())
                    .and_then(|r| r.port)
                    .unwrap_or(port);
                let h3_peers = peers_at(h3_port);
                self.race(plan, offer, target, (&peers, &h3_peers), recorder, observed)
                    .await
            }
            (None, _) => {
                self.open_tcp(plan, target, &peers, recorder, &mut observed.facts)
                    .await
            }
        }
    }

    async fn open_quic(
        &self,
        offer: &Offer,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        facts: &mut OpeningFacts,
    ) -> Result<OpenConnection, ProbeError> {
        let host = target.host_name();
        let opening = self.opening(&host, recorder);
        let opened = opening.over_quic(offer, peers, facts).await;
        let opened = opened.map_err(|error| self.open_error(error))?;
        Ok(OpenConnection::new(opened, target, recorder, 0))
    }

    async fn open_tcp(
        &self,
        plan: &ConnectionPlan,
        target: &Target,
        peers: &[SocketAddr],
        recorder: &Recorder,
        facts: &mut OpeningFacts,
    ) -> Result<OpenConnection, ProbeError> {
        let socket = match &self.options.unix_socket {
            Some(path) => Connect::open_unix(path, recorder)?,
            None => {
                let connect = Connect {
                    fast_open: plan.fast_open,
                    bind: self.options.bind.clone(),
                    first: None,
                };
                connect.open(peers, recorder, &mut facts.attempts).await?
            }
        };
        let gauge = socket.gauge().map_err(roundtrip_net::NetError::Socket)?;
        facts.gauge = socket.gauge().ok();
        let mut stream: Box<dyn ByteStream> = Box::new(socket);
        let mut proxy_status = 0;
        if plan.via_proxy {
            (stream, proxy_status) = self.through_proxy(stream, plan, target, recorder).await?;
        }
        if plan.tls.is_some() && !self.options.hello_delay.is_zero() {
            recorder.timed(Task::Configure, || compute(self.options.hello_delay));
        }
        let host = target.host_name();
        let speech = StreamProtocol {
            tls: plan.tls.clone(),
            early_data: plan.early_data,
            prior_knowledge: plan.prior_knowledge,
            insists: plan.insists,
        };
        let opening = self.opening(&host, recorder);
        let opened = opening.over_stream(stream, gauge, &speech, facts).await;
        let opened = opened.map_err(|error| self.open_error(error))?;
        Ok(OpenConnection::new(opened, target, recorder, proxy_status))
    }

    fn opening<'a>(&'a self, host: &'a str, recorder: &'a Recorder) -> Opening<'a> {
        Opening {
            host,
            client: self.tls.as_ref(),
            tokens: &self.tokens,
            bind: self.options.bind.as_ref(),
            first: None,
            recorder,
        }
    }

    fn open_error(&self, error: OpenError) -> ProbeError {
        match error {
            OpenError::Net(error) => error.into(),
            OpenError::Tls(error) => error.into(),
            OpenError::Http(error) => error.into(),
            OpenError::Alpn { wanted, got } => ProbeError::Alpn { wanted, got },
            OpenError::NoTls => self.no_tls(),
        }
    }

    fn tls_ready(&self) -> Result<&Client, ProbeError> {
        self.tls.as_ref().ok_or_else(|| self.no_tls())
    }

    fn no_tls(&self) -> ProbeError {
        ProbeError::Strategy {
            strategy: self.options.strategy,
            why: "TLS was not set up",
        }
    }
}

/// Returns the addresses that were found, with the port to connect to.
pub(crate) fn peers(facts: &NameFacts, port: u16) -> Vec<SocketAddr> {
    let addresses = facts.addresses.iter();
    addresses.map(|a| SocketAddr::new(*a, port)).collect()
}

/// Uses this much processor time, and blocks the thread meanwhile, as a TLS library does.
fn compute(time: Duration) {
    let began = ThreadCpu::now();
    while ThreadCpu::now().since(began).exact < time {
        std::hint::spin_loop();
    }
}
