//! The OpenID provider: its metadata (OpenID Connect Discovery §4), its keys, and its token and
//! userinfo endpoints. Each answer has a deadline and a size limit; redirects are not followed.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_fetch::pool::{Pool, PoolRequest, Reply};
use roundtrip_model::Target;
use roundtrip_wire::jwt::{Algorithm, Jws};
use serde_json::{Map, Value};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};
use zeroize::Zeroizing;

use super::LoginError;
use crate::config::meaning::algorithm;
use crate::config::{Login, SecretFrom, is_loopback};
use crate::error::FetchError;
use crate::judge::guard::Keys;
use crate::judge::keyring::{JwksSource, trusted_pool};
use crate::{GateError, Secret};

/// The time limit from the name lookup to an answer's last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_METADATA: u64 = 256 * 1024;
/// The largest answer with tokens or with claims, in bytes.
const MAX_ANSWER: u64 = 64 * 1024;
const MAX_CLAIMS: usize = 16 * 1024;
/// The largest access or refresh token, in bytes.
const MAX_TOKEN: usize = 8 * 1024;
/// How long metadata and keys are used before they are read again.
const METADATA_LIFE: Duration = Duration::from_hours(1);
/// The shortest time between two requests for the same document, even if the provider fails, or
/// clients send tokens that nobody signed.
const MIN_INTERVAL: Duration = Duration::from_secs(10);
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct OpenIdProvider {
    settings: Login,
    secret: Option<Secret>,
    algorithms: Vec<Algorithm>,
    known: RefCell<Option<Arc<Metadata>>>,
    /// Held while the metadata is read, so that it is read once.
    reading: AsyncMutex<()>,
    /// When reading the metadata last failed.
    failed: Cell<Option<Instant>>,
}

pub(super) struct Metadata {
    pub(super) authorization: Url,
    pub(super) end_session: Option<Url>,
    /// RFC 9207 §3: the provider's answers name their issuer.
    pub(super) names_itself: bool,
    token: Endpoint,
    userinfo: Option<Endpoint>,
    basic: bool,
    jwks: JwksSource,
    keys: Mutex<KeysAsRead>,
    read: Instant,
}

struct KeysAsRead {
    keys: Keys,
    at: Instant,
}

struct Endpoint {
    target: Target,
    pool: Pool,
}

/// An answer of the token endpoint. RFC 6749 §5.1.
pub(super) struct Tokens {
    pub(super) access_token: Option<Zeroizing<String>>,
    pub(super) id_token: Option<Zeroizing<String>>,
    pub(super) refresh_token: Option<Zeroizing<String>>,
    /// The lifetime of the tokens, in seconds.
    pub(super) expires_in: Option<i64>,
}

/// The secret with which gate proves to the provider that it is the client.
fn client_secret(login: &Login) -> Result<Option<Secret>, GateError> {
    login
        .client_secret
        .as_ref()
        .map(SecretFrom::read)
        .transpose()
}

impl OpenIdProvider {
    pub(crate) fn new(settings: &Login) -> Result<Self, GateError> {
        let algorithms = settings.algorithms.iter().map(|name| algorithm(name));
        // An unusable CA file is reported now.
        trusted_pool(&settings.issuer, settings.ca.as_deref())
            .map_err(|error| GateError::Login(error.to_string()))?;
        Ok(Self {
            secret: client_secret(settings)?,
            algorithms: algorithms.collect::<Result<_, _>>()?,
            settings: settings.clone(),
            known: RefCell::default(),
            reading: AsyncMutex::default(),
            failed: Cell::default(),
        })
    }

    /// Whether the provider's metadata and keys can be read and used.
    pub(crate) async fn answers(&self) -> Result<(), LoginError> {
        self.metadata().await.map(|_| ())
    }

    pub(super) async fn metadata(&self) -> Result<Arc<Metadata>, LoginError> {
        if let Some(known) = self.fresh() {
            return Ok(known);
        }
        let before = self.known.borrow().clone();
        let _reading = match (self.reading.try_lock(), &before) {
            (Ok(reading), _) => reading,
            // Another task is reading it; the old one is used meanwhile.
            (Err(_), Some(old)) => return Ok(old.clone()),
            (Err(_), None) => self.reading.lock().await,
        };
        if let Some(known) = self.fresh() {
            return Ok(known);
        }
        let waits = |at: Instant| at.elapsed() < MIN_RETRY_INTERVAL;
        if self.failed.get().is_some_and(waits) {
            return before.ok_or_else(|| provider("metadata", "it could not be read just now"));
        }
        match self.read_metadata().await {
            Ok(read) => {
                info!("read the OpenID provider's metadata");
                let read = Arc::new(read);
                *self.known.borrow_mut() = Some(read.clone());
                self.failed.set(None);
                Ok(read)
            }
            Err(error) => {
                warn!(%error, "the OpenID provider's metadata cannot be read");
                self.failed.set(Some(Instant::now()));
                before.ok_or(error)
            }
        }
    }

    fn fresh(&self) -> Option<Arc<Metadata>> {
        let known = self.known.borrow();
        let fresh = |known: &&Arc<Metadata>| known.read.elapsed() < METADATA_LIFE;
        known.as_ref().filter(fresh).cloned()
    }

    async fn read_metadata(&self) -> Result<Metadata, LoginError> {
        const WHAT: &str = "metadata";
        let issuer = &*self.settings.issuer;
        let url = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let endpoint = self.endpoint(WHAT, &url)?;
        let mut request = PoolRequest::new(endpoint.target.clone());
        request.headers = vec![("Accept".into(), "application/json".into())];
        request.limit = MAX_METADATA;
        let reply = endpoint.ask(WHAT, &request).await?;
        if reply.status != 200 {
            return Err(provider(
                WHAT,
                format!("it answers with status {}", reply.status),
            ));
        }
        let document = object(WHAT, &reply)?;
        // OpenID Connect Discovery §4.3.
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(provider(WHAT, "its issuer is not the configured one"));
        }
        if let Some(name) = endpoint_in_clear(issuer, &document) {
            return Err(provider(WHAT, format!("its {name} has no TLS")));
        }
        let url = |name: &str| document.get(name).and_then(Value::as_str);
        let required =
            |name: &str| url(name).ok_or_else(|| provider(WHAT, format!("it has no {name}")));
        let methods = document.get("token_endpoint_auth_methods_supported");
        let jwks = JwksSource::new(required("jwks_uri")?, self.settings.ca.as_deref());
        let jwks = jwks.map_err(|error| provider("keys", error))?;
        let keys = self.read_keys(&jwks).await?;
        let userinfo = url("userinfo_endpoint").filter(|_| self.settings.userinfo);
        if self.settings.userinfo && userinfo.is_none() {
            return Err(provider(WHAT, "it has no userinfo_endpoint"));
        }
        let is_true = |name: &str| document.get(name) == Some(&Value::Bool(true));
        let end_session = url("end_session_endpoint").map(page).transpose()?;
        Ok(Metadata {
            authorization: page(required("authorization_endpoint")?)?,
            end_session,
            names_itself: is_true("authorization_response_iss_parameter_supported"),
            token: self.endpoint("token endpoint", required("token_endpoint")?)?,
            userinfo: userinfo
                .map(|url| self.endpoint("userinfo", url))
                .transpose()?,
            basic: takes_basic(methods),
            jwks,
            keys: Mutex::new(KeysAsRead {
                keys,
                at: Instant::now(),
            }),
            read: Instant::now(),
        })
    }

    async fn read_keys(&self, jwks: &JwksSource) -> Result<Keys, LoginError> {
        let json = jwks
            .fetch()
            .await
            .map_err(|error| provider("keys", error))?;
        let mut keys = Keys::new(&self.algorithms);
        keys.add_public_jwks(&json, "the OpenID provider's key set")
            .map_err(|error| provider("keys", error))?;
        Ok(keys)
    }

    fn endpoint(&self, what: &'static str, url: &str) -> Result<Endpoint, LoginError> {
        let made = trusted_pool(url, self.settings.ca.as_deref());
        let (target, pool) = made.map_err(|source| fetch(what, source))?;
        Ok(Endpoint { target, pool })
    }

    /// Verifies the signature of a token. If no key fits, they are read again, but not often: the
    /// provider may have new ones. (Without `kid`, a token does not show that.)
    pub(super) async fn verify(
        &self,
        metadata: &Metadata,
        jws: &Jws<'_>,
    ) -> Result<(), LoginError> {
        if metadata.keys().keys.verify(jws) {
            return Ok(());
        }
        if metadata.may_have_other_keys() {
            let keys = self.read_keys(&metadata.jwks).await?;
            metadata.keys().keys = keys;
            if metadata.keys().keys.verify(jws) {
                return Ok(());
            }
        }
        Err(LoginError::Refused(
            "the token is signed by none of the provider's keys",
        ))
    }

    /// Asks the token endpoint. RFC 6749 §4.1.3, §6.
    pub(super) async fn tokens(
        &self,
        metadata: &Metadata,
        parameters: &[(&str, &str)],
    ) -> Result<Tokens, LoginError> {
        const WHAT: &str = "token endpoint";
        let mut form = Serializer::new(String::new());
        form.extend_pairs(parameters);
        let id = self.settings.client_id.as_str();
        let secret = self
            .secret
            .as_ref()
            .map(|secret| String::from_utf8_lossy(secret.line()));
        let basic = secret.as_ref().filter(|_| metadata.basic).map(|secret| {
            let [id, secret] =
                [id, secret].map(|part| byte_serialize(part.as_bytes()).collect::<String>());
            format!(
                "Basic {}",
                STANDARD.encode(Zeroizing::new(format!("{id}:{secret}")))
            )
        });
        if basic.is_none() {
            form.append_pair("client_id", id);
            if let Some(secret) = &secret {
                form.append_pair("client_secret", secret);
            }
        }
        let mut request = PoolRequest::post(
            metadata.token.target.clone(),
            "application/x-www-form-urlencoded",
            form.finish(),
        );
        request.limit = MAX_ANSWER;
        request
            .headers
            .push(("Accept".into(), "application/json".into()));
        request
            .headers
            .extend(basic.map(|value| ("Authorization".into(), value)));
        let reply = metadata.token.ask(WHAT, &request).await?;
        if reply.status != 200 {
            return Err(refusal(WHAT, &reply));
        }
        Tokens::read(&object(WHAT, &reply)?)
    }

    /// The claims of the userinfo endpoint, if it should be asked. OpenID Connect Core §5.3.
    pub(super) async fn userinfo(
        &self,
        metadata: &Metadata,
        access_token: Option<&str>,
        subject: &str,
    ) -> Result<Map<String, Value>, LoginError> {
        const WHAT: &str = "userinfo endpoint";
        let (Some(endpoint), Some(token)) = (&metadata.userinfo, access_token) else {
            return Ok(Map::new());
        };
        let mut request = PoolRequest::new(endpoint.target.clone());
        request.limit = MAX_ANSWER;
        request.shares = false;
        request.early = false;
        request.headers = vec![
            ("Accept".into(), "application/json".into()),
            ("Authorization".into(), format!("Bearer {token}")),
        ];
        let reply = endpoint.ask(WHAT, &request).await?;
        let of_user = |why| Err(LoginError::User { what: WHAT, why });
        match reply.status {
            200 => {}
            401 | 403 => return of_user("it refuses the access token"),
            status => return Err(provider(WHAT, format!("it answers with status {status}"))),
        }
        if reply.body.len() > MAX_CLAIMS {
            return of_user("its answer is longer than 16 KiB");
        }
        let mut claims = object(WHAT, &reply)?;
        // OpenID Connect Core §5.3.2: the answer could describe another user.
        if claims.get("sub").and_then(Value::as_str) != Some(subject) {
            return Err(LoginError::Refused(
                "the userinfo endpoint describes another user",
            ));
        }
        claims.shift_remove("sub");
        Ok(claims)
    }
}

impl Metadata {
    /// Locks the keys. A panic leaves nothing half done, so a poisoned lock can be used.
    fn keys(&self) -> MutexGuard<'_, KeysAsRead> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is time to read the keys again.
    fn may_have_other_keys(&self) -> bool {
        let mut known = self.keys();
        let is_due = known.at.elapsed() >= MIN_INTERVAL;
        if is_due {
            known.at = Instant::now();
        }
        is_due
    }
}

impl Endpoint {
    async fn ask(&self, what: &'static str, request: &PoolRequest) -> Result<Reply, LoginError> {
        let fetched = timeout(FETCH_TIMEOUT, self.pool.fetch(request)).await;
        let fetched = fetched.map_err(|_| fetch(what, FetchError::TimedOut(FETCH_TIMEOUT)))?;
        fetched.map_err(|error| fetch(what, error.into()))
    }
}

impl Tokens {
    fn read(answer: &Map<String, Value>) -> Result<Self, LoginError> {
        let token = |name: &str| {
            let token = answer.get(name).and_then(Value::as_str);
            token.filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN)
        };
        let owned = |name: &str| token(name).map(|token| Zeroizing::new(token.to_owned()));
        let long = |name: &str| {
            answer
                .get(name)
                .and_then(Value::as_str)
                .is_some_and(|token| token.len() > MAX_TOKEN)
        };
        if ["access_token", "id_token", "refresh_token"]
            .into_iter()
            .any(long)
        {
            return Err(LoginError::User {
                what: "token endpoint",
                why: "it gives a token of more than 8 KiB",
            });
        }
        let seconds = |value: &Value| {
            let text = || value.as_str().and_then(|text| text.parse().ok());
            value.as_i64().or_else(text)
        };
        let expires_in = answer.get("expires_in").and_then(seconds);
        Ok(Self {
            access_token: owned("access_token"),
            id_token: owned("id_token"),
            refresh_token: owned("refresh_token"),
            expires_in: expires_in.filter(|seconds| *seconds > 0),
        })
    }
}

/// Reads a refusal: an error code (RFC 6749 §5.2). Anything else is an outage.
fn refusal(what: &'static str, reply: &Reply) -> LoginError {
    let code = object(what, reply).ok();
    let code = code
        .as_ref()
        .and_then(|answer| answer.get("error")?.as_str());
    match code.filter(|_| (400..500).contains(&reply.status) && reply.status != 429) {
        Some(code) => LoginError::Denied(error_code(code)),
        None => provider(what, format!("it answers with status {}", reply.status)),
    }
}

/// An error code as it may be printed.
pub(super) fn error_code(code: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    code.chars().filter(plain).take(40).collect()
}

fn object(what: &'static str, reply: &Reply) -> Result<Map<String, Value>, LoginError> {
    let object = serde_json::from_slice(&reply.body);
    object.map_err(|_| provider(what, "its answer is not a JSON object"))
}

/// Finds an endpoint without TLS although the provider has TLS itself. Addresses of this machine
/// are no exception: a provider elsewhere must not make gate send requests to what runs here.
fn endpoint_in_clear(issuer: &str, document: &Map<String, Value>) -> Option<&'static str> {
    const ENDPOINTS: [&str; 5] = [
        "authorization_endpoint",
        "token_endpoint",
        "userinfo_endpoint",
        "jwks_uri",
        "end_session_endpoint",
    ];
    let has_tls = |url: &str| Url::parse(url).is_ok_and(|url| url.scheme() == "https");
    let is_in_clear = |name: &&str| {
        let url = document.get(*name).and_then(Value::as_str);
        url.is_some_and(|url| !has_tls(url))
    };
    let mut endpoints = ENDPOINTS.into_iter().filter(|_| has_tls(issuer));
    endpoints.find(is_in_clear)
}

/// A URL to which browsers are sent.
fn page(url: &str) -> Result<Url, LoginError> {
    let url = Url::parse(url).map_err(|error| provider("metadata", error))?;
    let is_here = url.host_str().is_some_and(is_loopback);
    if url.scheme() == "https" || (url.scheme() == "http" && is_here) {
        return Ok(url);
    }
    Err(provider("metadata", "it sends users to a page without TLS"))
}

/// OpenID Connect Discovery §3: Basic is the default.
fn takes_basic(methods: Option<&Value>) -> bool {
    let Some(Value::Array(methods)) = methods else {
        return true;
    };
    methods.iter().any(|method| method == "client_secret_basic")
        || !methods.iter().any(|method| method == "client_secret_post")
}

fn provider(what: &'static str, why: impl std::fmt::Display) -> LoginError {
    LoginError::Provider {
        what,
        why: why.to_string(),
    }
}

fn fetch(what: &'static str, source: FetchError) -> LoginError {
    LoginError::Fetch {
        what,
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_provider_elsewhere_names_nothing_on_this_machine() {
        let named = |issuer: &str, name: &str, url: &str| {
            let Value::Object(document) = json!({ name: url }) else {
                panic!("an object")
            };
            endpoint_in_clear(issuer, &document)
        };
        let (there, here) = ("https://login.example", "http://127.0.0.1:3000");
        for name in ["token_endpoint", "jwks_uri", "authorization_endpoint"] {
            for url in ["http://127.0.0.1:6379/", "http://localhost/", "x"] {
                assert_eq!(named(there, name, url), Some(name), "{url}");
            }
            assert_eq!(named(there, name, "https://api.login.example/x"), None);
            assert_eq!(named(here, name, "http://127.0.0.1:3000/x"), None);
        }
    }
}
