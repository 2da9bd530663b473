//! Fetches a JWK Set from a URL: one GET over a connection of its own, within a deadline and a
//! size. Redirects are not followed.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::{
    Opening, OpeningFacts, Request, RequestRecorder, RequestRun, StreamProtocol, Tokens,
};
use roundtrip_model::{HttpFacts, Recorder, Scheme, Target};
use roundtrip_net::{Resolver, SystemClock, Wanted};
use roundtrip_tls::{Client, Offer, Roots};
use tokio::time::timeout;

use crate::GateError;
use crate::error::FetchError;

/// From the name lookup to the answer's last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Real sets are smaller.
const MAX_SET_SIZE: usize = 256 * 1024;

pub(super) struct Source {
    target: Target,
    client: Option<Client>,
}

impl Source {
    pub(super) fn new(url: &str, ca: Option<&Path>) -> Result<Self, GateError> {
        Self::made(url, ca).map_err(|source| GateError::Fetch {
            url: shown(url),
            source: Box::new(source),
        })
    }

    fn made(url: &str, ca: Option<&Path>) -> Result<Self, FetchError> {
        let target = Target::parse(url)?;
        if target.userinfo().is_some() {
            return Err(FetchError::Userinfo);
        }
        let client = match target.scheme {
            Scheme::Https => {
                let roots = ca.map_or(Roots::System, |path| Roots::File(path.into()));
                Some(Client::new(roots, None)?)
            }
            Scheme::Http if is_here(&target.host_name()) => None,
            _ => return Err(FetchError::Clear),
        };
        Ok(Self { target, client })
    }

    pub(super) async fn fetch(&self) -> Result<Vec<u8>, GateError> {
        let fetched = timeout(FETCH_TIMEOUT, self.get()).await;
        let fetched = fetched.unwrap_or(Err(FetchError::TimedOut(FETCH_TIMEOUT)));
        fetched.map_err(|source| GateError::Fetch {
            url: self.target.redacted(),
            source: Box::new(source),
        })
    }

    async fn get(&self) -> Result<Vec<u8>, FetchError> {
        let recorder = Recorder::new(Arc::new(SystemClock::start()));
        let host = self.target.host_name();
        let peers = self.peers(&host).await?;
        let opening = Opening {
            host: &host,
            client: self.client.as_ref(),
            tokens: &Tokens::default(),
            bind: None,
            recorder: &recorder,
        };
        let protocol = StreamProtocol {
            tls: self.client.is_some().then(offer),
            ..StreamProtocol::default()
        };
        let mut opening_facts = OpeningFacts::default();
        let opened = opening
            .over_tcp(&peers, false, &protocol, &mut opening_facts)
            .await?;
        let mut connection = opened.connection;
        let (mut body, mut facts) = (BoundedBody::default(), HttpFacts::default());
        let request = Request {
            method: "GET".into(),
            target: self.target.clone(),
            headers: vec![("Accept".into(), "application/json".into())],
            body: Vec::new().into(),
            absolute_form: false,
        };
        let run = RequestRun {
            request: &request,
            decode: false,
            recorder: RequestRecorder::alone(&recorder),
            sink: &mut body,
            facts: &mut facts,
        };
        let outcome = connection.exchange(run).await;
        if body.over {
            return Err(FetchError::TooLarge(MAX_SET_SIZE));
        }
        outcome?;
        connection.close().await;
        match facts.status {
            200 => Ok(body.bytes),
            other => Err(FetchError::Status(other)),
        }
    }

    async fn peers(&self, host: &str) -> Result<Vec<SocketAddr>, FetchError> {
        let port = self.target.port;
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let wanted = Wanted {
            v4: true,
            v6: true,
            https: None,
        };
        let found = Resolver::system()?.look_up(host, wanted).await?;
        let addresses = found.addresses.into_iter();
        Ok(addresses.map(|a| SocketAddr::new(a, port)).collect())
    }
}

fn offer() -> Offer {
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data: false,
        resume: true,
        alpn: vec!["http/1.1"],
        quic: false,
    }
}

fn is_here(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

/// It may contain a password by mistake.
fn shown(url: &str) -> String {
    let host = url.rsplit_once('@').map_or(url, |(_, host)| host);
    host.chars().take(80).collect()
}

#[derive(Default)]
struct BoundedBody {
    bytes: Vec<u8>,
    over: bool,
}

impl Write for BoundedBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_SET_SIZE {
            self.over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
