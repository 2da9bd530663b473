//! One session: its credentials as stored, and its expiry. The format is that of hyper-auth-proxy:
//! a JSON object whose `credentials` is base64 of `user:pass`; here it can also be encrypted.

use std::fmt;
use std::time::SystemTime;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use zeroize::{Zeroize, Zeroizing};

use crate::StoreError;

/// Accepts base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// The credentials as stored: base64 of `user:pass`, or encrypted.
    pub credentials: Vec<u8>,
    pub expires: Option<SystemTime>,
    /// Other members of the object; written back unchanged.
    pub others: Map<String, Value>,
}

impl Record {
    pub fn new(credentials: impl Into<Vec<u8>>, expires: Option<SystemTime>) -> Self {
        Self {
            credentials: credentials.into(),
            expires,
            others: Map::new(),
        }
    }

    /// Parses a stored record. A line break after the credentials is removed.
    pub fn from_json(bytes: &[u8], expires: Option<SystemTime>) -> Result<Self, StoreError> {
        let not = StoreError::NotUnderstood;
        let Ok(Value::Object(mut others)) = serde_json::from_slice(bytes) else {
            return Err(not("it is not a JSON object"));
        };
        let Some(Value::String(text)) = others.shift_remove("credentials") else {
            return Err(not("it has no string named 'credentials'"));
        };
        let mut credentials = text.into_bytes();
        if credentials.last() == Some(&b'\n') {
            credentials.pop();
        }
        Ok(Self {
            credentials,
            expires,
            others,
        })
    }

    /// The record in the form to store. The credentials come first.
    pub fn to_json(&self) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let text = str::from_utf8(&self.credentials)
            .map_err(|_| StoreError::NotUnderstood("its credentials are not text"))?;
        let mut object = Map::new();
        object.insert("credentials".into(), text.into());
        object.extend(self.others.clone());
        let bytes = serde_json::to_vec(&object)
            .map_err(|_| StoreError::NotUnderstood("it cannot be written as JSON"))?;
        Ok(Zeroizing::new(bytes))
    }

    /// `user:pass` from credentials that are not encrypted. One line break at the end is removed,
    /// as in hyper-auth-proxy.
    pub fn plain(&self) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let not = StoreError::NotUnderstood;
        let decoded = BASE64.decode(&self.credentials);
        let mut plain = Zeroizing::new(decoded.map_err(|_| not("its credentials are not base64"))?);
        if plain.last() == Some(&b'\n') {
            plain.pop();
        }
        if !plain.contains(&b':') {
            return Err(not("its credentials are not user:pass"));
        }
        Ok(plain)
    }

    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// Never shows the credentials.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.credentials.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_hyper_auth_proxy_is_read_and_written() {
        let stored = br#"{"credentials": "YWxpY2U6c2VjcmV0Cg", "by": {"app": 1}}"#;
        let record = Record::from_json(stored, None).unwrap();
        assert_eq!(record.plain().unwrap().as_slice(), b"alice:secret");
        assert_eq!(
            record.to_json().unwrap().as_slice(),
            br#"{"credentials":"YWxpY2U6c2VjcmV0Cg","by":{"app":1}}"#
        );
        assert!(!format!("{record:?}").contains("YWxp"));
    }

    #[test]
    fn one_line_break_is_removed() {
        let plain = |text: &str| {
            let json = serde_json::json!({ "credentials": text }).to_string();
            let record = Record::from_json(json.as_bytes(), None)?;
            record.plain().map(|p| p.to_vec())
        };
        assert_eq!(plain("YTpi\n").unwrap(), b"a:b");
        assert!(plain("YTpi\n\n").is_err());
        assert_eq!(plain("YTpiCgo=").unwrap(), b"a:b\n");
    }

    #[test]
    fn invalid_records_are_refused() {
        for bytes in ["", "[]", "{}", r#"{"credentials":1}"#, "dXNlcjpw"] {
            let outcome = Record::from_json(bytes.as_bytes(), None);
            assert!(
                matches!(outcome, Err(StoreError::NotUnderstood(_))),
                "{bytes}"
            );
        }
        assert!(Record::new("eHk", None).plain().is_err());
        assert!(Record::new("v1.k.n.c", None).plain().is_err());
        assert!(Record::new([0xff], None).to_json().is_err());
    }
}
