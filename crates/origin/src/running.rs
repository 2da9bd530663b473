//! Starts and stops an origin: sockets, certificates and tasks, from the first bind to the last
//! abort.

mod echo;
mod ports;
mod thread;

pub use echo::Echo;

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use roundtrip_quic_tokio::Endpoint;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use self::ports::Ports;
use self::thread::Thread;
use crate::certificates::IssuedCertificates;
use crate::quic::HandshakeConfig;
use crate::site::OriginState;
use crate::tcp::{ListenerContext, ListenerRole};
use crate::{Knobs, OriginCounters, OriginError, Quic, QuicEngine, Stats};
use crate::{quic, tcp, tls};

/// Starts origins.
#[derive(Debug)]
pub struct Origin;

impl Origin {
    /// Starts a server on the current tokio runtime, of either flavour. It runs until [`Running`]
    /// is dropped or stopped.
    #[allow(clippy::unused_async)] // it needs a runtime, and the signature says so
    pub async fn start(knobs: Knobs) -> Result<Running, OriginError> {
        // A caller that waits for an open port finds the files that it needs.
        let certificates = IssuedCertificates::issue(&knobs.tls)?;
        write_pem(knobs.tls.ca_out.as_deref(), &certificates.ca_pem)?;
        write_pem(knobs.tls.client_out.as_deref(), &certificates.client_pem)?;
        let ports = Ports::bind(&knobs.listen)?;
        let counters = Arc::new(OriginCounters::default());
        let site = Arc::new(OriginState::new(
            &knobs,
            ports.https_port(),
            counters.clone(),
        ));
        let mut running = Running {
            http: ports.http_address(),
            https: ports.https_address(),
            h3: (knobs.listen.h3 == Quic::On).then(|| ports.https_address()),
            echo: ports.echo_address(),
            ca_pem: certificates.ca_pem.clone(),
            client_pem: certificates.client_pem.clone(),
            counters,
            tasks: Vec::new(),
            endpoints: Vec::new(),
            #[cfg(feature = "peers")]
            quinn_endpoints: Vec::new(),
            silent: Vec::new(),
            thread: None,
        };
        let context = ListenerContext {
            site,
            places: Arc::new(Semaphore::new(knobs.listen.max_connections as usize)),
            fast_open: knobs.listen.fast_open > 0,
        };
        running.open(ports, &knobs, &certificates, &context)?;
        Ok(running)
    }

    /// Starts a server on a new thread, for callers without a runtime.
    pub fn spawn_thread(knobs: Knobs) -> Result<Running, OriginError> {
        Thread::spawn(Self::start(knobs))
    }
}

/// A running server. Dropping it stops it.
pub struct Running {
    pub http: SocketAddr,
    pub https: SocketAddr,
    /// The address of HTTP/3; `None` if HTTP/3 is off or silent.
    pub h3: Option<SocketAddr>,
    pub echo: Option<SocketAddr>,
    /// The certificate authority to trust, as PEM.
    pub ca_pem: String,
    /// A certificate, with its issuer and its key, that the server accepts from a client.
    pub client_pem: String,
    counters: Arc<OriginCounters>,
    tasks: Vec<JoinHandle<()>>,
    endpoints: Vec<Endpoint>,
    #[cfg(feature = "peers")]
    quinn_endpoints: Vec<quinn::Endpoint>,
    /// Ports that are bound and never answer.
    silent: Vec<UdpSocket>,
    thread: Option<Thread>,
}

impl Running {
    pub fn stats(&self) -> Stats {
        self.counters.snapshot()
    }

    /// The open ports as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "roundtrip/origin/1",
            "http": self.http.to_string(),
            "https": self.https.to_string(),
            "h3": self.h3.map(|address| address.to_string()),
            "echo": self.echo.map(|address| address.to_string()),
        })
    }

    /// Stops, and waits until nothing listens any more.
    pub async fn stop(mut self) {
        self.abort();
        for task in std::mem::take(&mut self.tasks) {
            // An aborted task returns an error, as intended.
            let _ = task.await;
        }
        for endpoint in std::mem::take(&mut self.endpoints) {
            endpoint.closed().await;
        }
        self.thread = None;
    }

    fn abort(&mut self) {
        #[cfg(feature = "peers")]
        for endpoint in self.quinn_endpoints.drain(..) {
            endpoint.close(0_u32.into(), b"");
        }
        for endpoint in &self.endpoints {
            endpoint.close(0, b"");
        }
        self.silent.clear();
        for task in &self.tasks {
            task.abort();
        }
    }

    fn open(
        &mut self,
        ports: Ports,
        knobs: &Knobs,
        certificates: &IssuedCertificates,
        context: &ListenerContext,
    ) -> Result<(), OriginError> {
        let failed = |source| ports::failed(knobs, source);
        let tls = ListenerRole::Tls(tls::tcp_config(&knobs.tls, certificates)?);
        for (listeners, role) in [
            (ports.http, ListenerRole::Clear),
            (ports.https, tls),
            (ports.echo, ListenerRole::Echo),
        ] {
            for listener in listeners {
                let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
                let accepting = tcp::accept(listener, role.clone(), context.clone());
                self.tasks.push(tokio::spawn(accepting));
            }
        }
        if knobs.listen.h3 != Quic::On {
            self.silent = ports.quic;
            return Ok(());
        }
        for socket in ports.quic {
            match knobs.listen.quic_engine {
                QuicEngine::Quinn => self.open_quinn(socket, knobs, certificates, context)?,
                QuicEngine::Own => self.open_own(socket, knobs, certificates, context)?,
            }
        }
        Ok(())
    }

    #[cfg(feature = "peers")]
    fn open_quinn(
        &mut self,
        socket: UdpSocket,
        knobs: &Knobs,
        certificates: &IssuedCertificates,
        context: &ListenerContext,
    ) -> Result<(), OriginError> {
        let tls = tls::quic_config(&knobs.tls, certificates, &self.counters, &["h3"])?;
        let crypto = quic::quinn::crypto(tls)?;
        let endpoint =
            quic::quinn::open(socket, crypto, knobs).map_err(|e| ports::failed(knobs, e))?;
        self.quinn_endpoints.push(endpoint.clone());
        let accepting = quic::quinn::accept(
            endpoint,
            HandshakeConfig::from_knobs(knobs),
            context.clone(),
        );
        self.tasks.push(tokio::spawn(accepting));
        Ok(())
    }

    #[cfg(not(feature = "peers"))]
    #[allow(clippy::unused_self, clippy::needless_pass_by_value)] // its signature is that of the real one
    fn open_quinn(
        &mut self,
        _: UdpSocket,
        _: &Knobs,
        _: &IssuedCertificates,
        _: &ListenerContext,
    ) -> Result<(), OriginError> {
        Err(OriginError::NoQuinn)
    }

    fn open_own(
        &mut self,
        socket: UdpSocket,
        knobs: &Knobs,
        certificates: &IssuedCertificates,
        context: &ListenerContext,
    ) -> Result<(), OriginError> {
        let protocols = &quic::own::PROTOCOLS;
        let tls = tls::quic_config(&knobs.tls, certificates, &self.counters, protocols)?;
        let engine = quic::own::engine(tls, knobs)?;
        let endpoint = Endpoint::new(socket, engine).map_err(|e| ports::failed(knobs, e))?;
        self.counters.add_endpoint(endpoint.clone());
        self.endpoints.push(endpoint.clone());
        let accepting = quic::own::accept(
            endpoint,
            HandshakeConfig::from_knobs(knobs),
            context.clone(),
        );
        self.tasks.push(tokio::spawn(accepting));
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.abort();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("http", &self.http)
            .field("https", &self.https)
            .field("h3", &self.h3)
            .field("echo", &self.echo)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Running {
    /// One line for each open port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http   http://{}/", self.http)?;
        write!(f, "\nhttps  https://{}/", self.https)?;
        if let Some(h3) = self.h3 {
            write!(f, "\nh3     https://{h3}/ (UDP)")?;
        }
        if let Some(echo) = self.echo {
            write!(f, "\necho   tcp://{echo}")?;
        }
        Ok(())
    }
}

fn write_pem(path: Option<&Path>, pem: &str) -> Result<(), OriginError> {
    path.map_or(Ok(()), |path| {
        std::fs::write(path, pem).map_err(|source| OriginError::Write {
            path: path.to_owned(),
            source,
        })
    })
}
