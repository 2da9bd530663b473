//! The guard's rules, made from the configuration, with the keys that verify and the keys that
//! unseal.

use std::sync::Arc;

use roundtrip_wire::jwt::Algorithm;

use super::credentials::Vault;
use super::guard::{CookieForm, Keys, Rules};
use super::login::LoginRules;
use crate::GateError;
use crate::config::meaning::algorithm;
use crate::config::{Config, SessionStore, SigningKey, TokenForm, Tokens};

/// The guard's rules. They do not include a JWK Set at a URL, which is fetched while gate runs.
pub(crate) fn rules(config: &Config) -> Result<Rules, GateError> {
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
    rules.login = config
        .login
        .as_ref()
        .map(|login| Arc::new(LoginRules::new(login)));
    rules.leeway = token.leeway.0;
    rules.tokens = token.remembered;
    rules.sessions = config.session.remembered;
    Ok(rules)
}

/// The keys of the configuration, and of a JWK Set in a file.
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

/// The algorithms of the configured keys, and those that a JWK Set's keys may have.
pub(crate) fn allowed(token: &Tokens) -> Result<Vec<Algorithm>, GateError> {
    let of_set = token.jwks.iter().flat_map(|jwks| &jwks.algorithms);
    let named = token.key.iter().map(|key| &key.algorithm).chain(of_set);
    named.map(|name| algorithm(name)).collect()
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Config {
        Config::parse(text, "test").unwrap()
    }

    #[test]
    fn the_guard_s_rules_are_those_of_the_file() {
        let mut key = tempfile::NamedTempFile::new().unwrap();
        key.write_all(&[b'k'; 32]).unwrap();
        let config = read(&format!(
            "[token]\ncookie = \"\"\ncookie_form = \"raw\"\nbearer = false\nleeway = \"5s\"\nremembered = 7\n\
             [session]\nremembered = 9\n\
             [[token.key]]\nalgorithm = \"HS256\"\nfrom = {{ file = \"{}\" }}",
            key.path().display()
        ));
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
}
