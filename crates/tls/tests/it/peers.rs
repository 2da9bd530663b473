//! Both peers over a pipe in memory, and the result of one connection.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_model::{EarlyData, Moment, Recorder, TlsFacts};
use roundtrip_tls::{Client, Offer, Roots, ServerStream, StoredSession, TlsError};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::PrivateKeyDer;
use rustls::{CipherSuite, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

pub(crate) const HOST: &str = "localhost";
pub(crate) const HOUR: Duration = Duration::from_hours(1);

pub(crate) fn recorder() -> Recorder {
    Recorder::new(Arc::new(Moment::ZERO))
}

/// A server whose certificate is its own authority and expires in twelve hours, half the lifetime
/// of its tickets.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) pem: String,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(aws_lc_rs::default_provider())
    }

    pub(crate) fn of_suite(suite: CipherSuite) -> Self {
        let mut provider = aws_lc_rs::default_provider();
        provider.cipher_suites.retain(|s| s.suite() == suite);
        Self::with(provider)
    }

    pub(crate) fn with(provider: CryptoProvider) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec![HOST.into(), "::1".into()]).unwrap();
        params.not_after = (SystemTime::now() + 12 * HOUR).into();
        let certificate = params.self_signed(&key).unwrap();
        let mut config = ServerConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.max_early_data_size = 16 * 1024;
        config.send_half_rtt_data = true;
        Self {
            config,
            pem: certificate.pem(),
        }
    }

    /// A client that trusts this server: a new one each time, as in each process.
    pub(crate) fn client(&self) -> Client {
        Client::new(Roots::Pem(self.pem.clone()), None).unwrap()
    }

    pub(crate) fn shared(&self) -> Arc<ServerConfig> {
        Arc::new(self.config.clone())
    }
}

pub(crate) fn offer() -> Offer {
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data: true,
        resume: true,
        alpn: vec![],
        quic: false,
    }
}

/// The client sends "ping", in early data if it can, and receives "pong".
pub(crate) async fn visit(
    client: &Client,
    server: &Arc<ServerConfig>,
    host: &str,
) -> Result<TlsFacts, TlsError> {
    let (near, far) = duplex(1 << 16);
    let server = server.clone();
    let serving = tokio::spawn(async move {
        let mut stream = ServerStream::new(far, server).unwrap();
        let mut heard = [0; 4];
        if stream.read_exact(&mut heard).await.is_ok() {
            stream.write_all(b"pong").await.unwrap();
            stream.flush().await.unwrap();
            let _ = stream.read(&mut [0; 1]).await;
            let _ = stream.shutdown().await;
        }
    });
    let mut stream = client.connect(near, &offer(), host, &recorder())?;
    if !stream.takes_early_data() {
        stream.handshake().await?;
    }
    stream.write_all(b"ping").await?;
    stream.flush().await?;
    let mut heard = [0; 4];
    stream.read_exact(&mut heard).await?;
    assert_eq!(&heard, b"pong");
    stream.shutdown().await?;
    // Tickets follow a Finished that can have left only now.
    stream.read_to_end(&mut Vec::new()).await?;
    serving.await.unwrap();
    Ok(stream.facts().get().unwrap().clone())
}

/// Whether the visit was resumed, with early data that the server accepted.
pub(crate) fn is_early(facts: &TlsFacts) -> bool {
    facts.resumed && facts.early_data == EarlyData::Accepted
}

/// The sessions that a first client has to keep.
pub(crate) async fn kept(server: &Server, shared: &Arc<ServerConfig>) -> Vec<StoredSession> {
    let client = server.client();
    let facts = visit(&client, shared, HOST).await.unwrap();
    assert!(!facts.resumed);
    client.take_sessions(false, HOST)
}

/// The same bytes with other content and a matching checksum.
pub(crate) fn changed(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut content = bytes[..bytes.len() - 32].to_vec();
    change(&mut content);
    let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let checksum = suite.tls13().unwrap().common.hash_provider.hash(&content);
    content.extend_from_slice(checksum.as_ref());
    content
}
