//! IANA's bootstrap registries: files that are fetched whole now and then, with the validators to
//! ask whether they have changed.
//!
//! The caller has parsed each copy before it is stored: a stored copy was valid, and only another
//! valid copy replaces it.

use super::codec::{Form, Reader, Writer};
use super::{Memory, Stamp};

const FORM: Form = Form {
    name: *b"rtrg",
    version: 1,
};
/// In bytes. IANA's largest has some hundred kilobytes.
const LONGEST_BODY: usize = 16 << 20;
const LONGEST_FIELD: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryCopy {
    pub body: Vec<u8>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// When it was fetched or last confirmed.
    pub fetched_at: Stamp,
}

impl RegistryCopy {
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(FORM, bytes)?;
        let field = |reader: &mut Reader<'_>| reader.text(LONGEST_FIELD);
        let fetched_at = Stamp(reader.u64()?);
        let etag = field(&mut reader)?;
        let last_modified = field(&mut reader)?;
        let body = reader.counted(LONGEST_BODY)?.to_vec();
        reader.finish()?;
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        Some(Self {
            body,
            etag: known(etag),
            last_modified: known(last_modified),
            fetched_at,
        })
    }

    /// Returns `None` if it could not be parsed again.
    fn encode(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::new(FORM);
        writer.u64(self.fetched_at.0);
        for field in [&self.etag, &self.last_modified] {
            let field = field.as_deref().unwrap_or_default();
            writer.counted(
                if field.len() > LONGEST_FIELD {
                    ""
                } else {
                    field
                }
                .as_bytes(),
            );
        }
        writer.counted(&self.body);
        (self.body.len() <= LONGEST_BODY).then(|| writer.finish(&[]))
    }
}

impl Memory {
    /// The copy of a registry. The caller chooses the name, for example `dns`.
    pub fn registry(&self, name: &str) -> Option<RegistryCopy> {
        let place = self.registries()?;
        let limit = (LONGEST_BODY + (16 << 10)) as u64;
        self.read(place, &file_name(name)?, limit, RegistryCopy::decode)
    }

    /// Stores a copy that the caller has found to be complete and well formed.
    pub fn keep_registry(&self, name: &str, copy: &RegistryCopy) -> bool {
        let parts = self.registries().zip(file_name(name)).zip(copy.encode());
        parts.is_some_and(|((place, name), bytes)| self.write(place, &name, &[&bytes]))
    }
}

fn file_name(name: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain);
    fits.then(|| format!("{name}.copy"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::DEFAULT_SIZE;

    #[test]
    fn copies_outlive_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Memory::open(directory.path(), DEFAULT_SIZE).unwrap();
        let mut copy = RegistryCopy {
            body: b"{\"services\": []}".to_vec(),
            etag: Some("\"a\"".into()),
            last_modified: None,
            fetched_at: Stamp(7),
        };
        assert_eq!(open().registry("dns"), None);
        assert!(open().keep_registry("dns", &copy));
        assert_eq!(open().registry("dns").as_ref(), Some(&copy));
        assert_eq!(open().registry("asn"), None);
        copy.fetched_at = Stamp(8);
        assert!(open().keep_registry("dns", &copy));
        assert_eq!(open().registry("dns").as_ref(), Some(&copy));
    }

    #[test]
    fn what_is_too_long_or_has_no_name_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), DEFAULT_SIZE).unwrap();
        let copy = RegistryCopy::default();
        for name in ["", "../dns", "a/b", "DNS", "dns.json"] {
            assert!(!memory.keep_registry(name, &copy), "{name}");
        }
        assert!(memory.keep_registry("dns", &copy));
        let body = vec![0; LONGEST_BODY + 1];
        assert!(!memory.keep_registry(
            "dns",
            &RegistryCopy {
                body,
                ..copy.clone()
            }
        ));
        assert_eq!(memory.registry("dns"), Some(copy.clone()));
        assert!(!Memory::nowhere().keep_registry("dns", &copy));
    }
}
