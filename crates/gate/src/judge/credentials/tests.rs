//! Which credentials open, and which do not.

use aws_lc_rs::cipher::PaddedBlockEncryptingKey;
use proptest::prelude::*;

use super::*;

const KEY_BYTES: [u8; 32] = *b"thirty-two bytes of a proper key";

fn secret(text: &[u8]) -> Secret {
    Secret::new(text.to_vec())
}

fn vault(names: &[&str]) -> Vault {
    let mut vault = Vault::default();
    for (n, name) in names.iter().enumerate() {
        let mut key = KEY_BYTES;
        key[0] = n as u8;
        vault.add_key(name, &secret(&key)).unwrap();
    }
    vault
}

fn opened(vault: &Vault, session: &str, stored: &str) -> Result<Vec<u8>, CredentialsError> {
    let login = vault.open(session, stored.as_bytes())?;
    Ok(login.expose().to_vec())
}

#[test]
fn what_is_sealed_for_a_session_opens_for_it_alone() {
    let vault = vault(&["new", "old"]);
    let sealed = vault.seal("sid-1", &secret(b"u:p:w")).unwrap();
    assert!(sealed.starts_with("v1.new."));
    assert_eq!(opened(&vault, "sid-1", &sealed).unwrap(), b"u:p:w");
    assert_eq!(
        opened(&vault, "sid-2", &sealed),
        Err(CredentialsError::Closed)
    );
    // Two sealings of the same login have nothing in common.
    let again = vault.seal("sid-1", &secret(b"u:p:w")).unwrap();
    assert_ne!(sealed, again);
    let renamed = sealed.replace("v1.new.", "v1.old.");
    assert_eq!(
        opened(&vault, "sid-1", &renamed),
        Err(CredentialsError::Closed)
    );
    let unknown = sealed.replace("v1.new.", "v1.gone.");
    assert_eq!(
        opened(&vault, "sid-1", &unknown),
        Err(CredentialsError::NoSuchKey)
    );
    assert_eq!(
        opened(&vault, "sid-1", "v1.new.x"),
        Err(CredentialsError::Malformed)
    );
}

#[test]
fn a_previous_key_still_opens() {
    let before = {
        let mut before = Vault::default();
        before.add_key("old", &secret(&KEY_BYTES)).unwrap();
        before
    };
    let sealed = before.seal("s", &secret(b"u:p\n")).unwrap();
    let mut now = vault(&["new"]);
    assert_eq!(opened(&now, "s", &sealed), Err(CredentialsError::NoSuchKey));
    now.add_key("old", &secret(&KEY_BYTES)).unwrap();
    assert_eq!(opened(&now, "s", &sealed).unwrap(), b"u:p");
    assert!(
        now.seal("s", &secret(b"u:p"))
            .unwrap()
            .starts_with("v1.new.")
    );
}

#[test]
fn plain_base64_is_read_as_hyper_auth_proxy_reads_it() {
    let mut vault = vault(&["k"]);
    let plain = |text: &str| STANDARD.encode(text);
    assert_eq!(opened(&vault, "s", &plain("u:p")).unwrap(), b"u:p");
    assert_eq!(opened(&vault, "s", &plain("u:p\n")).unwrap(), b"u:p");
    assert_eq!(
        opened(&vault, "s", &plain("u:p\n\n")),
        Err(CredentialsError::NotALogin)
    );
    assert_eq!(
        opened(&vault, "s", &STANDARD.encode(b"u:p\xff")),
        Err(CredentialsError::NotALogin)
    );
    assert_eq!(
        opened(&vault, "s", &format!("{}\n", plain("u:p"))).unwrap(),
        b"u:p"
    );
    assert_eq!(
        opened(&vault, "s", &plain("nobody")),
        Err(CredentialsError::NotALogin)
    );
    assert_eq!(opened(&vault, "s", "u:p"), Err(CredentialsError::Malformed));
    vault.refuse_plain();
    assert_eq!(
        opened(&vault, "s", &plain("u:p")),
        Err(CredentialsError::Plain)
    );
}

#[test]
fn cbc_is_read_and_takes_the_place_of_plain() {
    let key = UnboundCipherKey::new(&AES_256, &KEY_BYTES).unwrap();
    let key = PaddedBlockEncryptingKey::cbc_pkcs7(key).unwrap();
    let mut bytes = b"user:password, longer than a block".to_vec();
    let context = key.encrypt(&mut bytes).unwrap();
    let iv: &[u8] = (&context).try_into().unwrap();
    let stored = STANDARD.encode([iv, &bytes].concat());
    let mut vault = Vault::default();
    assert_eq!(
        opened(&vault, "s", &stored),
        Err(CredentialsError::NotALogin)
    );
    vault.read_cbc(&secret(&KEY_BYTES)).unwrap();
    assert_eq!(
        opened(&vault, "s", &stored).unwrap(),
        b"user:password, longer than a block"
    );
    for short in [
        "",
        "AAAA",
        &STANDARD.encode([0; 16]),
        &STANDARD.encode([0; 31]),
    ] {
        assert_eq!(
            opened(&vault, "s", short),
            Err(CredentialsError::Closed),
            "{short}"
        );
    }
    assert!(opened(&vault, "s", &STANDARD.encode("u:p")).is_err());
}

#[test]
fn keys_come_raw_in_base64_or_in_hex() {
    let hex: String = KEY_BYTES.iter().map(|b| format!("{b:02X}")).collect();
    let base64 = format!("{}\n", STANDARD.encode(KEY_BYTES));
    let sealed = {
        let mut raw = Vault::default();
        raw.add_key("k", &secret(&KEY_BYTES)).unwrap();
        raw.seal("s", &secret(b"u:p")).unwrap()
    };
    for spelling in [hex, base64, URL_SAFE_NO_PAD.encode(KEY_BYTES)] {
        let mut vault = Vault::default();
        vault.add_key("k", &secret(spelling.as_bytes())).unwrap();
        assert_eq!(opened(&vault, "s", &sealed).unwrap(), b"u:p");
    }
    let mut vault = vault(&["k"]);
    for (name, key) in [("a", "canary"), ("", "x"), ("a.b", "x"), ("k", "x")] {
        let refused = vault.add_key(name, &secret(key.as_bytes())).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("canary"));
    }
    assert!(matches!(
        Vault::default().seal("s", &secret(b"u:p")),
        Err(GateError::NoSealingKey)
    ));
    assert!(matches!(
        vault.seal("s", &secret(b"canary")),
        Err(GateError::NotALogin)
    ));
}

#[test]
fn a_login_becomes_basic() {
    // RFC 7617 §2.
    let value = authorization(&secret(b"Aladdin:open sesame"));
    assert_eq!(value.expose(), b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

proptest! {
    #[test]
    fn whatever_is_stored_opens_or_not(stored: Vec<u8>, session: String) {
        let mut vault = vault(&["k"]);
        let _ = vault.open(&session, &stored);
        vault.read_cbc(&secret(&KEY_BYTES)).unwrap();
        let _ = vault.open(&session, &stored);
    }

    #[test]
    fn a_flipped_bit_is_noticed(at: prop::sample::Index, bit in 0..8_u8) {
        let vault = vault(&["k"]);
        let sealed = vault.seal("s", &secret(b"user:password")).unwrap();
        let mut envelope = Envelope::parse(sealed.as_bytes()).unwrap();
        let at = at.index(envelope.ciphertext.len());
        envelope.ciphertext[at] ^= 1 << bit;
        prop_assert_eq!(opened(&vault, "s", &envelope.encode()), Err(CredentialsError::Closed));
    }
}
