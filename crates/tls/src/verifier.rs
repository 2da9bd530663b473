//! A certificate verifier that says what it saw: the verdict, the stapled answer, the time it took.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use roundtrip_model::{Recorder, Task};
use roundtrip_wire::x509::Certificate;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use crate::{Roots, TlsError, compression, planting};

/// What one verification showed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observation {
    pub(crate) verdict: Option<CertificateError>,
    /// The chain that was refused; a connection that was not made has none.
    refused: Vec<CertificateDer<'static>>,
    pub(crate) stapled_ocsp: bool,
    pub(crate) compressed: Option<(&'static str, u64)>,
    pub(crate) took: Duration,
}

/// Looks at the verifier from outside, while it is buried in a TLS configuration.
#[derive(Debug, Clone)]
pub struct Witness(Arc<Verifier>);

#[derive(Debug)]
pub(crate) struct Verifier {
    roots: Roots,
    provider: Arc<CryptoProvider>,
    inner: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
    seen: Mutex<Observation>,
}

impl Verifier {
    /// Roots that a user named are read now, so that a bad file is known before any packet leaves.
    pub(crate) fn new(roots: Roots, provider: Arc<CryptoProvider>) -> Result<Arc<Self>, TlsError> {
        let verifier = Self {
            roots,
            provider,
            inner: OnceLock::new(),
            seen: Mutex::default(),
        };
        if let Roots::File(_) | Roots::Pem(_) = verifier.roots {
            let loaded = verifier.load()?;
            let _ = verifier.inner.set(loaded);
        }
        Ok(Arc::new(verifier))
    }

    fn load(&self) -> Result<Option<Arc<WebPkiServerVerifier>>, TlsError> {
        let roots = self.roots.load()?;
        Ok(
            WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone())
                .build()
                .ok(),
        )
    }

    /// The system's roots that cannot be read make every certificate one of unknown issuer.
    fn inner(&self) -> Option<&WebPkiServerVerifier> {
        self.inner
            .get_or_init(|| self.load().ok().flatten())
            .as_deref()
    }

    fn note<T>(&self, work: impl FnOnce(&mut Observation) -> T) -> T {
        let began = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let out = work(&mut seen);
        seen.took += began.elapsed();
        out
    }
}

impl Witness {
    pub(crate) fn new(verifier: Arc<Verifier>) -> Self {
        Self(verifier)
    }

    /// Loads the trusted certificates, if nobody did yet.
    pub fn prepare(&self, recorder: &Recorder) {
        if self.0.inner.get().is_none() && self.0.roots != Roots::Anything {
            recorder.timed(Task::LoadRoots, || self.0.inner());
        }
    }

    /// What was seen since the last call.
    pub(crate) fn take(&self) -> Observation {
        self.0.note(std::mem::take)
    }

    /// Why the verifier refused the last chain, if it did.
    pub fn refusal(&self) -> Option<CertificateError> {
        self.0
            .note(|seen| seen.verdict.clone())
            .filter(|_| self.0.roots != Roots::Anything)
    }

    /// Time spent verifying since it was last taken.
    pub fn took(&self) -> Duration {
        self.0.note(|seen| seen.took)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Verified when the session was made, under the same trust; who shows it is told by the signature's place.
        if planting::shows(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        let outcome = self.note(|seen| {
            seen.stapled_ocsp = !ocsp_response.is_empty();
            seen.compressed = compression::take_last();
            let inner = if self.roots == Roots::Anything {
                None
            } else {
                self.inner()
            };
            let verdict = match inner {
                Some(inner) => inner
                    .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                    .map(|_| ()),
                None => Err(CertificateError::UnknownIssuer.into()),
            };
            if let Err(Error::InvalidCertificate(error)) = &verdict {
                seen.verdict = Some(error.clone());
                seen.refused = std::iter::once(end_entity)
                    .chain(intermediates)
                    .map(|c| c.clone().into_owned())
                    .collect();
            }
            verdict
        });
        match outcome {
            Err(error) if self.roots != Roots::Anything => Err(error),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note(|_| {
            verify_tls12_signature(
                message,
                cert,
                dss,
                &self.provider.signature_verification_algorithms,
            )
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if planting::sealed(cert, dss.signature()) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        self.note(|_| {
            verify_tls13_signature(
                message,
                cert,
                dss,
                &self.provider.signature_verification_algorithms,
            )
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl Observation {
    /// OpenSSL's number for the verdict, which is what curl reports as `ssl_verify_result`; 0 for a good one.
    pub(crate) fn verify_result(&self) -> u32 {
        match &self.verdict {
            // OpenSSL tells a leaf that vouches for itself from one that nobody here knows.
            Some(CertificateError::UnknownIssuer) if self.is_self_signed() => 18,
            verdict => verdict.as_ref().map_or(0, openssl_code),
        }
    }

    pub(crate) fn refused_chain(&self) -> Option<&[CertificateDer<'static>]> {
        Some(self.refused.as_slice()).filter(|chain| !chain.is_empty())
    }

    fn is_self_signed(&self) -> bool {
        let leaf = self.refused.first().map(|der| Certificate::parse(der));
        matches!(leaf, Some(Ok(leaf)) if leaf.is_self_issued())
    }
}

fn openssl_code(error: &CertificateError) -> u32 {
    match error {
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => 9,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => 10,
        CertificateError::UnknownIssuer => 20,
        CertificateError::Revoked => 23,
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => 26,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => 62,
        CertificateError::BadSignature => 7,
        _ => 1,
    }
}
