//! A provider that can lie: everything that it says can be changed by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use url::form_urlencoded::parse;

/// How a test changes what the provider is about to send.
type Change = Arc<dyn Fn(&mut Value) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) at: SocketAddr,
    manners: Arc<Mutex<Manners>>,
}

pub(crate) struct Manners {
    key: Ed25519KeyPair,
    /// The key that is published; another one than `key` after a rotation that was not published.
    pub(crate) published: Vec<Value>,
    pub(crate) header: Value,
    pub(crate) discovery: Change,
    pub(crate) claims: Change,
    pub(crate) tokens: Change,
    pub(crate) userinfo: Value,
    /// The whole answer of the token endpoint, instead of tokens.
    pub(crate) token_answer: Option<String>,
    /// The answers to some refresh tokens.
    pub(crate) refresh_answers: BTreeMap<String, (u16, String)>,
    /// How long the token endpoint waits.
    pub(crate) delay: Duration,
    /// Seconds that tokens are valid.
    pub(crate) life: i64,
    /// The values with which gate sent the browser here.
    nonce: String,
    challenge: String,
    /// Refresh tokens are numbered, and used once.
    issued: u64,
    valid: BTreeSet<String>,
    pub(crate) counts: Counts,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) discoveries: usize,
    pub(crate) keys: usize,
    pub(crate) codes: usize,
    pub(crate) refreshes: usize,
    pub(crate) refused: usize,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let key = Ed25519KeyPair::generate().unwrap();
        let published = vec![jwk(&key, "k1")];
        let provider = Self {
            at,
            manners: Arc::new(Mutex::new(Manners {
                key,
                published,
                header: json!({"alg": "EdDSA", "kid": "k1", "typ": "JWT"}),
                discovery: Arc::new(|_| ()),
                claims: Arc::new(|_| ()),
                tokens: Arc::new(|_| ()),
                userinfo: json!({"sub": "u"}),
                token_answer: None,
                refresh_answers: BTreeMap::new(),
                delay: Duration::ZERO,
                life: 3600,
                nonce: String::new(),
                challenge: String::new(),
                issued: 0,
                valid: BTreeSet::new(),
                counts: Counts::default(),
            })),
        };
        let serving = provider.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let provider = serving.clone();
                thread::spawn(move || provider.serve(stream.unwrap()));
            }
        });
        provider
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.at)
    }

    pub(crate) fn manners(&self) -> MutexGuard<'_, Manners> {
        self.manners.lock().unwrap()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.manners().counts
    }

    /// Notes that a person has logged in, whose browser gate sent here with these values.
    pub(crate) fn expect(&self, nonce: &str, challenge: &str) {
        let mut manners = self.manners();
        nonce.clone_into(&mut manners.nonce);
        challenge.clone_into(&mut manners.challenge);
    }

    /// No refresh token that was given out is valid any more.
    pub(crate) fn forget_refresh_tokens(&self) {
        self.manners().valid.clear();
    }

    /// From now on tokens are signed with another key.
    pub(crate) fn rotate(&self, kid: &str, publish: bool) {
        let mut manners = self.manners();
        manners.key = Ed25519KeyPair::generate().unwrap();
        manners.header["kid"] = kid.into();
        if publish {
            let key = jwk(&manners.key, kid);
            manners.published.push(key);
        }
    }

    /// A logout token, changed by the test.
    pub(crate) fn logout_token(&self, id: &str, change: impl FnOnce(&mut Value)) -> String {
        let manners = self.manners();
        let mut header = manners.header.clone();
        header["typ"] = "logout+jwt".into();
        let mut claims = json!({
            "iss": self.issuer(), "aud": "gate", "iat": now(), "exp": now() + 120, "jti": id,
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        });
        change(&mut claims);
        manners.sign(&header, &claims)
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some((line, body)) = request(&mut stream) else {
            return;
        };
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, answer) = match path.as_str() {
            "/.well-known/openid-configuration" => (200, self.discovery()),
            "/jwks" => {
                let mut manners = self.manners();
                manners.counts.keys += 1;
                (200, json!({"keys": manners.published}).to_string())
            }
            "/token" => {
                let delay = self.manners().delay;
                thread::sleep(delay);
                self.token(&body)
            }
            "/userinfo" => (200, self.manners().userinfo.to_string()),
            _ => (404, String::new()),
        };
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
            answer.len()
        );
    }

    fn discovery(&self) -> String {
        let issuer = self.issuer();
        let mut manners = self.manners();
        manners.counts.discoveries += 1;
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/auth?x=y"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "end_session_endpoint": format!("{issuer}/end"),
        });
        (manners.discovery.clone())(&mut document);
        document.to_string()
    }

    fn token(&self, body: &str) -> (u16, String) {
        let form: Vec<(String, String)> = parse(body.as_bytes()).into_owned().collect();
        let said = |name: &str| {
            let found = form.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let mut manners = self.manners();
        if let Some(answer) = &manners.token_answer {
            return (200, answer.clone());
        }
        let mut claims = json!({
            "iss": self.issuer(), "sub": "u", "aud": "gate", "sid": "s", "iat": now(),
            "exp": now() + manners.life, "email": "u@example.com", "email_verified": true,
            "groups": ["ops"],
        });
        match said("grant_type").as_str() {
            "authorization_code" => {
                manners.counts.codes += 1;
                let challenge =
                    URL_SAFE_NO_PAD.encode(digest(&SHA256, said("code_verifier").as_bytes()));
                if challenge != manners.challenge {
                    manners.counts.refused += 1;
                    return (400, r#"{"error":"invalid_grant"}"#.into());
                }
                claims["nonce"] = manners.nonce.as_str().into();
            }
            "refresh_token" => {
                if let Some(answer) = manners.refresh_answers.get(&said("refresh_token")) {
                    return answer.clone();
                }
                if !manners.valid.remove(&said("refresh_token")) {
                    manners.counts.refused += 1;
                    return (400, r#"{"error":"invalid_grant"}"#.into());
                }
                manners.counts.refreshes += 1;
            }
            _ => return (400, r#"{"error":"unsupported_grant_type"}"#.into()),
        }
        manners.issued += 1;
        let issued = manners.issued;
        manners.valid.insert(format!("r{issued}"));
        (manners.claims.clone())(&mut claims);
        let id_token = manners.sign(&manners.header, &claims);
        let mut tokens = json!({
            "token_type": "Bearer",
            "access_token": format!("a{issued}"),
            "refresh_token": format!("r{issued}"),
            "id_token": id_token,
            "expires_in": manners.life,
        });
        (manners.tokens.clone())(&mut tokens);
        (200, tokens.to_string())
    }
}

impl Manners {
    /// With `alg` none there is no signature.
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let input = format!("{}.{}", part(header), part(claims));
        let signature = match header["alg"].as_str() {
            Some("none") => String::new(),
            _ => URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes())),
        };
        format!("{input}.{signature}")
    }
}

fn jwk(key: &Ed25519KeyPair, kid: &str) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
    json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": kid, "x": x})
}

/// The first line and the body.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                let line = head.lines().next()?.to_owned();
                return Some((line, body.to_owned()));
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return None,
        }
    }
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
