//! Object identifiers, by their encoded bytes, with the names that people use.

/// The dotted form of an identifier without a name here. ITU-T X.690 §8.19.
pub(super) fn dotted(encoded: &[u8]) -> String {
    let mut parts: Vec<u64> = Vec::new();
    let mut part = 0_u64;
    for byte in encoded {
        // Absurdly large parts lose their upper bits; the result is only shown.
        part = part << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if parts.is_empty() {
                let root = (part / 40).min(2);
                parts.extend([root, part - root * 40]);
            } else {
                parts.push(part);
            }
            part = 0;
        }
    }
    let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
    parts.join(".")
}

/// RFC 4519 §2, RFC 5280 §4.1.2.4.
pub(super) fn attribute(encoded: &[u8]) -> Option<&'static str> {
    Some(match encoded {
        b"\x55\x04\x03" => "CN",
        b"\x55\x04\x05" => "serialNumber",
        b"\x55\x04\x06" => "C",
        b"\x55\x04\x07" => "L",
        b"\x55\x04\x08" => "ST",
        b"\x55\x04\x0a" => "O",
        b"\x55\x04\x0b" => "OU",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x01" => "emailAddress",
        b"\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x19" => "DC",
        _ => return None,
    })
}

/// RFC 3279, RFC 4055, RFC 5758, RFC 8410, RFC 9881.
pub(super) fn signature(encoded: &[u8]) -> Option<&'static str> {
    Some(match encoded {
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04" => "md5WithRSAEncryption",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05" => "sha1WithRSAEncryption",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a" => "RSASSA-PSS",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b" => "sha256WithRSAEncryption",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c" => "sha384WithRSAEncryption",
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d" => "sha512WithRSAEncryption",
        b"\x2a\x86\x48\xce\x3d\x04\x01" => "ecdsa-with-SHA1",
        b"\x2a\x86\x48\xce\x3d\x04\x03\x02" => "ecdsa-with-SHA256",
        b"\x2a\x86\x48\xce\x3d\x04\x03\x03" => "ecdsa-with-SHA384",
        b"\x2a\x86\x48\xce\x3d\x04\x03\x04" => "ecdsa-with-SHA512",
        _ => return same_for_key_and_signature(encoded),
    })
}

/// Algorithms for which one identifier names both the key and the signature.
pub(super) fn same_for_key_and_signature(encoded: &[u8]) -> Option<&'static str> {
    Some(match encoded {
        b"\x2b\x65\x70" => "Ed25519",
        b"\x2b\x65\x71" => "Ed448",
        b"\x60\x86\x48\x01\x65\x03\x04\x03\x11" => "ML-DSA-44",
        b"\x60\x86\x48\x01\x65\x03\x04\x03\x12" => "ML-DSA-65",
        b"\x60\x86\x48\x01\x65\x03\x04\x03\x13" => "ML-DSA-87",
        _ => return None,
    })
}

/// RFC 5480 §2.1.1.1, RFC 5639.
pub(super) fn curve(encoded: &[u8]) -> Option<&'static str> {
    Some(match encoded {
        b"\x2a\x86\x48\xce\x3d\x03\x01\x07" => "P-256",
        b"\x2b\x81\x04\x00\x22" => "P-384",
        b"\x2b\x81\x04\x00\x23" => "P-521",
        b"\x2b\x81\x04\x00\x21" => "P-224",
        b"\x2b\x81\x04\x00\x0a" => "secp256k1",
        b"\x2b\x24\x03\x03\x02\x08\x01\x01\x07" => "brainpoolP256r1",
        b"\x2b\x24\x03\x03\x02\x08\x01\x01\x0b" => "brainpoolP384r1",
        _ => return None,
    })
}

#[test]
fn identifiers_are_written_with_dots() {
    assert_eq!(
        dotted(b"\x2a\x86\x48\xce\x3d\x04\x03\x02"),
        "1.2.840.10045.4.3.2"
    );
    assert_eq!(
        dotted(b"\x60\x86\x48\x01\x65\x03\x04\x03\x11"),
        "2.16.840.1.101.3.4.3.17"
    );
    assert_eq!(dotted(b"\x88\x37"), "2.999");
    assert_eq!(dotted(b""), "");
    assert_eq!(dotted(&[0xff; 40]), "");
}
