//! The page at the width of a phone.
//!
//! It is not among the tests of `it`, because Chromium would take the processor from their
//! measurements.

use roundtrip_report::html::PageHead;

use super::{reading, six_hours, stored};
use crate::{Reading, page};

#[path = "../../../../tests/phone.rs"]
mod laid_out;
#[path = "../../../../tests/skip.rs"]
mod skip;

#[test]
fn nothing_is_wider_than_a_phone() {
    let name = "the page of a history at the width of a phone";
    let long = |reading: Reading| Reading {
        url: format!("https://shop.example/{}", "a-long-path/".repeat(20)),
        strategy: "h2+tls1.3+resume+fastopen+no-pq".into(),
        ..reading
    };
    let (_directory, file) = stored(&six_hours());
    let slower = six_hours().into_iter().map(long);
    file.add(&slower.collect::<Vec<_>>()).unwrap();
    file.add(&[reading(super::MIDNIGHT + 30 * 86_400, 4.0)])
        .unwrap();
    let head = PageHead {
        made_by: "roundtrip 9".into(),
        machine: "A processor of many names @ 2.00 GHz; Linux 6.1.0-99-with-a-long-name on x86_64"
            .into(),
        command: format!("roundtrip history {}", "history/".repeat(40)),
        ..PageHead::default()
    };
    let page = page("history", &file.series().unwrap(), &head);
    if !laid_out::fits(&page, 2) {
        skip::lacking(name, "chromium");
    }
}
