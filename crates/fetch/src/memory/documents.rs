//! Documents that are fetched as a whole from time to time, such as IANA's bootstrap registries,
//! with the validators to ask whether they have changed.
//!
//! The caller has parsed each copy before it is stored: a stored copy was valid, and only another
//! valid copy replaces it.

use std::time::SystemTime;

use super::codec::{Form, Reader, Writer};
use super::directory::Directory;
use super::{Memory, Stamp};

const FORM: Form = Form {
    name: *b"rtrg",
    version: 1,
};
/// The limit in bytes. The largest registry of IANA has some hundred kilobytes.
const MAX_BODY: usize = 16 << 20;
const MAX_FIELD: usize = 4 << 10;
/// The largest number of files that are examined at once.
const MAX_ITEMS: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    pub body: Vec<u8>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// The time when the document was fetched or last confirmed.
    pub fetched_at: Stamp,
}

impl Document {
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(FORM, bytes)?;
        let field = |reader: &mut Reader<'_>| reader.text(MAX_FIELD);
        let fetched_at = Stamp(reader.u64()?);
        let etag = field(&mut reader)?;
        let last_modified = field(&mut reader)?;
        let body = reader.counted(MAX_BODY)?.to_vec();
        reader.finish()?;
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        Some(Self {
            body,
            etag: known(etag),
            last_modified: known(last_modified),
            fetched_at,
        })
    }

    /// Encodes the document; `None` if it could not be parsed again.
    fn encode(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::new(FORM);
        writer.u64(self.fetched_at.0);
        for field in [&self.etag, &self.last_modified] {
            let field = field.as_deref().unwrap_or_default();
            writer.counted(if field.len() > MAX_FIELD { "" } else { field }.as_bytes());
        }
        writer.counted(&self.body);
        (self.body.len() <= MAX_BODY).then(|| writer.finish(&[]))
    }
}

impl Memory {
    /// The copy of a document. The caller chooses the name, for example `dns`.
    pub fn document(&self, name: &str) -> Option<Document> {
        let directory = self.documents()?;
        let limit = (MAX_BODY + (16 << 10)) as u64;
        self.read(directory, &self.file_name(name)?, limit, Document::decode)
    }

    /// Stores a copy that the caller has found to be complete and valid.
    pub fn keep_document(&self, name: &str, copy: &Document) -> bool {
        let parts = self.documents().zip(self.file_name(name));
        let Some(((directory, file), bytes)) = parts.zip(copy.encode()) else {
            return false;
        };
        if self.trust.is_some() {
            remove_others(directory, &format!("{name}.trust-"), &file);
        }
        self.write(directory, &file, &[&bytes])
    }

    fn file_name(&self, name: &str) -> Option<String> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain);
        fits.then(|| match &self.trust {
            None => format!("{name}.copy"),
            Some(trust) => format!("{name}.trust-{trust}"),
        })
    }
}

/// Removes the copies of a document that were received with yet another trust: a user who tries
/// many certificates needs one of them.
fn remove_others(directory: &Directory, begin: &str, kept: &str) {
    let now = Stamp::from_time(SystemTime::now());
    for item in directory.finished(MAX_ITEMS, now).unwrap_or_default() {
        if item.name.starts_with(begin) && item.name != kept {
            let _ = directory.remove(&item.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::DEFAULT_SIZE;

    #[test]
    fn copies_outlive_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Memory::open(directory.path(), DEFAULT_SIZE).unwrap();
        let mut copy = Document {
            body: b"{\"services\": []}".to_vec(),
            etag: Some("\"a\"".into()),
            last_modified: None,
            fetched_at: Stamp(7),
        };
        assert_eq!(open().document("dns"), None);
        assert!(open().keep_document("dns", &copy));
        assert_eq!(open().document("dns").as_ref(), Some(&copy));
        assert_eq!(open().document("asn"), None);
        copy.fetched_at = Stamp(8);
        assert!(open().keep_document("dns", &copy));
        assert_eq!(open().document("dns").as_ref(), Some(&copy));
    }

    #[test]
    fn copies_received_with_another_trust_are_kept_apart() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Memory::open(directory.path(), DEFAULT_SIZE).unwrap();
        let copy = |seconds| Document {
            fetched_at: Stamp(seconds),
            ..Document::default()
        };
        assert!(open().keep_document("dns", &copy(1)));
        for trust in [[2; 32], [3; 32]] {
            assert_eq!(open().apart(&trust).document("dns"), None);
            assert!(open().apart(&trust).keep_document("dns", &copy(2)));
            assert_eq!(open().apart(&trust).document("dns"), Some(copy(2)));
        }
        assert_eq!(open().document("dns"), Some(copy(1)));
        assert_eq!(open().apart(&[2; 32]).document("dns"), None);
        let files = std::fs::read_dir(directory.path().join("registries")).unwrap();
        assert_eq!(files.count(), 2);
    }

    #[test]
    fn long_documents_and_invalid_names_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), DEFAULT_SIZE).unwrap();
        let copy = Document::default();
        for name in ["", "../dns", "a/b", "DNS", "dns.json"] {
            assert!(!memory.keep_document(name, &copy), "{name}");
        }
        assert!(memory.keep_document("dns", &copy));
        let body = vec![0; MAX_BODY + 1];
        assert!(!memory.keep_document(
            "dns",
            &Document {
                body,
                ..copy.clone()
            }
        ));
        assert_eq!(memory.document("dns"), Some(copy.clone()));
        assert!(!Memory::nowhere().keep_document("dns", &copy));
    }
}
