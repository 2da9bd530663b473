//! The keys that may sign tokens. Each is for one algorithm, which is fixed when the key is loaded
//! and never taken from a token: a public key is never used as a secret (RFC 8725 §3.1), and an
//! algorithm that is not allowed has no key at all.

use std::path::Path;

use aws_lc_rs::signature::{self, ParsedPublicKey, VerificationAlgorithm};
use aws_lc_rs::{hmac, rsa};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_tls::SecretError;
use roundtrip_wire::jwt::{Algorithm, Jws};

use super::jwks;
use crate::{GateError, Secret};

/// Enough for the current and previous keys of several issuers; each may be tried for one token.
const MAX_KEYS: usize = 64;
/// A token without `kid` is tried with all unnamed keys, and with this many of the named ones.
const MAX_TRIED: usize = 8;
/// A shorter secret can be guessed. RFC 7518 §3.2 requires the hash's length: 32, 48 or 64 bytes.
const MIN_SECRET_LENGTH: usize = 32;

/// The keys for signatures of tokens. The type has no `Debug`, so no key can be printed.
#[derive(Clone)]
pub struct Keys {
    allowed: Vec<Algorithm>,
    keys: Vec<VerificationKey>,
}

#[derive(Clone)]
struct VerificationKey {
    name: Option<String>,
    algorithm: Algorithm,
    check: KeyMaterial,
}

#[derive(Clone)]
enum KeyMaterial {
    Mac(Box<hmac::Key>),
    Public(ParsedPublicKey),
}

/// HS512 only.
impl Default for Keys {
    fn default() -> Self {
        Self::new(&[Algorithm::Hs512])
    }
}

impl Keys {
    pub fn new(allowed: &[Algorithm]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            keys: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a secret in text form, without the newline at its end. Binary secrets belong in a JWK
    /// Set. A key without a name is tried for tokens with any `kid`.
    pub fn add_secret(
        &mut self,
        algorithm: Algorithm,
        name: Option<&str>,
        key: &Secret,
    ) -> Result<(), GateError> {
        self.add_mac(algorithm, name, key.line())
    }

    /// A public key in PEM (`BEGIN PUBLIC KEY`: SubjectPublicKeyInfo, RFC 7468 §13).
    pub fn add_pem(
        &mut self,
        algorithm: Algorithm,
        name: Option<&str>,
        pem: &[u8],
    ) -> Result<(), GateError> {
        let bad = |why| refused(name, why);
        let der = pem_body(pem).ok_or_else(|| bad("it is not a public key in PEM"))?;
        let verification = verification(algorithm)
            .ok_or_else(|| bad("a public key does not fit HS256 to HS512"))?;
        if rsa_parameters(algorithm).is_some() {
            let sized = rsa::PublicEncryptingKey::from_der(&der);
            sized.map_err(|_| bad("it is not an RSA key of 2048 to 8192 bits"))?;
        }
        let key = ParsedPublicKey::new(verification, der);
        let key = key.map_err(|_| bad("its type does not fit its algorithm"))?;
        self.add(algorithm, name, KeyMaterial::Public(key))
    }

    /// Adds all keys of a JWK Set (RFC 7517) that fit an allowed algorithm; returns their number.
    /// If it holds secrets, only its owner may be able to read the file.
    pub fn add_jwks_file(&mut self, path: &Path) -> Result<usize, GateError> {
        let (text, exposed) = Secret::read(path)?;
        let what = path.display().to_string();
        let set = jwks::parse(text.expose(), &what)?;
        if exposed && set.holds_secrets {
            return Err(SecretError::Exposed { path: path.into() }.into());
        }
        self.add_set(&set, what)
    }

    /// Adds the keys of a set from a public place: secrets are refused, because anyone could have
    /// them. `what` names the set in errors.
    pub fn add_public_jwks(&mut self, json: &[u8], what: &str) -> Result<usize, GateError> {
        let set = jwks::parse(json, what)?;
        if set.holds_secrets {
            return Err(GateError::NoKey {
                what: what.to_owned(),
                why: "it holds secrets, but others may read it",
            });
        }
        self.add_set(&set, what.to_owned())
    }

    fn add_set(&mut self, set: &jwks::JwkSet, what: String) -> Result<usize, GateError> {
        let before = self.keys.len();
        for key in &set.keys {
            self.add_jwk(key)?;
        }
        match self.keys.len() - before {
            0 => Err(GateError::NoKey {
                what,
                why: "none fits an allowed algorithm",
            }),
            added => Ok(added),
        }
    }

    /// Whether one of the keys signed this. A key with a name is tried only for tokens that name
    /// it, or that name none.
    pub(in crate::judge) fn verify(&self, jws: &Jws<'_>) -> bool {
        let mut untold = 0;
        let fits = |key: &&VerificationKey| {
            key.algorithm == jws.algorithm
                && match (&key.name, &jws.key_id) {
                    (None, _) => true,
                    (Some(ours), Some(theirs)) => ours == theirs,
                    (Some(_), None) => {
                        untold += 1;
                        untold <= MAX_TRIED
                    }
                }
        };
        self.keys
            .iter()
            .filter(fits)
            .any(|key| key.check.accepts(jws))
    }

    /// Whether there is a key with this name.
    pub(in crate::judge) fn have(&self, name: &str) -> bool {
        let mut names = self.keys.iter().filter_map(|key| key.name.as_deref());
        names.any(|own| own == name)
    }

    fn add_jwk(&mut self, jwk: &jwks::Jwk) -> Result<(), GateError> {
        let name = jwk.name.as_deref();
        let fits = |algorithm: &Algorithm| jwk.algorithm.is_none_or(|said| said == *algorithm);
        let algorithms: Vec<Algorithm> = jwk
            .material
            .algorithms()
            .iter()
            .copied()
            .filter(fits)
            .collect();
        if algorithms.is_empty() {
            return Err(refused(name, "its 'alg' does not fit its type"));
        }
        for algorithm in algorithms
            .into_iter()
            .filter(|a| self.allowed.contains(a))
            .collect::<Vec<_>>()
        {
            match &jwk.material {
                jwks::Material::Secret(secret) => self.add_mac(algorithm, name, secret.expose())?,
                material => {
                    let key = parsed(material, algorithm)
                        .ok_or_else(|| refused(name, "its numbers do not make a key"))?;
                    self.add(algorithm, name, KeyMaterial::Public(key))?;
                }
            }
        }
        Ok(())
    }

    fn add_mac(
        &mut self,
        algorithm: Algorithm,
        name: Option<&str>,
        key: &[u8],
    ) -> Result<(), GateError> {
        let mac = match algorithm {
            Algorithm::Hs256 => hmac::HMAC_SHA256,
            Algorithm::Hs384 => hmac::HMAC_SHA384,
            Algorithm::Hs512 => hmac::HMAC_SHA512,
            _ => return Err(refused(name, "a secret fits only HS256 to HS512")),
        };
        if key.len() < MIN_SECRET_LENGTH {
            return Err(refused(
                name,
                "it is shorter than 32 bytes and can be guessed",
            ));
        }
        self.add(
            algorithm,
            name,
            KeyMaterial::Mac(Box::new(hmac::Key::new(mac, key))),
        )
    }

    fn add(
        &mut self,
        algorithm: Algorithm,
        name: Option<&str>,
        check: KeyMaterial,
    ) -> Result<(), GateError> {
        if !self.allowed.contains(&algorithm) {
            return Err(refused(name, "its algorithm is not allowed"));
        }
        if self.keys.len() >= MAX_KEYS {
            return Err(GateError::TooManyKeys(MAX_KEYS));
        }
        self.keys.push(VerificationKey {
            name: name.map(str::to_owned),
            algorithm,
            check,
        });
        Ok(())
    }
}

impl KeyMaterial {
    /// Compares signatures in constant time.
    fn accepts(&self, jws: &Jws<'_>) -> bool {
        match self {
            Self::Mac(key) => hmac::verify(key, jws.signed, &jws.signature).is_ok(),
            Self::Public(key) => key.verify_sig(jws.signed, &jws.signature).is_ok(),
        }
    }
}

fn parsed(material: &jwks::Material, algorithm: Algorithm) -> Option<ParsedPublicKey> {
    match material {
        jwks::Material::Rsa { n, e } => {
            let components = rsa::PublicKeyComponents { n, e };
            components
                .to_parsed_public_key(rsa_parameters(algorithm)?)
                .ok()
        }
        jwks::Material::Point { bytes, .. } => {
            ParsedPublicKey::new(verification(algorithm)?, bytes).ok()
        }
        jwks::Material::Secret(_) => None,
    }
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static signature::RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

/// RFC 7518 §3.4: each algorithm has its curve, and its signature a fixed length.
fn verification(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
        Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
        Algorithm::Es512 => &signature::ECDSA_P521_SHA512_FIXED,
        Algorithm::EdDsa => &signature::ED25519,
        Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => return None,
        rsa => return rsa_parameters(rsa).map(|p| -> &'static dyn VerificationAlgorithm { p }),
    })
}

fn pem_body(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once("-----BEGIN PUBLIC KEY-----")?;
    let (body, _) = rest.split_once("-----END PUBLIC KEY-----")?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

fn refused(name: Option<&str>, why: &'static str) -> GateError {
    GateError::Key {
        name: name.unwrap_or("(unnamed)").into(),
        why,
    }
}
