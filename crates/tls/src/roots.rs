//! The certificates a client trusts: from a file the user names, from memory, or the system's
//! bundle, read when first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::TlsError;

/// The paths of the bundle of trusted certificates on common systems.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/share/ssl/certs/ca-bundle.crt",
];

/// The files that were read last. A process that asks again and again, as the exporter does, would
/// spend most of its time on parsing the same bundle.
static RECENT: Mutex<Vec<RecentFile>> = Mutex::new(Vec::new());
const MAX_RECENT: usize = 8;

struct RecentFile {
    path: PathBuf,
    version: FileVersion,
    roots: Arc<RootCertStore>,
}

/// Identifies a version of a file. If the time or the size differs, the file is read again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    modified: SystemTime,
    size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// The file named by `SSL_CERT_FILE`, or the first bundle found.
    System,
    /// Only the certificates in this file are trusted (`--cacert`).
    File(PathBuf),
    /// Only these certificates, in PEM format, are trusted.
    Pem(String),
    /// No certificate is trusted, for a client that only uses clear text.
    Empty,
    /// Nothing is verified (`--insecure`).
    Anything,
}

impl Roots {
    pub(crate) fn load(&self) -> Result<Arc<RootCertStore>, TlsError> {
        match self {
            Self::Empty | Self::Anything => Ok(Arc::new(RootCertStore::empty())),
            Self::File(path) => read(path),
            Self::Pem(text) => parse(text.as_bytes())
                .map(Arc::new)
                .ok_or_else(|| TlsError::Pem {
                    path: "the given text".into(),
                    what: "certificate",
                }),
            Self::System => read(&Self::system_bundle()?),
        }
    }

    /// Whether the user named this same certificate.
    pub(crate) fn names(&self, certificate: &CertificateDer<'_>) -> bool {
        let pem = match self {
            Self::File(path) => std::fs::read(path).unwrap_or_default(),
            Self::Pem(text) => text.clone().into_bytes(),
            Self::System | Self::Empty | Self::Anything => return false,
        };
        CertificateDer::pem_slice_iter(&pem).any(|named| named.is_ok_and(|c| c == *certificate))
    }

    pub(crate) fn system_bundle() -> Result<PathBuf, TlsError> {
        if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
            return Ok(path.into());
        }
        BUNDLES
            .iter()
            .map(PathBuf::from)
            .find(|p| p.is_file())
            .ok_or_else(|| TlsError::NoRoots(BUNDLES.iter().map(ToString::to_string).collect()))
    }
}

fn read(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let unreadable = |source| TlsError::Unreadable {
        path: path.into(),
        source,
    };
    // Its version is taken first: if it is replaced meanwhile, it is read again the next time.
    let version = FileVersion::from_path(path).map_err(unreadable)?;
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = recent
        .iter()
        .find(|known| known.path == path && known.version == version)
    {
        return Ok(known.roots.clone());
    }
    let pem = std::fs::read(path).map_err(unreadable)?;
    let roots = parse(&pem).ok_or_else(|| TlsError::Pem {
        path: path.into(),
        what: "certificate",
    })?;
    let roots = Arc::new(roots);
    recent.retain(|known| known.path != path);
    recent.truncate(MAX_RECENT - 1);
    recent.insert(
        0,
        RecentFile {
            path: path.into(),
            version,
            roots: roots.clone(),
        },
    );
    Ok(roots)
}

impl FileVersion {
    fn from_path(path: &Path) -> std::io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self {
            modified: found.modified()?,
            size: found.len(),
        })
    }
}

/// Parses certificates; `None` if there is none.
fn parse(pem: &[u8]) -> Option<RootCertStore> {
    let mut store = RootCertStore::empty();
    let (added, _) =
        store.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
    (added > 0).then_some(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str) -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        let made = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        made.self_signed(&key).unwrap().pem()
    }

    #[test]
    fn a_file_is_parsed_once_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let load = || Roots::File(file.clone()).load().unwrap();
        std::fs::write(&file, certificate("a")).unwrap();
        let first = load();
        assert!(Arc::ptr_eq(&first, &load()));
        std::fs::write(&file, certificate("a") + &certificate("b")).unwrap();
        assert_eq!((first.len(), load().len()), (1, 2));
        std::fs::remove_file(&file).unwrap();
        let gone = Roots::File(file.clone()).load();
        assert!(matches!(gone, Err(TlsError::Unreadable { .. })));
    }

    #[test]
    fn text_without_a_certificate_is_refused() {
        let load = |text: &str| Roots::Pem(text.into()).load();
        assert!(matches!(load(""), Err(TlsError::Pem { .. })));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(load(broken), Err(TlsError::Pem { .. })));
    }
}
