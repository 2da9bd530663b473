//! The test vectors of RFC 7617 and RFC 7616, what is sent to which server, and refusals.

use proptest::prelude::*;

use super::*;

const SERVER: &str = "https://rdap.example/domain/a.example";

/// The challenges of RFC 7616 §3.9.1 in reverse order: MD5 is skipped, wherever it is.
const MUFASA: &[u8] = br#"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#;

fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

fn credentials(user: &str, password: &str) -> Credentials {
    let (user, password) = (Secret::from(user), Secret::from(password));
    Credentials::new(&target(SERVER), user, password).unwrap()
}

/// Uses the nonce that the client of the RFC drew.
fn with_cnonce(credentials: Credentials, cnonce: &str) -> Credentials {
    let drawn = STANDARD.decode(cnonce).unwrap();
    credentials.with_random(move |bytes| {
        bytes.copy_from_slice(&drawn);
        true
    })
}

fn mufasa() -> Credentials {
    let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
    with_cnonce(credentials("Mufasa", "Circle of Life"), cnonce)
}

fn sent(credentials: &Credentials, url: &str) -> Option<String> {
    let header = credentials.header(&target(url), "GET").unwrap();
    header.map(|header| header.expose().to_owned())
}

fn hear(credentials: &Credentials, lines: &[&[u8]], sent: Option<&str>) -> Result<bool, String> {
    let sent = sent.map(Secret::from);
    let heard = credentials.hear(&target(SERVER), lines.iter().copied(), sent.as_ref());
    heard.map_err(|error| error.to_string())
}

#[test]
fn basic_is_as_in_the_rfc() {
    let aladdin = credentials("Aladdin", "open sesame");
    assert_eq!(sent(&aladdin, SERVER), None);
    assert_eq!(
        hear(&aladdin, &[br#"Basic realm="WallyWorld""#], None),
        Ok(true)
    );
    let header = sent(&aladdin, SERVER).unwrap();
    assert_eq!(header, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="); // RFC 7617 §2
    let utf8 = credentials("test", "123\u{a3}").eager();
    assert_eq!(sent(&utf8, SERVER).unwrap(), "Basic dGVzdDoxMjPCow=="); // RFC 7617 §2.1
}

#[test]
fn digest_is_as_in_the_rfc() {
    let mufasa = mufasa();
    assert_eq!(hear(&mufasa, &[MUFASA], None), Ok(true));
    let header = sent(&mufasa, "https://rdap.example/dir/index.html").unwrap();
    for part in [
        "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", algorithm=SHA-256,",
        "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001,",
        "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth,",
        "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\"",
        "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
    ] {
        assert!(header.contains(part), "{part} is not in {header}");
    }
    assert!(!header.contains("userhash"));
}

#[test]
fn a_session_hashes_the_nonces_with_the_password() {
    let mufasa = mufasa();
    let line = String::from_utf8_lossy(MUFASA).replace("SHA-256", "SHA-256-sess");
    assert_eq!(hear(&mufasa, &[line.as_bytes()], None), Ok(true));
    let header = sent(&mufasa, "https://rdap.example/dir/index.html").unwrap();
    // Computed from the formula of §3.4.2 with another implementation of SHA-256.
    assert!(header.contains("2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"));
}

/// The example of RFC 7616 §3.9.2. The values printed there are not SHA-512/256, so these are from
/// erratum 4897.
#[test]
fn hashed_users_are_as_in_the_rfc() {
    let cnonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v";
    let doe = with_cnonce(
        credentials("J\u{e4}s\u{f8}n Doe", "Secret, or not?"),
        cnonce,
    );
    let line = r#"Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true"#;
    assert_eq!(hear(&doe, &[line.as_bytes()], None), Ok(true));
    let header = sent(&doe, "https://rdap.example/doe.json").unwrap();
    for part in [
        "username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\"",
        "response=\"3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5\"",
        "userhash=true",
    ] {
        assert!(header.contains(part), "{part} is not in {header}");
    }
    let plain = line.replace(", userhash=true", "");
    let doe = credentials("J\u{e4}s\u{f8}n Doe", "x");
    assert_eq!(hear(&doe, &[plain.as_bytes()], None), Ok(true));
    let header = sent(&doe, SERVER).unwrap();
    assert!(
        header.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe,"),
        "{header}"
    );
}

#[test]
fn answers_to_one_nonce_are_counted() {
    let mufasa = mufasa();
    hear(&mufasa, &[MUFASA], None).unwrap();
    let answers: Vec<String> = (0..17).map(|_| sent(&mufasa, SERVER).unwrap()).collect();
    assert!(answers[1].contains("nc=00000002") && answers[16].contains("nc=00000011"));
    assert_ne!(response(&answers[0]), response(&answers[1]));
    mufasa.inform(
        &target(SERVER),
        br#"qop=auth, rspauth="x", nextnonce="n2", nc=00000011"#,
    );
    let next = sent(&mufasa, SERVER).unwrap();
    assert!(next.contains("nonce=\"n2\", nc=00000001"), "{next}");
}

fn response(header: &str) -> &str {
    header.split("response=").nth(1).unwrap()
}

#[test]
fn other_origins_receive_nothing() {
    let eager = credentials("a", "b").eager();
    assert!(sent(&eager, "https://rdap.example:443/else").is_some());
    for url in [
        "http://rdap.example/",
        "https://rdap.example:8443/",
        "https://other.example/",
        "https://sub.rdap.example/",
        "https://rdap.example.evil.example/",
        "https://rdap.example@evil.example/",
    ] {
        assert_eq!(sent(&eager, url), None, "{url}");
        let heard = eager.hear(&target(url), [&b"Basic"[..]], None);
        assert!(matches!(heard, Ok(false)), "{url}");
    }
    let bound = Bound::new(&target("https://user:secret@rdap.example/x?y"), 7);
    assert_eq!(bound.of(&target(SERVER)), Some(&7));
    assert_eq!(bound.url(), "https://rdap.example/");
}

#[test]
fn a_stale_nonce_is_replaced_and_a_refusal_is_final() {
    let mufasa = mufasa();
    hear(&mufasa, &[MUFASA], None).unwrap();
    let first = sent(&mufasa, SERVER).unwrap();
    let stale = br#"Digest realm="r", qop=auth, algorithm=SHA-256, nonce="fresh", stale=TRUE"#;
    assert_eq!(hear(&mufasa, &[stale], Some(&first)), Ok(true));
    let second = sent(&mufasa, SERVER).unwrap();
    assert!(second.contains("nonce=\"fresh\", nc=00000001"), "{second}");
    // A 401 for a request that was in flight meanwhile does not discard the current nonce: the
    // request is repeated with it.
    assert_eq!(hear(&mufasa, &[MUFASA], Some(&first)), Ok(true));
    assert_eq!(hear(&mufasa, &[MUFASA], None), Ok(true));
    let third = sent(&mufasa, SERVER).unwrap();
    assert!(third.contains("nonce=\"fresh\", nc=00000002"), "{third}");
    let refused = br#"Digest realm="r", qop=auth, algorithm=SHA-256, nonce="fresher""#;
    let error = hear(&mufasa, &[refused], Some(&third)).unwrap_err();
    assert!(error.contains("refused this user"), "{error}");
    let basic = credentials("a", "b").eager();
    let header = sent(&basic, SERVER).unwrap();
    assert!(hear(&basic, &[b"Basic realm=x"], Some(&header)).is_err());
    // Basic was refused, but Digest can still be accepted.
    assert_eq!(hear(&basic, &[MUFASA], Some(&header)), Ok(true));
    assert!(sent(&basic, SERVER).unwrap().starts_with("Digest "));
}

#[test]
fn unsupported_challenges_are_reported() {
    for (line, part) in [
        (
            &br#"Digest realm="r", nonce="n", qop="auth""#[..],
            "Digest with MD5 is not supported",
        ),
        (
            br#"Digest realm="r", nonce="n", qop="auth", algorithm=MD5-sess"#,
            "Digest with MD5",
        ),
        (
            br#"Digest realm="r", nonce="n", qop="auth-int", algorithm=SHA-256"#,
            "auth-int",
        ),
        (
            br#"Digest realm="r", nonce="n", algorithm=SHA-256"#,
            "no qop",
        ),
        (
            br#"Digest nonce="n", algorithm=SHA-256, qop=auth"#,
            "no realm",
        ),
        (
            br#"Digest realm="r", algorithm=SHA-256, qop=auth"#,
            "no nonce",
        ),
        (
            b"Digest realm=\"r\", algorithm=SHA-256, qop=auth, nonce=\"a\nb\"",
            "control characters",
        ),
        (
            br#"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-1"#,
            "not known",
        ),
        (b"Negotiate abc==, Bearer", "asks for Negotiate, Bearer;"),
        (b"\xff", "without saying how"),
        (b"", "without saying how"),
    ] {
        let error = hear(&credentials("a", "b"), &[line], None).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let both = br#"Negotiate, Digest realm="r", nonce="n", qop="auth", Basic realm="a, b\"c=", charset="UTF-8""#;
    let escaped = credentials("a", "b");
    let line = br#"Digest realm="a\"b\\", nonce="n", qop="auth", algorithm=SHA-256"#;
    assert_eq!(hear(&escaped, &[line], None), Ok(true));
    let header = sent(&escaped, SERVER).unwrap();
    assert!(header.contains(r#"realm="a\"b\\","#), "{header}");
    let fallen_back = credentials("a", "b");
    assert_eq!(hear(&fallen_back, &[both], None), Ok(true));
    assert!(sent(&fallen_back, SERVER).unwrap().starts_with("Basic "));
}

#[test]
fn basic_over_plain_http_is_refused() {
    let http = target("http://127.0.0.1:8080/x");
    let new = || Credentials::new(&http, Secret::from("a"), Secret::from("b")).unwrap();
    let error = new()
        .hear(&http, [&b"Basic"[..]], None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("http://127.0.0.1:8080/ asks for Basic"),
        "{error}"
    );
    assert!(new().eager().header(&http, "GET").is_err());
    assert!(
        new()
            .allow_plain()
            .hear(&http, [&b"Basic"[..]], None)
            .unwrap()
    );
}

#[test]
fn without_random_bytes_there_is_no_digest() {
    let credentials = credentials("a", "b").with_random(|_| false);
    assert!(
        hear(&credentials, &[MUFASA], None)
            .unwrap_err()
            .contains("no random bytes")
    );
}

#[test]
fn credentials_come_from_urls_files_and_the_environment() {
    let from_url = |url: &str| Credentials::from_url(&target(url));
    let url = from_url("https://us%C3%A9r:p%40ss:word%@rdap.example/x")
        .unwrap()
        .unwrap();
    let expected = format!("Basic {}", STANDARD.encode("us\u{e9}r:p@ss:word%"));
    assert_eq!(sent(&url.eager(), SERVER), Some(expected));
    assert!(from_url(SERVER).unwrap().is_none());
    for (url, part) in [
        ("https://a%3ab:secret@rdap.example/", "contains a colon"),
        ("https://a:sec%0aret@rdap.example/", "control character"),
        ("https://a:secret%ff@rdap.example/", "UTF-8"),
    ] {
        let error = from_url(url).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
    let missing = Credentials::from_environment(&target(SERVER), "ROUNDTRIP_NO_SUCH_LOGIN");
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("ROUNDTRIP_NO_SUCH_LOGIN")
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("login");
    let write = |text: &str, mode: u32| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        Credentials::from_file(&target(SERVER), &path)
    };
    let good = write("Aladdin:open sesame\r\nand more\n", 0o600)
        .unwrap()
        .eager();
    assert_eq!(
        sent(&good, SERVER).unwrap(),
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    );
    for (text, mode, part) in [
        ("a:b", 0o640, "chmod 600"),
        ("a:b", 0o604, "chmod 600"),
        ("canary", 0o600, "user:password"),
        ("", 0o600, "is empty"),
        (&*"canary".repeat(2000), 0o600, "longer than"),
    ] {
        let error = write(text, mode).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("canary"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Credentials::from_file(&target(SERVER), &path).is_err());
}

#[test]
fn nothing_shows_a_secret() {
    let credentials = credentials("Aladdin", "sesame").eager();
    let shown = format!("{credentials:?}");
    assert_eq!(shown, "Credentials for https://rdap.example/");
}

proptest! {
    #[test]
    fn challenges_never_panic(line in "(Digest|Basic|[ -~]{0,9})? ?([a-z]{0,9} ?=? ?(\"[ -~]{0,12}\"?|[a-zA-Z0-9-]{0,9}),? ?){0,9}", user in "\\PC{0,9}") {
        let Ok(credentials) = Credentials::new(&target(SERVER), Secret::from(user), Secret::from("p")) else {
            return Ok(());
        };
        let _ = hear(&credentials, &[line.as_bytes()], None);
        credentials.inform(&target(SERVER), line.as_bytes());
        if let Some(header) = sent(&credentials, SERVER) {
            prop_assert!(!header.contains(['\r', '\n', '\0']), "{header:?}");
        }
    }
}
