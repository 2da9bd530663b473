//! Octets with leading zeros.

use bytes::Bytes;
use serde_json::json;

use super::super::{Column, Form};
use super::{style, tell, told};
use crate::answer::Answer;

/// Old answers of ARIN write octets in this way; every form shows the same range.
#[test]
fn octets_with_leading_zeros_are_told_in_every_form() {
    let network = |start: &str, end: &str| {
        let json = json!({
            "objectClassName": "ip network", "handle": "N-1", "startAddress": start, "endAddress": end,
        });
        Answer::read(Bytes::from(json.to_string())).unwrap()
    };
    let padded = network("192.000.002.000", "192.000.002.255");
    let plain = network("192.0.2.0", "192.0.2.255");
    let columns = ["range", "cidr"].map(|name| Column::parse(name).unwrap());
    for form in [Form::Readable, Form::Whois, Form::Csv(columns.to_vec())] {
        let (told, expected) = (told("192.0.2.1", &padded), told("192.0.2.1", &plain));
        let text = tell(&told, &style(form.clone()));
        assert_eq!(text, tell(&expected, &style(form)));
        assert!(
            text.contains("192.0.2.0") && text.contains("192.0.2.255"),
            "{text}"
        );
    }
}
