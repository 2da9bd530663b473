//! A certificate chain and its key in two PEM files that may be replaced at any time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::{GateError, Secret, config};

/// The longest useful chain is shorter.
const MAX_CHAIN_LENGTH: usize = 16;

#[derive(Debug)]
pub(super) struct Files {
    setting: config::CertificateFiles,
    /// The versions that were read last.
    read: FileVersions,
    /// The versions at the last check, if they were different: files that are being written now are
    /// not read yet.
    changed: Option<FileVersions>,
}

type FileVersions = [Option<FileVersion>; 2];

/// Distinguishes two versions of a file without reading them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    seconds: i64,
    nanoseconds: i64,
    length: u64,
    inode: u64,
}

impl FileVersion {
    fn read(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self {
            seconds: facts.mtime(),
            nanoseconds: facts.mtime_nsec(),
            length: facts.len(),
            inode: facts.ino(),
        })
    }
}

impl Files {
    pub(super) fn load(
        setting: &config::CertificateFiles,
        provider: &CryptoProvider,
    ) -> Result<(Self, CertifiedKey), GateError> {
        // Taken before the files are read, so that files that are replaced meanwhile are read
        // again.
        let files = Self {
            setting: setting.clone(),
            read: stamps(setting),
            changed: None,
        };
        let key = load(setting, provider)?;
        Ok((files, key))
    }

    pub(super) fn chain(&self) -> &Path {
        &self.setting.chain
    }

    /// `Some` once the files have changed and then stayed the same since the last check.
    pub(super) fn look(
        &mut self,
        provider: &CryptoProvider,
    ) -> Option<Result<CertifiedKey, GateError>> {
        let now = stamps(&self.setting);
        if now == self.read {
            self.changed = None;
            return None;
        }
        if self.changed.replace(now) != Some(now) {
            return None;
        }
        self.changed = None;
        self.read = now;
        Some(load(&self.setting, provider))
    }
}

fn stamps(setting: &config::CertificateFiles) -> FileVersions {
    [
        FileVersion::read(&setting.chain),
        FileVersion::read(&setting.key),
    ]
}

fn load(
    setting: &config::CertificateFiles,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, GateError> {
    let wrong = |path: &Path, why: String| GateError::Certificate {
        path: path.to_owned(),
        why,
    };
    let (pem, _) = Secret::read(&setting.chain)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.expose())
        .take(MAX_CHAIN_LENGTH + 1)
        .collect();
    let chain = chain.map_err(|e| wrong(&setting.chain, format!("it is not PEM: {e}")))?;
    if chain.is_empty() || chain.len() > MAX_CHAIN_LENGTH {
        let why = format!(
            "it holds {} certificates instead of 1 to {MAX_CHAIN_LENGTH}",
            chain.len()
        );
        return Err(wrong(&setting.chain, why));
    }
    let pem = Secret::from_shared_file(&setting.key)?;
    let key = PrivateKeyDer::from_pem_slice(pem.expose())
        .map_err(|e| wrong(&setting.key, format!("it holds no private key in PEM: {e}")))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|e| {
        wrong(
            &setting.key,
            format!("it is not the key of the certificate: {e}"),
        )
    })
}
