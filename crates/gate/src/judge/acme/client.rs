//! Talks to the CA: its directory, nonces, and signed requests (RFC 8555 §6 and §7.1). Each answer
//! has a deadline and a size limit. Redirects are not followed, and only the directory's server is
//! contacted, whatever an answer says.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_fetch::pool::{Pool, PoolRequest, Reply};
use roundtrip_model::Target;
use roundtrip_report::clean;
use roundtrip_wire::http_date;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::AcmeError;
use super::account_key::{AccountKey, Signer};
use super::documents::StoredKey;
use crate::config::{Acme, SecretFrom};
use crate::error::FetchError;
use crate::judge::keyring::trusted_pool_within;
use crate::{GateError, Secret};

/// The time limit from the name lookup to an answer's last byte. Some CAs issue while they answer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_ANSWER: u64 = 64 * 1024;
const MAX_URL: usize = 2048;
const MAX_NONCE: usize = 1024;
/// The largest number of characters that are shown of the CA's explanation.
const MAX_DETAIL: usize = 300;
/// How often a request is sent while its nonce is refused. Pebble refuses one nonce in twenty.
const MAX_TRIES: usize = 6;
const PROBLEM_PREFIX: &str = "urn:ietf:params:acme:error:";
const USER_AGENT: &str = concat!("roundtrip-gate/", env!("CARGO_PKG_VERSION"));
const JOSE: &str = "application/jose+json";

pub(crate) struct AcmeClient {
    directory: Target,
    contact: Vec<String>,
    terms_agreed: bool,
    /// The account's name at the CA, and its secret.
    external: Option<(String, Secret)>,
    pool: Pool,
    nonce: RefCell<Option<String>>,
}

/// The CA's URLs. RFC 8555 §7.1.1.
pub(super) struct Directory {
    new_nonce: Target,
    new_account: String,
    pub(super) new_order: String,
    external_required: bool,
}

/// The account's key, and its URL.
pub(super) struct Account {
    pub(super) key: AccountKey,
    pub(super) key_document: StoredKey,
    pub(super) url: String,
}

pub(super) struct AcmeAnswer {
    pub(super) body: bytes::Bytes,
    pub(super) location: Option<String>,
    pub(super) retry_after: Option<Duration>,
}

impl AcmeClient {
    pub(crate) fn new(settings: &Acme) -> Result<Self, GateError> {
        let ca = settings.ca.as_deref();
        let made = trusted_pool_within(&settings.directory, ca, FETCH_TIMEOUT);
        let (directory, pool) = made.map_err(|error| GateError::Acme(error.to_string()))?;
        let external = settings.external_account.as_ref();
        let external = external.map(|external| {
            let key = hmac_key(&external.key)?;
            Ok::<_, GateError>((external.id.clone(), key))
        });
        Ok(Self {
            directory,
            contact: settings.contact.clone(),
            terms_agreed: settings.terms_agreed,
            external: external.transpose()?,
            pool,
            nonce: RefCell::default(),
        })
    }

    /// Whether the directory can be read and used.
    pub(crate) async fn answers(&self) -> Result<(), AcmeError> {
        self.directory().await.map(|_| ())
    }

    pub(super) async fn directory(&self) -> Result<Directory, AcmeError> {
        const WHAT: &str = "directory";
        let mut request = PoolRequest::new(self.directory.clone());
        request.headers = vec![("Accept".into(), "application/json".into())];
        let reply = self.fetch(WHAT, request).await?;
        let document = object(WHAT, &succeeded(WHAT, &reply)?.body)?;
        let url = |name: &str| {
            let url = document.get(name).and_then(Value::as_str);
            url.ok_or_else(|| broken(WHAT, format!("it has no {name}")))
        };
        let checked = |name| url(name).and_then(|url| self.target(WHAT, url).map(|_| url.into()));
        let required = document
            .get("meta")
            .and_then(|m| m.get("externalAccountRequired"));
        Ok(Directory {
            new_nonce: self.target(WHAT, url("newNonce")?)?,
            new_account: checked("newAccount")?,
            new_order: checked("newOrder")?,
            external_required: required == Some(&Value::Bool(true)),
        })
    }

    /// Registers the key, or finds its account. RFC 8555 §7.3.
    pub(super) async fn register(
        &self,
        directory: &Directory,
        key: &AccountKey,
    ) -> Result<String, AcmeError> {
        const WHAT: &str = "account";
        let url = &directory.new_account;
        let mut payload = json!({"termsOfServiceAgreed": self.terms_agreed});
        if !self.contact.is_empty() {
            payload["contact"] = json!(self.contact);
        }
        match &self.external {
            Some((id, secret)) => {
                payload["externalAccountBinding"] = key.bind(id, secret.expose(), url);
            }
            None if directory.external_required => {
                let why = "it accepts only known accounts; set acme.external_account";
                return Err(broken(WHAT, why));
            }
            None => {}
        }
        let payload = payload.to_string();
        let answer = self.post(directory, key, Signer::Key, WHAT, url, &payload);
        let location = answer.await?.location;
        let location = location.ok_or_else(|| broken(WHAT, "it has no URL"))?;
        self.target(WHAT, &location)?;
        Ok(location)
    }

    /// Sends a request that the account signs. An empty `payload` reads a resource.
    pub(super) async fn ask(
        &self,
        directory: &Directory,
        account: &Account,
        what: &'static str,
        url: &str,
        payload: &str,
    ) -> Result<AcmeAnswer, AcmeError> {
        let signer = Signer::Account(&account.url);
        self.post(directory, &account.key, signer, what, url, payload)
            .await
    }

    async fn post(
        &self,
        directory: &Directory,
        key: &AccountKey,
        signer: Signer<'_>,
        what: &'static str,
        url: &str,
        payload: &str,
    ) -> Result<AcmeAnswer, AcmeError> {
        let target = self.target(what, url)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let nonce = self.nonce(directory).await?;
            let body = key.sign(signer, url, &nonce, payload)?;
            let request = PoolRequest::post(target.clone(), JOSE, body);
            let reply = self.fetch(what, request).await?;
            match succeeded(what, &reply) {
                // The answer has a new one. RFC 8555 §6.5.
                Err(error) if tries < MAX_TRIES && error.is_problem("badNonce") => {}
                outcome => return outcome,
            }
        }
    }

    async fn nonce(&self, directory: &Directory) -> Result<String, AcmeError> {
        const WHAT: &str = "nonce";
        if let Some(nonce) = self.nonce.borrow_mut().take() {
            return Ok(nonce);
        }
        // RFC 8555 §7.2: GET is allowed as well as HEAD.
        let mut request = PoolRequest::new(directory.new_nonce.clone());
        request.early = false;
        let reply = self.fetch(WHAT, request).await?;
        succeeded(WHAT, &reply)?;
        let nonce = self.nonce.borrow_mut().take();
        nonce.ok_or_else(|| broken(WHAT, "the answer has none"))
    }

    async fn fetch(&self, what: &'static str, ask: PoolRequest) -> Result<Reply, AcmeError> {
        let mut ask = PoolRequest {
            limit: MAX_ANSWER,
            shares: false,
            ..ask
        };
        // RFC 8555 §6.1.
        ask.headers.push(("User-Agent".into(), USER_AGENT.into()));
        let failed = |source| AcmeError::Fetch { what, source };
        let fetched = timeout(FETCH_TIMEOUT, self.pool.fetch(&ask)).await;
        let fetched = fetched.map_err(|_| failed(FetchError::TimedOut(FETCH_TIMEOUT)))?;
        let reply = fetched.map_err(|error| failed(error.into()))?;
        let nonce = reply.header("Replay-Nonce").and_then(nonce);
        if nonce.is_some() {
            *self.nonce.borrow_mut() = nonce;
        }
        Ok(reply)
    }

    fn target(&self, what: &'static str, url: &str) -> Result<Target, AcmeError> {
        let target = Target::parse(url.get(..MAX_URL).unwrap_or(url));
        let target = target.map_err(|_| broken(what, "it names a URL that is not valid"))?;
        if url.len() > MAX_URL || target.userinfo().is_some() {
            return Err(broken(
                what,
                "it names a URL that is too long, or has a user",
            ));
        }
        if target.origin() != self.directory.origin() {
            let why = "it names a URL on a server other than the directory's";
            return Err(broken(what, why));
        }
        Ok(target)
    }
}

/// The decoded secret: CAs give it in base64url.
fn hmac_key(from: &SecretFrom) -> Result<Secret, GateError> {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_NO_PAD};
    let secret = from.read()?;
    let text = secret.line();
    let bare = text.strip_suffix(b"==").or(text.strip_suffix(b"="));
    let decoded = URL_SAFE_NO_PAD.decode(bare.unwrap_or(text));
    let decoded = decoded.or_else(|_| STANDARD_PAD_INDIFFERENT.decode(text));
    match decoded {
        Ok(key) if !key.is_empty() => Ok(Secret::new(key)),
        _ => Err(GateError::Acme(
            "the key of acme.external_account is not base64url, as the CA gives it".into(),
        )),
    }
}

/// RFC 8555 §6.5.1.
fn nonce(value: &[u8]) -> Option<String> {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_".contains(b);
    let fits = !value.is_empty() && value.len() <= MAX_NONCE && value.iter().all(is_plain);
    fits.then(|| String::from_utf8_lossy(value).into_owned())
}

fn succeeded(what: &'static str, reply: &Reply) -> Result<AcmeAnswer, AcmeError> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let retry_after = reply.header("Retry-After");
    let retry_after = retry_after.and_then(|value| retry_after_of(value, now.as_secs()));
    if matches!(reply.status, 200..=299) {
        let location = reply.header("Location").map(String::from_utf8_lossy);
        return Ok(AcmeAnswer {
            body: reply.body.clone(),
            location: location.map(std::borrow::Cow::into_owned),
            retry_after,
        });
    }
    if reply.status < 400 {
        let why = format!("it answers with status {}", reply.status);
        return Err(broken(what, why));
    }
    let problem: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let text = |name: &str| problem.as_ref()?.get(name)?.as_str();
    let kind = text("type").and_then(|kind| kind.strip_prefix(PROBLEM_PREFIX));
    let kind = match (kind, reply.status) {
        (Some(kind), _) => kind,
        (None, 429) => "rateLimited",
        (None, 500..) => "serverInternal",
        (None, status) => return Err(broken(what, format!("it answers with status {status}"))),
    };
    let status = || format!("{what}: status {}", reply.status);
    Err(AcmeError::Problem {
        kind: shown(kind),
        detail: text("detail").map_or_else(status, shown),
        retry_after,
    })
}

/// RFC 9110 §10.2.3.
fn retry_after_of(value: &[u8], now: u64) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Duration::from_secs);
    }
    let at = http_date::parse(value, now)?;
    Some(Duration::from_secs(at.saturating_sub(now)))
}

pub(super) fn object(what: &'static str, body: &[u8]) -> Result<Map<String, Value>, AcmeError> {
    let read = serde_json::from_slice(body);
    read.map_err(|_| broken(what, "the answer is not a JSON object"))
}

pub(super) fn broken(what: &'static str, why: impl Into<String>) -> AcmeError {
    AcmeError::Broken {
        what,
        why: why.into(),
    }
}

/// The CA's text, shortened and safe to show.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(MAX_DETAIL).collect();
    clean(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_says_when_to_come_again_in_seconds_or_as_a_date() {
        let seconds = |value: &str, now| {
            let read = retry_after_of(value.as_bytes(), now);
            read.map(|read| read.as_secs())
        };
        assert_eq!(seconds("120", 0), Some(120));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:01:40 GMT", 40), Some(60));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:01:40 GMT", 200), Some(0));
        assert_eq!(seconds("soon", 0), None);
        assert_eq!(seconds("99999999999999999999999", 0), None);
    }

    #[test]
    fn a_nonce_is_base64url_of_a_bounded_length() {
        assert_eq!(nonce(b"aZ-_09").as_deref(), Some("aZ-_09"));
        for value in ["", "a b", "a=", "é", &"a".repeat(MAX_NONCE + 1)] {
            assert_eq!(nonce(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn text_of_the_ca_is_short_and_moves_no_cursor() {
        let text = shown(&format!("\u{1b}[2J{}", "x".repeat(10_000)));
        assert!(text.len() < 400 && !text.contains('\u{1b}'), "{text}");
    }
}
