//! One order, from the account to the certificate. RFC 8555 §7.4, §7.5.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::AcmeError;
use super::account_key::encode;
use super::client::{Account, AcmeAnswer, AcmeClient, Directory, broken, object, shown};
use super::issued::{CertificateRequest, MAX_CHAIN};
use crate::config::AcmeChallenge;

/// The interval between polls while the CA is working on something, unless the CA states another.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
const MIN_LOOK_INTERVAL: Duration = Duration::from_millis(500);
const MAX_LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// An order for one name has one authorization; a few more are tolerated.
const MAX_AUTHORIZATIONS: usize = 4;
const MAX_TOKEN: usize = 256;

/// An order for one name. The caller limits its time.
pub(super) struct Order<'a> {
    pub(super) client: &'a AcmeClient,
    pub(super) directory: &'a Directory,
    pub(super) account: &'a Account,
    pub(super) name: &'a str,
    pub(super) kind: AcmeChallenge,
}

/// Shows the answer to a challenge to the CA.
#[allow(async_fn_in_trait)] // used within one thread
pub(super) trait Responder {
    /// Returns when every replica can answer.
    async fn show(&self, name: &str, token: &str, authorization: &str) -> Result<(), AcmeError>;
}

impl Order<'_> {
    /// Returns the chain in PEM.
    pub(super) async fn complete(
        &self,
        request: &CertificateRequest,
        responder: &impl Responder,
    ) -> Result<String, AcmeError> {
        const WHAT: &str = "order";
        let payload = json!({"identifiers": [{"type": "dns", "value": self.name}]}).to_string();
        let made = self.ask(WHAT, &self.directory.new_order, &payload).await?;
        let url = made.location.clone();
        let url = url.ok_or_else(|| broken(WHAT, "it has no URL"))?;
        let order = object(WHAT, &made.body)?;
        let listed = order.get("authorizations").and_then(Value::as_array);
        let listed = listed.map(Vec::as_slice).unwrap_or_default();
        if listed.len() > MAX_AUTHORIZATIONS {
            return Err(broken(WHAT, "it has too many authorizations"));
        }
        for authorization in listed {
            let url = authorization.as_str().unwrap_or_default();
            self.authorize(url, responder).await?;
        }
        let finalize = text(WHAT, &order, "finalize")?;
        let csr = json!({"csr": encode(&request.der)}).to_string();
        let ready = self.ask(WHAT, finalize, &csr).await?;
        let order = self
            .wait(WHAT, &url, ready, &["processing", "ready"])
            .await?;
        if status(&order) != "valid" {
            return Err(AcmeError::Invalid(explained(&order)));
        }
        let chain = self.ask("certificate", text(WHAT, &order, "certificate")?, "");
        let chain = chain.await?.body;
        match std::str::from_utf8(&chain) {
            Ok(chain) if chain.len() <= MAX_CHAIN => Ok(chain.to_owned()),
            _ => Err(AcmeError::Certificate("it is too long, or not PEM".into())),
        }
    }

    /// RFC 8555 §7.5.
    async fn authorize(&self, url: &str, responder: &impl Responder) -> Result<(), AcmeError> {
        const WHAT: &str = "authorization";
        let authorization = object(WHAT, &self.ask(WHAT, url, "").await?.body)?;
        if status(&authorization) == "valid" {
            return Ok(());
        }
        let challenges = authorization.get("challenges").and_then(Value::as_array);
        let wanted = self.kind.as_str();
        let challenge = challenges.into_iter().flatten().find_map(|challenge| {
            let challenge = challenge.as_object()?;
            (challenge.get("type")?.as_str()? == wanted).then_some(challenge)
        });
        let challenge = challenge.ok_or_else(|| {
            AcmeError::Invalid(format!("it offers no {wanted} challenge for this name"))
        })?;
        let token = text(WHAT, challenge, "token")?;
        let in_base64 = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        if token.is_empty() || token.len() > MAX_TOKEN || !token.bytes().all(in_base64) {
            return Err(broken(WHAT, "its token is not base64url"));
        }
        let answer = self.account.key.authorization(token);
        responder.show(self.name, token, &answer).await?;
        self.ask(WHAT, text(WHAT, challenge, "url")?, "{}").await?;
        let first = self.ask(WHAT, url, "").await?;
        let judged = self
            .wait(WHAT, url, first, &["pending", "processing"])
            .await?;
        match status(&judged) {
            "valid" => Ok(()),
            _ => Err(AcmeError::Invalid(explained(&judged))),
        }
    }

    /// Polls until the status changes.
    async fn wait(
        &self,
        what: &'static str,
        url: &str,
        mut answer: AcmeAnswer,
        unfinished: &[&str],
    ) -> Result<Map<String, Value>, AcmeError> {
        loop {
            let document = object(what, &answer.body)?;
            if !unfinished.contains(&status(&document)) {
                return Ok(document);
            }
            let wait = answer.retry_after.unwrap_or(LOOK_INTERVAL);
            sleep(wait.clamp(MIN_LOOK_INTERVAL, MAX_LOOK_INTERVAL)).await;
            answer = self.ask(what, url, "").await?;
        }
    }

    async fn ask(
        &self,
        what: &'static str,
        url: &str,
        payload: &str,
    ) -> Result<AcmeAnswer, AcmeError> {
        self.client
            .ask(self.directory, self.account, what, url, payload)
            .await
    }
}

fn text<'v>(
    what: &'static str,
    document: &'v Map<String, Value>,
    name: &str,
) -> Result<&'v str, AcmeError> {
    let text = document.get(name).and_then(Value::as_str);
    text.ok_or_else(|| broken(what, format!("it has no {name}")))
}

fn status(document: &Map<String, Value>) -> &str {
    let status = document.get("status").and_then(Value::as_str);
    status.unwrap_or_default()
}

/// The CA's reason, in an order or in one of an authorization's challenges. RFC 8555 §7.1.6, §8.
fn explained(document: &Map<String, Value>) -> String {
    let detail = |of: &Value| of.get("error")?.get("detail")?.as_str().map(shown);
    let own = document.get("error").and_then(|error| error.get("detail"));
    let own = own.and_then(Value::as_str).map(shown);
    let challenges = document.get("challenges").and_then(Value::as_array);
    let of_challenge = challenges.into_iter().flatten().find_map(detail);
    let state = || format!("its state is '{}'", shown(status(document)));
    own.or(of_challenge).unwrap_or_else(state)
}
