//! A rustls client that reports what happened to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::compress::{CertDecompressor, DecompressionFailed};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateCompressionAlgorithm, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    HandshakeKind, RootCertStore, SignatureScheme, SupportedProtocolVersion, version,
};

use crate::peers::Peer;

/// Visits that share a ticket store.
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    observer: Arc<Observer>,
    address: std::net::SocketAddr,
}

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) kind: HandshakeKind,
    pub(crate) answer: String,
    pub(crate) chain: usize,
    pub(crate) decompressed: bool,
    pub(crate) stapled: usize,
    /// Whether a request left early, and whether the server accepted it.
    pub(crate) early: Option<bool>,
}

impl TlsClient {
    pub(crate) fn new(peer: &Peer) -> Self {
        Self::of_version(peer, &version::TLS13)
    }

    pub(crate) fn of_version(peer: &Peer, version: &'static SupportedProtocolVersion) -> Self {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(peer.origin.ca_pem.as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .unwrap();
        let observer = Arc::new(Observer {
            verifier,
            stapled: AtomicUsize::new(0),
        });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(observer.clone())
            .with_no_client_auth();
        config.enable_early_data = true;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.cert_decompressors = vec![&Unzip(&SEEN)];
        Self {
            config: Arc::new(config),
            observer,
            address: peer.origin.https,
        }
    }

    /// Sends one request on a new connection: as early data if a ticket allows it.
    pub(crate) fn get(&self, path: &str) -> Report {
        let mut tcp = TcpStream::connect(self.address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(self.config.clone(), name).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let early = tls
            .early_data()
            .is_some_and(|mut early| early.write_all(request.as_bytes()).is_ok());
        SEEN.with(|seen| seen.store(false, Ordering::Relaxed));
        while tls.is_handshaking() {
            tls.complete_io(&mut tcp).unwrap();
        }
        let accepted = tls.is_early_data_accepted();
        let kind = tls.handshake_kind().unwrap();
        let chain = tls.peer_certificates().unwrap_or_default();
        let chain = chain.iter().map(|der| der.len()).sum();
        let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
        if !early || !accepted {
            stream.write_all(request.as_bytes()).unwrap();
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Report {
            kind,
            answer: String::from_utf8_lossy(&answer).into_owned(),
            chain,
            decompressed: SEEN.with(|seen| seen.load(Ordering::Relaxed)),
            stapled: self.observer.stapled.load(Ordering::Relaxed),
            early: early.then_some(accepted),
        }
    }
}

thread_local! {
    /// Rustls decompresses on the thread that reads, and each test has a separate one.
    static SEEN: AtomicBool = const { AtomicBool::new(false) };
}

#[derive(Debug)]
struct Unzip(&'static std::thread::LocalKey<AtomicBool>);

impl CertDecompressor for Unzip {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        self.0.with(|seen| seen.store(true, Ordering::Relaxed));
        flate2::read::ZlibDecoder::new(input)
            .read_exact(output)
            .map_err(|_| DecompressionFailed)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zlib
    }
}

#[derive(Debug)]
struct Observer {
    verifier: Arc<WebPkiServerVerifier>,
    stapled: AtomicUsize,
}

impl ServerCertVerifier for Observer {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.stapled.store(ocsp.len(), Ordering::Relaxed);
        self.verifier.verify_server_cert(leaf, rest, name, &[], now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
