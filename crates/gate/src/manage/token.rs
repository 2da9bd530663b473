//! Makes a token for a session, signed with a secret of the configuration: for trying gate out, and
//! for the user's own programs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use roundtrip_wire::jwt::{Algorithm, Claims};
use serde_json::json;

use super::sessions::check_name;
use crate::config::{Config, SigningKey, TokenForm, meaning};
use crate::judge::configured;
use crate::judge::guard::Keys;
use crate::{GateError, Secret};

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenTransport {
    /// The cookie's value is the token, in the configured form.
    Cookie,
    Bearer,
}

/// The parameters of a token.
#[derive(Debug, Clone, Copy)]
pub struct TokenRequest<'a> {
    pub subject: &'a str,
    pub sid: &'a str,
    pub lifetime: Duration,
    pub transport: TokenTransport,
    /// The `id` of the key; otherwise the first that can sign.
    pub key: Option<&'a str>,
}

/// A token; anybody who has it can act as its user.
pub struct Token {
    /// The whole header line, as in `Cookie: Authorization=…` or `Authorization: Bearer …`.
    pub field: Secret,
    /// The token itself.
    pub value: Secret,
    pub expires: SystemTime,
}

impl Token {
    pub fn sign(
        config: &Config,
        order: &TokenRequest<'_>,
        now: SystemTime,
    ) -> Result<Self, GateError> {
        check_name(order.sid)?;
        let (algorithm, key) = signing_key(config, order.key)?;
        let seconds = |time: SystemTime| {
            time.duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs()
        };
        let expires = now.checked_add(order.lifetime).ok_or(GateError::Past)?;
        if order.lifetime.as_secs() == 0 {
            return Err(GateError::Past);
        }
        let mut header = json!({ "alg": algorithm.name(), "typ": "JWT" });
        let mut claims = json!({
            "sub": order.subject, "sid": order.sid, "iat": seconds(now), "exp": seconds(expires),
        });
        let also = [
            (&mut header, "kid", &key.id),
            (&mut claims, "iss", &config.token.issuer),
        ];
        for (object, name, value) in also {
            if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
                object.insert(name.into(), value.as_str().into());
            }
        }
        if let (Some(claims), Some(audience)) = (claims.as_object_mut(), &config.token.audience) {
            claims.insert("aud".into(), audience.as_str().into());
        }
        // A token that gate would refuse is not signed.
        Claims::parse(claims.to_string().as_bytes()).map_err(|e| GateError::Line(e.to_string()))?;
        let token = signed(
            algorithm,
            &key.from.read()?,
            &header.to_string(),
            &claims.to_string(),
        );
        Ok(Self::transport(config, order.transport, token, expires))
    }

    fn transport(
        config: &Config,
        transport: TokenTransport,
        token: String,
        expires: SystemTime,
    ) -> Self {
        let (field, value) = match transport {
            TokenTransport::Bearer => (format!("Authorization: Bearer {token}"), token),
            TokenTransport::Cookie => {
                let value = match config.token.cookie_form {
                    TokenForm::Base64 => STANDARD.encode(token),
                    TokenForm::Raw => token,
                };
                (format!("Cookie: {}={value}", config.token.cookie), value)
            }
        };
        Self {
            field: Secret::new(field.into_bytes()),
            value: Secret::new(value.into_bytes()),
            expires,
        }
    }
}

fn signing_key<'a>(
    config: &'a Config,
    id: Option<&str>,
) -> Result<(Algorithm, &'a SigningKey), GateError> {
    for key in &config.token.key {
        let algorithm = meaning::algorithm(&key.algorithm)?;
        let signs = mac(algorithm).is_some();
        if signs && id.is_none_or(|id| key.id.as_deref() == Some(id)) {
            // The secret is checked (its length and so on) as gate will check it.
            configured::add_key(&mut Keys::new(&[algorithm]), key)?;
            return Ok((algorithm, key));
        }
    }
    let named = id.map(|id| format!(" under the id '{id}'"));
    Err(GateError::NoSigningKey(named.unwrap_or_default()))
}

fn mac(algorithm: Algorithm) -> Option<hmac::Algorithm> {
    match algorithm {
        Algorithm::Hs256 => Some(hmac::HMAC_SHA256),
        Algorithm::Hs384 => Some(hmac::HMAC_SHA384),
        Algorithm::Hs512 => Some(hmac::HMAC_SHA512),
        _ => None,
    }
}

/// RFC 7515 §5.1.
fn signed(algorithm: Algorithm, secret: &Secret, header: &str, claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let input = format!("{}.{}", part(header), part(claims));
    let key = hmac::Key::new(mac(algorithm).unwrap_or(hmac::HMAC_SHA512), secret.line());
    let tag = hmac::sign(&key, input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag))
}
