//! Digest access authentication, RFC 7616: a server's offers, and the answers for one nonce.

use aws_lc_rs::digest::{self, Algorithm, SHA256, SHA512_256};
use roundtrip_wire::percent;
use zeroize::Zeroizing;

use super::Secret;
use super::challenge::Challenge;

/// A challenge that can be answered.
pub(super) struct Offer {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// The algorithm as the server wrote it; empty if it did not name one.
    algorithm: String,
    hash: &'static Algorithm,
    is_session: bool,
    hashes_user: bool,
    stale: bool,
}

/// The answers for one nonce, counted.
pub(super) struct Session {
    offer: Offer,
    cnonce: String,
    uses: u32,
}

impl Offer {
    /// Reads a challenge. Returns `None` for other schemes, and an error if Digest is offered in an
    /// unsupported way.
    pub(super) fn from_challenge(challenge: &Challenge) -> Option<Result<Self, &'static str>> {
        challenge.is_scheme("Digest").then(|| Self::read(challenge))
    }

    fn read(challenge: &Challenge) -> Result<Self, &'static str> {
        // The default for `algorithm` is MD5. RFC 7616 §3.3.
        let algorithm = challenge.get("algorithm").unwrap_or("MD5");
        let (hash, is_session) = match algorithm.to_ascii_uppercase().as_str() {
            "SHA-256" => (&SHA256, false),
            "SHA-256-SESS" => (&SHA256, true),
            "SHA-512-256" => (&SHA512_256, false),
            "SHA-512-256-SESS" => (&SHA512_256, true),
            "MD5" | "MD5-SESS" => return Err("Digest with MD5 is not supported"),
            _ => return Err("its Digest has an algorithm that is not known"),
        };
        let qop = challenge.get("qop").ok_or("its Digest has no qop")?;
        let is_auth = |option: &str| option.trim().eq_ignore_ascii_case("auth");
        if !qop.split(',').any(is_auth) {
            return Err(
                "its Digest requires qop=auth-int, which protects bodies and is not supported",
            );
        }
        let realm = challenge.get("realm").ok_or("its Digest has no realm")?;
        let nonce = challenge.get("nonce").ok_or("its Digest has no nonce")?;
        let opaque = challenge.get("opaque");
        let echoed = [realm, nonce, opaque.unwrap_or_default()];
        if echoed.iter().any(|text| text.chars().any(char::is_control)) {
            return Err("its Digest contains control characters");
        }
        Ok(Self {
            realm: realm.to_owned(),
            nonce: nonce.to_owned(),
            opaque: opaque.map(str::to_owned),
            algorithm: algorithm.to_owned(),
            hash,
            is_session,
            hashes_user: challenge.says_true("userhash"),
            stale: challenge.says_true("stale"),
        })
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    fn hash(&self, parts: &[&str]) -> Zeroizing<String> {
        let mut context = digest::Context::new(self.hash);
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                context.update(b":");
            }
            context.update(part.as_bytes());
        }
        let hash = context.finish();
        let hex = |byte: &u8| format!("{byte:02x}");
        Zeroizing::new(hash.as_ref().iter().map(hex).collect())
    }
}

impl Session {
    pub(super) fn new(offer: Offer, cnonce: String) -> Self {
        let uses = 0;
        Self {
            offer,
            cnonce,
            uses,
        }
    }

    /// The value of `Authorization` for the next request. RFC 7616 §3.4.
    pub(super) fn answer(&mut self, user: &str, password: &str, method: &str, uri: &str) -> Secret {
        self.uses = self.uses.saturating_add(1);
        let (offer, cnonce, nonce) = (&self.offer, self.cnonce.as_str(), self.offer.nonce.as_str());
        let count = format!("{:08x}", self.uses);
        let mut first = offer.hash(&[user, &offer.realm, password]); // §3.4.2
        if offer.is_session {
            first = offer.hash(&[&first, nonce, cnonce]);
        }
        let second = offer.hash(&[method, uri]); // §3.4.3
        let response = offer.hash(&[&first, nonce, &count, cnonce, "auth", &second]); // §3.4.1
        let mut header = format!(
            "Digest {}, realm={}, uri={}, algorithm={}, nonce={}, nc={count}, cnonce={}, qop=auth, response=\"{}\"",
            self.user(user),
            quoted(&offer.realm),
            quoted(uri),
            offer.algorithm,
            quoted(nonce),
            quoted(cnonce),
            response.as_str(),
        );
        if let Some(opaque) = &offer.opaque {
            header.push_str(", opaque=");
            header.push_str(&quoted(opaque));
        }
        if offer.hashes_user {
            header.push_str(", userhash=true");
        }
        Secret::from(header)
    }

    /// The name, its hash (§3.4.4), or the encoded form of a name that is not ASCII (RFC 8187).
    fn user(&self, user: &str) -> String {
        if self.offer.hashes_user {
            let hash = self.offer.hash(&[user, &self.offer.realm]);
            return format!("username=\"{}\"", hash.as_str());
        }
        if user.is_ascii() {
            return format!("username={}", quoted(user));
        }
        let encoded = percent::encode(user.as_bytes(), |byte| byte.is_ascii_alphanumeric());
        format!("username*=UTF-8''{encoded}")
    }

    /// Whether `sent` is an answer for this nonce.
    pub(super) fn is_answered_by(&self, sent: &str) -> bool {
        sent.contains(&format!(", nonce={},", quoted(&self.offer.nonce)))
    }

    pub(super) fn go_on_with(&mut self, nonce: String, cnonce: String) {
        self.offer.nonce = nonce;
        self.cnonce = cnonce;
        self.uses = 0;
    }
}

/// Quotes a string (RFC 9110 §5.6.4).
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
