//! Chromium lays out the page at the width of a phone: nothing may overflow it, and nothing may be
//! hard to read.

use crate::html::page;

use super::carrying::carrying;
use super::samples::{head, outcome};

#[path = "../../../../../tests/phone.rs"]
mod laid_out;
#[path = "../../../../../tests/skip.rs"]
mod skip;

#[test]
fn nothing_is_wider_than_a_phone() {
    let name = "nothing_is_wider_than_a_phone";
    let mut long = outcome();
    long.arms[0].name = "python-requests-no-reuse@strip-fast-open".into();
    long.again = format!("roundtrip lab run {}", "long/".repeat(40));
    let mut carried = carrying();
    carried.arms[2].name = "quic+mirror1460@offload".into();
    let page = page(&[outcome(), long, carried], &head());
    if !laid_out::fits(&page, 6) {
        skip::lacking(name, "chromium");
    }
}
