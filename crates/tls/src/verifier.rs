//! A certificate verifier that records its verdict, the stapled answer, and the time it took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use roundtrip_model::{Recorder, Task};
use roundtrip_wire::x509::Certificate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::verified::Presented;
use crate::{Roots, TlsError, compression, is_an_authoritys, seal};

/// The observations of one verification.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observation {
    pub(crate) verdict: Option<CertificateError>,
    /// The chain that was refused; a connection that failed cannot report it.
    refused: Vec<CertificateDer<'static>>,
    pub(crate) stapled_ocsp: bool,
    pub(crate) compressed: Option<(&'static str, u64)>,
    pub(crate) took: Duration,
}

/// Verifies certificates by webpki under the client's trust, and records its observations, because
/// a TLS configuration gives no access to them.
#[derive(Debug)]
pub struct RecordingVerifier {
    roots: Roots,
    provider: Arc<CryptoProvider>,
    inner: OnceLock<Option<Inner>>,
    seen: Mutex<Observation>,
    /// Whether a chain that was verified a short time ago is accepted at once.
    remembers: AtomicBool,
}

/// webpki's verifier, and the roots that it trusts.
#[derive(Debug)]
struct Inner {
    verifier: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
}

impl RecordingVerifier {
    /// Reads roots that a user named immediately, so that a bad file is reported before any packet
    /// is sent.
    pub(crate) fn new(roots: Roots, provider: Arc<CryptoProvider>) -> Result<Arc<Self>, TlsError> {
        let verifier = Self {
            roots,
            provider,
            inner: OnceLock::new(),
            seen: Mutex::default(),
            remembers: AtomicBool::new(false),
        };
        if let Roots::File(_) | Roots::Pem(_) = verifier.roots {
            let loaded = verifier.load()?;
            let _ = verifier.inner.set(loaded);
        }
        Ok(Arc::new(verifier))
    }

    fn load(&self) -> Result<Option<Inner>, TlsError> {
        let roots = self.roots.load()?;
        let provider = self.provider.clone();
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider);
        let verifier = builder.build().ok();
        Ok(verifier.map(|verifier| Inner { verifier, roots }))
    }

    /// Accepts chains from now on that any client of this process verified a short time ago under
    /// the same roots.
    pub(crate) fn remember(&self) {
        // Text is parsed for each client, so that no two have the same roots.
        let may = matches!(self.roots, Roots::System | Roots::File(_));
        self.remembers.store(may, Ordering::Relaxed);
    }

    /// The verifier and its roots; `None` if the system's roots cannot be read. Every certificate
    /// then has an unknown issuer.
    fn inner(&self) -> Option<&Inner> {
        self.inner
            .get_or_init(|| self.load().ok().flatten())
            .as_ref()
    }

    /// Loads the trusted certificates, if they are not loaded.
    pub fn prepare(&self, recorder: &Recorder) {
        if self.inner.get().is_none() && self.roots != Roots::Anything {
            recorder.timed(Task::LoadRoots, || self.inner());
        }
    }

    /// Takes the observations since the last call.
    pub(crate) fn take_observation(&self) -> Observation {
        self.note(std::mem::take)
    }

    /// Why the verifier refused the last chain; `None` if it accepted it.
    pub fn refusal(&self) -> Option<CertificateError> {
        self.note(|seen| seen.verdict.clone())
            .filter(|_| self.roots != Roots::Anything)
    }

    /// The time spent verifying since the last observation was taken.
    pub fn took(&self) -> Duration {
        self.note(|seen| seen.took)
    }

    /// Accepts a certificate that the user named as trusted although it is a CA certificate (as
    /// `openssl req -x509` makes them), which webpki refuses for servers. Only its dates, which
    /// webpki checks first, and its name remain to be checked.
    fn is_own_anchor(
        &self,
        error: Error,
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
    ) -> Result<(), Error> {
        if is_authority(&error) && self.roots.names(end_entity) {
            return verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name);
        }
        Err(error)
    }

    /// webpki's verdict, which does not depend on a stapled answer.
    fn verdict(
        &self,
        inner: &Inner,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let presented = self.remembers.load(Ordering::Relaxed);
        let presented = presented.then(|| Presented::new(end_entity, intermediates, server_name));
        let presented = presented.flatten();
        if let Some(presented) = &presented
            && presented.is_verified(&inner.roots, now)
        {
            return Ok(());
        }
        let verifier = &inner.verifier;
        verifier.verify_server_cert(end_entity, intermediates, server_name, &[], now)?;
        if let Some(presented) = presented {
            presented.remember(&inner.roots, now);
        }
        Ok(())
    }

    fn note<T>(&self, work: impl FnOnce(&mut Observation) -> T) -> T {
        let began = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let out = work(&mut seen);
        seen.took += began.elapsed();
        out
    }
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // It was verified when the session was received, under the same trust. The seal proves that
        // our own server shows it.
        if seal::is_shown(end_entity) {
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
                Some(inner) => self
                    .verdict(inner, end_entity, intermediates, server_name, now)
                    .or_else(|error| self.is_own_anchor(error, end_entity, server_name)),
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
        if seal::is_sealed(cert, dss.signature()) {
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

fn is_authority(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(error) if is_an_authoritys(error))
}

impl Observation {
    /// OpenSSL's number for the verdict, which curl reports as `ssl_verify_result`; 0 if the
    /// certificate is valid.
    pub(crate) fn verify_result(&self) -> u32 {
        match &self.verdict {
            // OpenSSL distinguishes a self-signed leaf from one of an unknown issuer.
            Some(CertificateError::UnknownIssuer) if self.is_self_signed() => 18,
            Some(error) if is_an_authoritys(error) && self.is_self_signed() => 18,
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

#[cfg(test)]
mod tests;
