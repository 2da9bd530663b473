//! The secrets of a gate and of its users, and how they are found in every encoding.

use std::fmt::Write;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[derive(Clone)]
pub(crate) struct Canaries {
    pub(crate) signing: String,
    pub(crate) seal: String,
    pub(crate) redis: String,
    pub(crate) password: String,
    pub(crate) sid: String,
    pub(crate) query: String,
    more: Vec<String>,
}

impl Canaries {
    pub(crate) fn new() -> Self {
        let canary = |what: &str| format!("canary-{what}-nobody-may-say-this");
        Self {
            signing: canary("signing-key").repeat(2),
            // As long as a key of AES-256.
            seal: "canary-seal-0123456789-abcdefghi".into(),
            redis: canary("redis"),
            password: canary("password"),
            sid: canary("sid"),
            query: canary("query"),
            more: Vec::new(),
        }
    }

    /// The values of fields are secrets, their names are not.
    pub(crate) fn and(mut self, fields: &[&str]) -> Self {
        for field in fields {
            let (_, value) = field.trim().split_once(": ").unwrap();
            // The beginning of a token is not a secret.
            self.more.push(value[value.len() - 60..].into());
        }
        self
    }

    pub(crate) fn without_sid(&self) -> Self {
        let sid = self.password.clone();
        Self {
            sid,
            ..self.clone()
        }
    }

    #[track_caller]
    pub(crate) fn are_not_in(&self, what: &str, said: &[u8]) {
        if let Some(found) = self.find(said) {
            panic!("{what} tells {found}: {}", String::from_utf8_lossy(said));
        }
    }

    fn find(&self, said: &[u8]) -> Option<&str> {
        let own = [
            &self.signing,
            &self.seal,
            &self.redis,
            &self.password,
            &self.sid,
            &self.query,
        ];
        let mut all = own.into_iter().chain(&self.more);
        all.find(|secret| {
            disguises(secret).iter().any(|disguise| {
                said.windows(disguise.len())
                    .any(|window| window.eq_ignore_ascii_case(disguise.as_bytes()))
            })
        })
        .map(String::as_str)
    }
}

/// Enough of a secret to recognise it: its beginning, as it is, in hex, and in base64 at any
/// alignment.
fn disguises(secret: &str) -> Vec<String> {
    // A part of a secret is also secret; but all canaries begin alike.
    let part = &secret.as_bytes()[..secret.len().min(24)];
    let mut all = vec![String::from_utf8(part.to_vec()).unwrap(), hex(part)];
    for skipped in 0..3 {
        let whole = (part.len() - skipped) / 3 * 3;
        let coded = base64(&part[skipped..skipped + whole]);
        all.push(coded.replace('+', "-").replace('/', "_"));
        all.push(coded);
    }
    all
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The encoding of whole groups of three bytes. RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    let groups = bytes.chunks_exact(3);
    let letters = groups.flat_map(|group| {
        let number = group
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(STANDARD[number >> shift & 63]))
    });
    letters.collect()
}

#[test]
fn what_is_told_is_found() {
    let canaries = Canaries::new();
    assert_eq!(base64(b"somebody:secret"), "c29tZWJvZHk6c2VjcmV0");
    let login = format!("user:{}", canaries.password);
    for told in [
        canaries.signing.clone(),
        format!("it was {}!", canaries.query),
        base64(format!("{login}..").as_bytes()),
        base64(format!(".{login}..").as_bytes()),
        hex(canaries.seal.as_bytes()),
    ] {
        assert!(canaries.find(told.as_bytes()).is_some(), "{told}");
    }
    assert_eq!(canaries.find(b"canaries sing in vain"), None);
}
