//! JWK Sets (RFC 7517, RFC 7518 §6, RFC 8037 §2), or a single key. Keys that are not for
//! signatures, and keys of unknown types, are ignored (RFC 7517 §5); a malformed signature key is
//! an error.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use roundtrip_wire::jwt::Algorithm;
use serde_json::Value;

use crate::{GateError, Secret};

const MAX_KEYS: usize = 256;
/// The lengths of RSA keys that are accepted: 2048 to 8192 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

pub(super) struct JwkSet {
    pub(super) keys: Vec<Jwk>,
    /// Whether the set contains symmetric or private keys.
    pub(super) holds_secrets: bool,
}

pub(super) struct Jwk {
    pub(super) name: Option<String>,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) material: Material,
}

pub(super) enum Material {
    Secret(Secret),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point on the algorithm's curve.
    Point {
        algorithm: [Algorithm; 1],
        bytes: Vec<u8>,
    },
}

impl Material {
    /// The algorithms that fit the key.
    pub(super) fn algorithms(&self) -> &[Algorithm] {
        use Algorithm::{Hs256, Hs384, Hs512, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        match self {
            Self::Secret(_) => &[Hs256, Hs384, Hs512],
            Self::Rsa { .. } => &[Rs256, Rs384, Rs512, Ps256, Ps384, Ps512],
            Self::Point { algorithm, .. } => algorithm,
        }
    }
}

/// Parses a set of keys. `what` names it in errors.
pub(super) fn parse(json: &[u8], what: &str) -> Result<JwkSet, GateError> {
    let bad = |why| GateError::NoKey {
        what: what.to_owned(),
        why,
    };
    let document: Value = serde_json::from_slice(json).map_err(|_| bad("it is not JSON"))?;
    let members: Vec<&Value> = match document.get("keys") {
        Some(Value::Array(keys)) => keys.iter().collect(),
        Some(_) => return Err(bad("its 'keys' is not an array")),
        None => vec![&document],
    };
    if members.len() > MAX_KEYS {
        return Err(bad("it has too many keys"));
    }
    let holds = |member: &&Value| member.get("k").is_some() || member.get("d").is_some();
    let holds_secrets = members.iter().any(holds);
    let keys = members
        .into_iter()
        .filter_map(|member| key(member).transpose());
    Ok(JwkSet {
        keys: keys.collect::<Result<_, _>>()?,
        holds_secrets,
    })
}

/// Parses one key; `None` if it cannot verify anything.
fn key(jwk: &Value) -> Result<Option<Jwk>, GateError> {
    let name = text(jwk, "kid").map(str::to_owned);
    let bad = |why| GateError::Key {
        name: name.clone().unwrap_or("(unnamed)".into()),
        why,
    };
    // RFC 7517 §4.2, §4.3.
    let for_signatures = text(jwk, "use").is_none_or(|u| u == "sig");
    let verifies = |ops: &Vec<Value>| ops.iter().any(|op| op == "verify");
    if !for_signatures
        || !jwk
            .get("key_ops")
            .and_then(Value::as_array)
            .is_none_or(verifies)
    {
        return Ok(None);
    }
    let algorithm = match text(jwk, "alg") {
        None => None,
        Some(said) => match Algorithm::named(said) {
            None => return Ok(None),
            known => known,
        },
    };
    let material = match text(jwk, "kty") {
        Some("oct") => bytes(jwk, "k").map(|k| Material::Secret(Secret::new(k))),
        Some("RSA") => rsa(jwk),
        Some("EC") => match curve(text(jwk, "crv")) {
            None => return Ok(None),
            Some((algorithm, length)) => point(jwk, algorithm, length),
        },
        Some("OKP") if text(jwk, "crv") == Some("Ed25519") => edwards(jwk),
        _ => return Ok(None),
    };
    let material = material.ok_or_else(|| bad("its numbers are missing or malformed"))?;
    Ok(Some(Jwk {
        name: name.clone(),
        algorithm,
        material,
    }))
}

fn rsa(jwk: &Value) -> Option<Material> {
    let (n, e) = (number(jwk, "n")?, number(jwk, "e")?);
    (RSA_BYTES.contains(&n.len()) && (1..=8).contains(&e.len())).then_some(Material::Rsa { n, e })
}

fn curve(name: Option<&str>) -> Option<(Algorithm, usize)> {
    match name? {
        "P-256" => Some((Algorithm::Es256, 32)),
        "P-384" => Some((Algorithm::Es384, 48)),
        "P-521" => Some((Algorithm::Es512, 66)),
        _ => None,
    }
}

/// The point in uncompressed form: 4, x, y. RFC 7518 §6.2.1.2: both have the full length.
fn point(jwk: &Value, algorithm: Algorithm, length: usize) -> Option<Material> {
    let (x, y) = (bytes(jwk, "x")?, bytes(jwk, "y")?);
    (x.len() == length && y.len() == length).then(|| Material::Point {
        algorithm: [algorithm],
        bytes: [&[4], x.as_slice(), &y].concat(),
    })
}

fn edwards(jwk: &Value) -> Option<Material> {
    let bytes = bytes(jwk, "x").filter(|x| x.len() == 32)?;
    Some(Material::Point {
        algorithm: [Algorithm::EdDsa],
        bytes,
    })
}

fn text<'a>(jwk: &'a Value, name: &str) -> Option<&'a str> {
    jwk.get(name)?.as_str()
}

fn bytes(jwk: &Value, name: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text(jwk, name)?).ok()
}

/// Some servers write leading zeros, which RFC 7518 §2 (Base64urlUInt) forbids.
fn number(jwk: &Value, name: &str) -> Option<Vec<u8>> {
    let mut number = bytes(jwk, name)?;
    let zeros = number.iter().take_while(|b| **b == 0).count();
    number.drain(..zeros);
    Some(number)
}
