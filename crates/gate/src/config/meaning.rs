//! What the values stand for: secrets that are read, keys that verify and unseal, the store that is opened.

use std::path::Path;
use std::sync::Arc;

use roundtrip_store::{Memory, Place, Redb, RedisSettings};
use roundtrip_tls::Roots;
use roundtrip_wire::jwt::Algorithm;

use super::{Config, Jwks, SecretFrom, SessionStore, SigningKey, TokenForm, Tokens};
use crate::credentials::Vault;
use crate::guard::{CookieForm, Keys, Rules};
use crate::{GateError, Secret};

/// What the guard goes by. A set of keys that is at a URL is not in it: it is fetched while gate runs.
pub fn rules(config: &Config) -> Result<Rules, GateError> {
    let token = &config.token;
    let mut rules = Rules::new(keys(token)?, vault(&config.session)?);
    rules.cookie = Some(token.cookie.clone()).filter(|name| !name.is_empty());
    rules.cookie_form = match token.cookie_form {
        TokenForm::Base64 => CookieForm::Base64,
        TokenForm::Raw => CookieForm::Raw,
    };
    rules.bearer = token.bearer;
    rules.issuer.clone_from(&token.issuer);
    rules.audience.clone_from(&token.audience);
    rules.leeway = token.leeway.0;
    rules.tokens = token.remembered;
    rules.sessions = config.session.remembered;
    Ok(rules)
}

/// From the configuration's own keys, and a set in a file.
pub(crate) fn keys(token: &Tokens) -> Result<Keys, GateError> {
    let mut keys = Keys::new(&allowed(token)?);
    for key in &token.key {
        add_key(&mut keys, key)?;
    }
    if let Some(file) = token.jwks.as_ref().and_then(|jwks| jwks.file.as_ref()) {
        keys.add_jwks_file(file)?;
    }
    Ok(keys)
}

/// The algorithms of the keys; and those that a set's keys may have.
pub(crate) fn allowed(token: &Tokens) -> Result<Vec<Algorithm>, GateError> {
    let of_set = token.jwks.iter().flat_map(|jwks| &jwks.algorithms);
    let named = token.key.iter().map(|key| &key.algorithm).chain(of_set);
    named.map(|name| algorithm(name)).collect()
}

pub(crate) fn algorithm(name: &str) -> Result<Algorithm, GateError> {
    // What is much longer than a name may be a key that stands in the wrong place.
    let told = if name.len() > 12 { "…" } else { name };
    Algorithm::named(name).ok_or_else(|| GateError::Algorithm(told.into()))
}

pub(crate) fn add_key(keys: &mut Keys, key: &SigningKey) -> Result<(), GateError> {
    let (algorithm, id) = (algorithm(&key.algorithm)?, key.id.as_deref());
    match algorithm {
        Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
            keys.add_secret(algorithm, id, &key.from.read()?)
        }
        _ => keys.add_pem(algorithm, id, key.from.read_public()?.expose()),
    }
}

pub(crate) fn vault(session: &SessionStore) -> Result<Vault, GateError> {
    let mut vault = Vault::default();
    for key in &session.seal {
        vault.add_key(&key.id, &key.from.read()?)?;
    }
    if let Some(cbc) = &session.cbc {
        vault.read_cbc(&cbc.from.read()?)?;
    }
    if !session.plain {
        vault.refuse_plain();
    }
    Ok(vault)
}

/// Opens the store. Redis is not asked yet.
pub fn place(session: &SessionStore) -> Result<Place, GateError> {
    Ok(match Kept::of(&session.store) {
        Kept::Memory => Place::Memory(Memory::default()),
        Kept::File(path) => Place::Redb(Redb::open(path)?),
        Kept::Redis => Place::Redis(Arc::new(redis(session)?)),
    })
}

pub(crate) fn redis(session: &SessionStore) -> Result<RedisSettings, GateError> {
    let mut settings = RedisSettings::from_url(&session.store)?;
    settings.prefix.clone_from(&session.prefix);
    let password = session.password.as_ref().map(SecretFrom::read);
    settings.password = password.transpose()?.map(Arc::new);
    if let Some(ca) = &session.tls.ca {
        settings.trust(Roots::File(ca.clone()))?;
    }
    Ok(settings)
}

/// Where sessions are, by how its name begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept<'a> {
    Memory,
    File(&'a Path),
    /// Or what is none of the others.
    Redis,
}

impl<'a> Kept<'a> {
    pub(crate) fn of(store: &'a str) -> Self {
        match store.split_once(':') {
            Some(("memory", "")) => Self::Memory,
            // `redb:///var/lib/x` is what people write, too.
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

    /// What everybody may read.
    pub(crate) fn read_public(&self) -> Result<Secret, GateError> {
        Ok(match self {
            Self::File(path) => Secret::read(path)?.0,
            Self::Env(name) => Secret::from_env(name)?,
        })
    }
}

impl Jwks {
    /// What keys of a set may be for, where the configuration does not say: no secrets, for what is at a URL is no secret.
    pub(super) fn usual_algorithms() -> Vec<String> {
        let usual = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
        usual.map(|algorithm| algorithm.name().to_owned()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Config {
        Config::parse(text, "test").unwrap()
    }

    #[test]
    fn the_guard_s_rules_are_those_of_the_file() {
        // Cargo sets these for every test; the first is as long as a key has to be.
        let config = read(
            "[token]\ncookie = \"\"\ncookie_form = \"raw\"\nbearer = false\nleeway = \"5s\"\nremembered = 7\n\
             [session]\nremembered = 9\n\
             [[token.key]]\nalgorithm = \"HS256\"\nfrom = { env = \"CARGO_PKG_DESCRIPTION\" }",
        );
        let rules = rules(&config).unwrap();
        assert_eq!((rules.cookie, rules.bearer), (None, false));
        assert_eq!(rules.cookie_form, CookieForm::Raw);
        assert_eq!(rules.leeway, Duration::from_secs(5));
        assert_eq!((rules.tokens, rules.sessions), (7, 9));
        assert_eq!(rules.keys.len(), 1);
        assert_eq!(allowed(&config.token).unwrap(), [Algorithm::Hs256]);
    }

    #[test]
    fn an_algorithm_that_is_none_is_named() {
        let config =
            read("[[token.key]]\nalgorithm = \"none\"\nfrom = { env = \"CARGO_PKG_DESCRIPTION\" }");
        let error = rules(&config).err().unwrap().to_string();
        assert!(
            error.contains("'none'") && error.contains("HS512"),
            "{error}"
        );
    }

    #[test]
    fn stores_are_told_by_how_they_begin() {
        for (store, kept) in [
            ("memory:", Kept::Memory),
            ("redb:/a/b", Kept::File(Path::new("/a/b"))),
            ("redb:///a/b", Kept::File(Path::new("/a/b"))),
            ("redis://h", Kept::Redis),
            ("unix:/run/redis", Kept::Redis),
            ("", Kept::Redis),
        ] {
            assert_eq!(Kept::of(store), kept, "{store}");
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
        assert!(matches!(open("memory:".into()), Ok(Place::Memory(_))));
        let path = folder.path().join("s");
        let redb = open(format!("redb:{}", path.display()));
        assert!(matches!(redb, Ok(Place::Redb(_))));
        assert!(matches!(open("redis://h/2".into()), Ok(Place::Redis(s)) if s.database == 2));
        assert!(open("mysql://h".into()).is_err());
        assert!(open("redb:".into()).is_err());
    }
}
