//! Loads what values refer to: reads secrets, parses algorithms, opens the store.

use std::path::Path;
use std::sync::Arc;

use roundtrip_store::{Memory, Redb, RedisSettings, SharedStore};
use roundtrip_tls::Roots;
use roundtrip_wire::jwt::Algorithm;

use super::{Jwks, SecretFrom, SessionStore};
use crate::{GateError, Secret};

pub(crate) fn algorithm(name: &str) -> Result<Algorithm, GateError> {
    // A value that is much longer than a name may be a key in the wrong place.
    let told = if name.len() > 12 { "…" } else { name };
    Algorithm::named(name).ok_or_else(|| GateError::Algorithm(told.into()))
}

/// Opens the store. Redis is not contacted yet.
pub fn place(session: &SessionStore) -> Result<SharedStore, GateError> {
    Ok(match StoreKind::parse(&session.store) {
        StoreKind::Memory => SharedStore::Memory(Memory::default()),
        StoreKind::File(path) => SharedStore::Redb(Redb::open(path)?),
        StoreKind::Redis => SharedStore::Redis(Arc::new(redis(session)?)),
    })
}

pub(crate) fn redis(session: &SessionStore) -> Result<RedisSettings, GateError> {
    let mut settings = RedisSettings::from_url(&session.store)?;
    settings.prefix.clone_from(&session.prefix);
    let password = session.password.as_ref().map(SecretFrom::read);
    settings.password = password.transpose()?.map(Arc::new);
    let sentinel = &session.sentinel;
    let password = sentinel.password.as_ref().map(SecretFrom::read);
    settings.sentinel_password = password.transpose()?.map(Arc::new);
    settings.sentinel_user = Some(sentinel.user.clone()).filter(|user| !user.is_empty());
    if let Some(ca) = &session.tls.ca {
        settings.trust(Roots::File(ca.clone()))?;
    }
    Ok(settings)
}

/// The kind of store, by the beginning of its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StoreKind<'a> {
    Memory,
    File(&'a Path),
    /// Any other URL.
    Redis,
}

impl<'a> StoreKind<'a> {
    pub(crate) fn parse(store: &'a str) -> Self {
        match store.split_once(':') {
            Some(("memory", "")) => Self::Memory,
            // People also write `redb:///var/lib/x`.
            Some(("redb", path)) => Self::File(Path::new(path.strip_prefix("//").unwrap_or(path))),
            _ => Self::Redis,
        }
    }
}

impl SecretFrom {
    pub(crate) fn read(&self) -> Result<Secret, GateError> {
        Ok(match self {
            Self::File(path) => Secret::from_shared_file(path)?,
            Self::Env(name) => Secret::from_env(name)?,
        })
    }

    /// Reads a file that need not be secret.
    pub(crate) fn read_public(&self) -> Result<Secret, GateError> {
        Ok(match self {
            Self::File(path) => Secret::read(path)?.0,
            Self::Env(name) => Secret::from_env(name)?,
        })
    }
}

impl Jwks {
    /// The algorithms of a set's keys if the configuration names none. They include none with
    /// secrets, because a set at a URL is not secret.
    pub(super) fn usual_algorithms() -> Vec<String> {
        let usual = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
        usual.map(|algorithm| algorithm.name().to_owned()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_by_how_they_begin() {
        for (store, kept) in [
            ("memory:", StoreKind::Memory),
            ("redb:/a/b", StoreKind::File(Path::new("/a/b"))),
            ("redb:///a/b", StoreKind::File(Path::new("/a/b"))),
            ("redis://h", StoreKind::Redis),
            ("unix:/run/redis", StoreKind::Redis),
            ("", StoreKind::Redis),
        ] {
            assert_eq!(StoreKind::parse(store), kept, "{store}");
        }
    }

    #[test]
    fn stores_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let open = |store: String| {
            place(&SessionStore {
                store,
                ..SessionStore::default()
            })
        };
        assert!(matches!(open("memory:".into()), Ok(SharedStore::Memory(_))));
        let path = folder.path().join("s");
        let redb = open(format!("redb:{}", path.display()));
        assert!(matches!(redb, Ok(SharedStore::Redb(_))));
        assert!(matches!(open("redis://h/2".into()), Ok(SharedStore::Redis(s)) if s.database == 2));
        for several in ["redis+cluster://h,i:1", "rediss+sentinel://h,i/mymaster"] {
            assert!(
                matches!(open(several.into()), Ok(SharedStore::Redis(_))),
                "{several}"
            );
        }
        assert!(open("redis+sentinel://h".into()).is_err());
        assert!(open("mysql://h".into()).is_err());
        assert!(open("redb:".into()).is_err());
    }
}
