//! Public keys, with the names that people use: "ECDSA P-256", "RSA 2048".

use super::der::{BIT_STRING, Der, INTEGER, OBJECT_ID, SEQUENCE};
use super::oid;
use crate::Result;

const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
const RSA_PSS: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a";
const ELLIPTIC: &[u8] = b"\x2a\x86\x48\xce\x3d\x02\x01";

/// Parses a `SubjectPublicKeyInfo`. RFC 5280 §4.1.2.7.
pub(super) fn describe(mut info: Der<'_>) -> Result<String> {
    let mut algorithm = info.open(SEQUENCE)?;
    let id = algorithm.expect(OBJECT_ID)?;
    let key = info.expect(BIT_STRING)?;
    Ok(match id {
        RSA => format!("RSA {}", modulus_bits(key)?),
        RSA_PSS => format!("RSA-PSS {}", modulus_bits(key)?),
        ELLIPTIC => match algorithm.optional(OBJECT_ID)? {
            Some(curve) => match oid::curve(curve) {
                Some(name) => format!("ECDSA {name}"),
                None => format!("ECDSA {}", oid::dotted(curve)),
            },
            None => "ECDSA".to_owned(),
        },
        _ => oid::same_for_key_and_signature(id).map_or_else(|| oid::dotted(id), str::to_owned),
    })
}

/// The length of the modulus in bits. RFC 8017 §A.1.1; it follows the bit string's count of unused
/// bits.
fn modulus_bits(bits: &[u8]) -> Result<usize> {
    let (_unused, key) = bits.split_first().unwrap_or((&0, &[]));
    let modulus = Der::new(key).open(SEQUENCE)?.expect(INTEGER)?;
    let leading = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(leading).map_or(0, |byte| byte.leading_zeros());
    Ok((modulus.len() - leading) * 8 - first as usize)
}
