//! Domain names: UTS 46 (non-transitional) for labels beyond ASCII, letters, digits and hyphens
//! (STD 3) in the result, underscores where the DNS uses them, and the slashes of RFC 2317 in
//! reverse names.

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};

use super::error::quoted;
use super::{Key, NameError, encoding, number};

/// A name in A-labels and lower case, without the last dot.
#[derive(Debug, Clone)]
pub(super) struct Name {
    ascii: String,
}

/// The full stops of East Asian scripts. UTS 46 §2.3.
const WIDE_DOTS: [char; 3] = ['\u{3002}', '\u{ff0e}', '\u{ff61}'];
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

impl Name {
    pub(super) fn read(text: &str) -> Result<Self, NameError> {
        let name = Self::read_part(text)?;
        // A name that ends in a number is a mistyped address: no top-level domain is a number. RFC
        // 3696 §2.
        match name.ascii.rsplit('.').next() {
            Some(last) if last.bytes().all(|b| b.is_ascii_digit()) => Err(NameError::Numeric {
                label: quoted(last),
            }),
            _ => Ok(name),
        }
    }

    /// Parses some labels of a name, as they occur around the asterisk of a search.
    pub(super) fn read_part(text: &str) -> Result<Self, NameError> {
        let text = text.replace(WIDE_DOTS, ".");
        let text = text.strip_suffix('.').unwrap_or(&text);
        let ascii = if text.is_ascii() && !text.split('.').any(is_a_label) {
            text.to_ascii_lowercase()
        } else {
            to_ascii(text)?
        };
        check(&ascii)?;
        Ok(Self { ascii })
    }

    pub(super) fn ascii(&self) -> &str {
        &self.ascii
    }

    pub(super) fn into_ascii(self) -> String {
        self.ascii
    }

    pub(super) fn is_reverse(&self) -> bool {
        is_reverse(&self.ascii)
    }

    /// The name with U-labels; UTS 46 treats both forms as one name.
    pub(super) fn shown(&self) -> String {
        let (unicode, result) =
            Uts46::new().to_unicode(self.ascii.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow);
        match result {
            Ok(()) => unicode.into_owned(),
            Err(_) => self.ascii.clone(),
        }
    }

    pub(super) fn encoded(&self) -> String {
        encoding::encode(&self.ascii)
    }

    /// A reverse name is looked up as addresses: the registry of names has no entry for `arpa`.
    pub(super) fn key(&self) -> Key<'_> {
        match number::reversed(&self.ascii) {
            Some((address, prefix)) => Key::Ip(address, prefix),
            None => Key::Domain(&self.ascii),
        }
    }
}

fn is_a_label(label: &str) -> bool {
    let start = label.get(..4);
    start.is_some_and(|start| start.eq_ignore_ascii_case("xn--"))
}

fn is_reverse(ascii: &str) -> bool {
    [".in-addr.arpa", ".ip6.arpa"]
        .iter()
        .any(|zone| ascii.ends_with(zone))
}

fn to_ascii(text: &str) -> Result<String, NameError> {
    let convert = |text: &str| {
        // ASCII restrictions are checked on the result, so that a message can name the character.
        let converted = Uts46::new().to_ascii(
            text.as_bytes(),
            AsciiDenyList::EMPTY,
            Hyphens::Allow,
            DnsLength::Ignore,
        );
        converted.map(std::borrow::Cow::into_owned)
    };
    if let Ok(ascii) = convert(text) {
        return Ok(ascii);
    }
    let wrong = text.split('.').find(|label| convert(label).is_err());
    Err(match wrong {
        Some(label) if is_a_label(label) => NameError::ALabel {
            label: quoted(label),
        },
        Some(label) => NameError::ULabel {
            label: quoted(label),
        },
        None => NameError::Bidi, // each label is fine alone: RFC 5893 §2 judges them together
    })
}

fn check(ascii: &str) -> Result<(), NameError> {
    let reverse = is_reverse(ascii);
    let count = ascii.split('.').count();
    for (index, label) in ascii.split('.').enumerate() {
        if label.is_empty() {
            let position = index + 1;
            return Err(NameError::EmptyLabel { position });
        }
        if label.len() > MAX_LABEL {
            return Err(NameError::LongLabel {
                label: quoted(label),
                length: label.len(),
            });
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(NameError::Hyphen {
                label: quoted(label),
            });
        }
        let underscores = !is_a_label(label) && index + 1 < count.max(2);
        let permitted = |c: char| {
            c.is_ascii_alphanumeric()
                || c == '-'
                || (c == '_' && underscores)
                || (c == '/' && reverse && !is_a_label(label)) // RFC 2317 §4
        };
        if let Some(character) = label.chars().find(|c| !permitted(*c)) {
            return Err(NameError::Character {
                label: quoted(label),
                character: quoted(character.encode_utf8(&mut [0; 4])),
            });
        }
    }
    if ascii.len() > MAX_NAME {
        let length = ascii.len();
        return Err(NameError::Long { length });
    }
    Ok(())
}
