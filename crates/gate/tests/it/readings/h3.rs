//! HTTP/3 with our own client, which sends fields as they are given, including those that no
//! correct client would send. RFC 9114.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;

use roundtrip_quic::{ClientConfig, Transport};
use roundtrip_quic_tokio::{
    Connection, Endpoint, H3Error, H3Requests, MessagePart, MessageStream, RecvStream, connect,
};
use roundtrip_wire::h3::SectionLimits;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::lifecycle::scene::{PATIENCE, Scene};
use crate::readings::h2::Answered;
use crate::runtime;
use crate::tls_client::h3_config;

const LIMITS: SectionLimits = SectionLimits {
    fields: 100,
    size: 64 << 10,
};

/// Nothing happens on it between requests.
pub(crate) struct Client {
    runtime: Runtime,
    connection: Connection,
    requests: H3Requests,
    driver: JoinHandle<H3Error>,
    _endpoint: Endpoint,
}

impl Client {
    pub(crate) fn open(scene: &Scene) -> Self {
        let runtime = runtime();
        let opened = async {
            let engine = roundtrip_quic::Endpoint::new(None, [7; 32]);
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let endpoint = Endpoint::new(socket, engine).unwrap();
            let to = scene.gate().addresses().https[0];
            let connection = endpoint.connect(&config(scene), to, "localhost").unwrap();
            connection.connected().await.unwrap();
            let (requests, mut driver) = connect(&connection, LIMITS).await.unwrap();
            let driver = std::future::poll_fn(move |cx| driver.poll(cx));
            (endpoint, connection, requests, tokio::spawn(driver))
        };
        let opened = async { timeout(PATIENCE, opened).await.unwrap() };
        let (endpoint, connection, requests, driver) = runtime.block_on(opened);
        Self {
            runtime,
            connection,
            requests,
            driver,
            _endpoint: endpoint,
        }
    }

    /// A request without a body, and its whole answer. No status if the stream was reset.
    pub(crate) fn ask(&mut self, fields: &[(&str, &[u8])]) -> Answered {
        let asked = async { timeout(PATIENCE, ask(&self.requests, fields)).await };
        let answered = self.runtime.block_on(asked).unwrap();
        Answered {
            over: self.connection.close_reason().is_some() || self.driver.is_finished(),
            ..answered.unwrap_or_default()
        }
    }
}

async fn ask(requests: &H3Requests, fields: &[(&str, &[u8])]) -> Result<Answered, H3Error> {
    let (mut sender, mut stream) = requests.open().await?;
    sender.section(fields.iter().map(|(name, value)| (name.as_bytes(), *value)));
    sender.finish().await?;
    answer(&mut stream).await
}

async fn answer(stream: &mut MessageStream<RecvStream>) -> Result<Answered, H3Error> {
    let mut answered = Answered::default();
    while let Some(part) = stream.next(16 << 10).await? {
        match part {
            MessagePart::Head(section) => {
                let status = section.lines().find(|(name, _)| *name == b":status");
                let digits = status.and_then(|(_, value)| std::str::from_utf8(value).ok());
                answered.status = digits.and_then(|d| d.parse().ok()).unwrap_or(0);
            }
            MessagePart::Data(bytes) => answered.body.extend_from_slice(&bytes),
            MessagePart::Trailers(_) => {}
        }
    }
    Ok(answered)
}

fn config(scene: &Scene) -> ClientConfig {
    let tls = h3_config(scene.gate().certificate());
    ClientConfig::new(Arc::new(tls), Arc::new(Transport::default()))
}
