//! Status words (RFC 9083, section 4.6; RFC 8056).

use super::{Report, Scene, rules};
use crate::answer::status::{STATUS, find};

rules! { All;
    REGISTERED = "status-registered", Error, "RFC 9083, section 10.2.2": "a status is a registered word";
    EPP = "status-epp", Error, "RFC 8056, section 2": "a status is RDAP's word, not EPP's code for it";
    SPELLING = "status-spelling", Warning, "RFC 9083, section 10.2": "a registered word is spelt as it is registered";
    REPEATED = "status-repeated", Warning, "RFC 9083, section 4.6": "a status is named once";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in &scene.places {
        if place.class.object_class().is_none() {
            continue;
        }
        let words: Vec<&str> = place.item.texts("status").take(200).collect();
        for (i, word) in words.iter().enumerate() {
            let pointer = format!("{}/status/{i}", place.pointer);
            if words.iter().take(i).any(|w| w == word) {
                report.add(&REPEATED, &pointer, word);
            }
            match find(word) {
                _ if STATUS.iter().any(|s| s.word == *word) => {}
                None => report.add(&REGISTERED, pointer, word),
                Some(known) if known.word.eq_ignore_ascii_case(word.trim()) => {
                    report.add(&SPELLING, pointer, word);
                }
                Some(known) => report.add(&EPP, pointer, format!("{word}, for {}", known.word)),
            }
        }
    }
}
