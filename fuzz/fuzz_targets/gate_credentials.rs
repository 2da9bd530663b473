//! Fuzzes stored credentials: whatever can be opened is a login; a login sealed for one session
//! cannot be opened for another, and nothing can be sealed without the key.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_gate::Secret;
use roundtrip_gate::credentials::Vault;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let mut vault = Vault::default();
    let key = |byte: u8| Secret::new(vec![byte; 32]);
    vault.add_key("k1", &key(1)).expect("a key");
    vault.add_key("k2", &key(2)).expect("a key");
    match kind % 3 {
        0 => {}
        1 => vault.read_cbc(&key(3)).expect("a key"),
        _ => vault.refuse_plain(),
    }
    if let Ok(login) = vault.open("s", bytes) {
        assert!(
            kind % 3 != 2 && !bytes.starts_with(b"v1."),
            "opened without a key"
        );
        let text = std::str::from_utf8(login.expose()).expect("text");
        assert!(text.contains(':') && !text.chars().any(char::is_control));
    }
    let Ok(sealed) = vault.seal("s", &Secret::new(bytes.to_vec())) else {
        return;
    };
    let opened = vault.open("s", sealed.as_bytes()).expect("what was sealed");
    assert!(bytes.starts_with(opened.expose()));
    assert!(vault.open("t", sealed.as_bytes()).is_err());
});
