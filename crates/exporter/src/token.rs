//! An access token for the client itself, for modules with `oauth2`. RFC 6749 §4.4.

use std::time::Instant;

use roundtrip_http::BoundedBody;
use roundtrip_model::{Exchange, Strategy, Target};
use roundtrip_probe::{Options, Prober};
use serde::Deserialize;
use url::form_urlencoded::{self, byte_serialize};

use crate::config::{OAuth2, proxy};

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default)]
    token_type: String,
}

/// The largest size of an answer, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// Asks for a token, and returns the value of `Authorization`.
pub(crate) async fn fetch(settings: &OAuth2, deadline: Instant) -> Result<String, String> {
    let url = settings.token_url.as_deref().unwrap_or_default();
    let target = Target::parse(url).map_err(|error| format!("no token: {error}"))?;
    let shown = target.redacted();
    let told = |error: &dyn std::fmt::Display| format!("no token from {shown}: {error}");
    let id = settings.client_id.clone().unwrap_or_default();
    let secret = settings.secret().map_err(|error| told(&error))?;
    let mut why = String::new();
    // Servers must accept Basic; some want the secret in the body alone. RFC 6749 §2.3.1.
    for in_body in [false, true] {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !settings.scopes.is_empty() {
            form.append_pair("scope", &settings.scopes.join(" "));
        }
        for (name, value) in &settings.endpoint_params {
            if name != "grant_type" {
                form.append_pair(name, value);
            }
        }
        if in_body {
            form.append_pair("client_id", &id);
            form.append_pair("client_secret", &secret);
        }
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let user = (!in_body).then(|| (encoded(&id), encoded(&secret)));
        let options = options(settings, deadline, form.finish(), user);
        let options = options.map_err(|error| told(&error))?;
        let mut body = BoundedBody::new(MAX_ANSWER);
        let mut prober = Prober::new(options);
        let hops = prober.run(&target, 0, &mut body).await;
        prober.retire().await;
        match read(hops.last(), body.bytes()) {
            Ok(field) => return Ok(field),
            Err(error) => why = told(&error),
        }
    }
    Err(why)
}

fn options(
    settings: &OAuth2,
    deadline: Instant,
    form: String,
    user: Option<(String, String)>,
) -> Result<Options, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    Ok(Options {
        strategy: Strategy::default(),
        method: Some("POST".into()),
        body: form.into_bytes().into(),
        user,
        announcements: false,
        roots: settings.tls_config.roots(),
        identity: settings.tls_config.identity(),
        proxy: proxy(settings.proxy_url.as_ref())?,
        connect_timeout: left,
        max_time: left,
        deadline: Some(deadline),
        ..Options::default()
    })
}

fn read(last: Option<&Exchange>, body: &[u8]) -> Result<String, String> {
    let last = last.ok_or("no answer")?;
    if let Some(failure) = &last.failure {
        return Err(failure.message.clone());
    }
    let status = last.http.as_ref().map_or(0, |http| http.status);
    if !(200..300).contains(&status) {
        return Err(format!("the status is {status}"));
    }
    let answer = serde_json::from_slice(body).ok().or_else(|| form(body));
    let answer: Answer = answer.ok_or("the answer holds no access_token")?;
    let kind = match answer.token_type.to_ascii_lowercase().as_str() {
        "" | "bearer" => "Bearer".to_owned(),
        _ => answer.token_type,
    };
    Ok(format!("{kind} {}", answer.access_token))
}

/// Some servers answer with a form.
fn form(body: &[u8]) -> Option<Answer> {
    let value = |wanted: &str| {
        let mut pairs = form_urlencoded::parse(body);
        let found = pairs.find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.into_owned())
    };
    Some(Answer {
        access_token: value("access_token")?,
        token_type: value("token_type").unwrap_or_default(),
    })
}
