//! The binding of a session to the client's trust and identity. A session that was made without
//! verifying certificates, or under another authority, or as another client, must not let a later
//! connection skip its verification.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Identity, Roots, TlsError, digest};

impl Roots {
    /// A digest that is the same for the same trust.
    pub fn fingerprint(&self) -> Result<[u8; 32], TlsError> {
        trust_fingerprint(self, None)
    }
}

/// A digest that is the same for the same trust and the same identity.
///
/// Files are identified by number, size and time of their last change, and are not read: when a
/// system's certificates are updated, stored sessions become invalid.
pub(crate) fn trust_fingerprint(
    roots: &Roots,
    identity: Option<&Identity>,
) -> Result<[u8; 32], TlsError> {
    let mut text = match roots {
        Roots::Empty => "nothing".to_owned(),
        Roots::Anything => "anything".to_owned(),
        Roots::Pem(pem) => format!("pem {pem}"),
        Roots::File(path) => file(path)?,
        Roots::System => file(&Roots::system_bundle()?)?,
    };
    if let Some(identity) = identity {
        let key = identity.key.as_ref().unwrap_or(&identity.certificate);
        for path in [&identity.certificate, key] {
            text.push('\0');
            text.push_str(&file(path)?);
        }
    }
    let digest = digest::sha256(text.as_bytes());
    let mut fingerprint = [0; 32];
    for (to, from) in fingerprint.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    Ok(fingerprint)
}

fn file(path: &Path) -> Result<String, TlsError> {
    let metadata = path.metadata().map_err(|source| TlsError::Unreadable {
        path: path.into(),
        source,
    })?;
    let (number, size) = (metadata.ino(), metadata.size());
    let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
    Ok(format!("file {number} {size} {seconds}.{nanos:09}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_with_other_trust_or_identity_have_other_fingerprints() {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        for path in [&a, &b] {
            std::fs::write(path, "certificates").unwrap();
        }
        let me = Identity {
            certificate: b.clone(),
            key: None,
        };
        let fingerprints = || {
            let pem = |text: &str| trust_fingerprint(&Roots::Pem(text.into()), None).unwrap();
            let as_me = trust_fingerprint(&Roots::File(a.clone()), Some(&me)).unwrap();
            let files =
                [&a, &b].map(|path| trust_fingerprint(&Roots::File(path.clone()), None).unwrap());
            let nobody = trust_fingerprint(&Roots::Anything, None).unwrap();
            [vec![pem("x"), pem("y"), nobody, as_me], files.to_vec()].concat()
        };
        let all = fingerprints();
        assert_eq!(all, fingerprints());
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(trust_fingerprint(&Roots::File("/nowhere/ca.pem".into()), None).is_err());
    }
}
