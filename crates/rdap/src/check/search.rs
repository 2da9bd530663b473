//! Searches: their results, paging, sorting and subsets (RFC 9083, section 8; RFC 8977; RFC 8982).

use super::{Report, Scene, rules};
use crate::answer::{Class, SearchKind};

rules! { All;
    ONE = "search-one", Error, "RFC 9083, section 8": "results of one kind of object are in the array of its name";
    TOTAL = "paging-total", Error, "RFC 8977, section 2.1": "totalCount is at least the number of results on this page";
    SIZE = "paging-size", Warning, "RFC 8977, section 2.1": "pageSize is the number of results on this page";
    CURSOR = "paging-next", Warning, "RFC 8977, section 2.4.1": "a page with part of the results has a link to the next page or gives its own number";
    SORT = "sort-property", Error, "RFC 8977, section 2.1": "an offered sort order has property and default";
    CURRENT = "subset-current", Error, "RFC 8982, section 2.1": "subsetting_metadata names the current field set";
    SUBSET = "subset-name", Error, "RFC 8982, section 2.1": "an offered field set has name and default";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Search]) {
        let top = place.item;
        let count = |kind: SearchKind| {
            top.node()
                .get(kind.member())
                .map(|n| n.items().len() as u64)
        };
        let counts: Vec<u64> = SearchKind::ALL.into_iter().filter_map(count).collect();
        if counts.len() > 1 {
            report.add(&ONE, "", format!("{} arrays", counts.len()));
        }
        let here: u64 = counts.iter().sum();
        if let Some(paging) = top.item("paging_metadata") {
            let total = paging.number("totalCount");
            if let Some(total) = total.filter(|t| *t < here) {
                report.add(
                    &TOTAL,
                    "/paging_metadata/totalCount",
                    format!("{total} of {here}"),
                );
            }
            if let Some(size) = paging.number("pageSize").filter(|s| *s != here) {
                report.add(
                    &SIZE,
                    "/paging_metadata/pageSize",
                    format!("{size}, with {here} results"),
                );
            }
            let leads_on = scene.answer.next_page().is_some()
                || paging.number("pageNumber").is_some_and(|n| n > 1);
            if total.is_some_and(|t| t > here) && !leads_on {
                report.add(&CURSOR, "/paging_metadata", "");
            }
        }
    }
    offers(scene, report);
}

/// Checks the sorts and field sets that the server offers.
fn offers(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Sort]) {
        if place.item.text("property").is_none() || place.item.node().get("default").is_none() {
            report.add(&SORT, place.pointer.as_str(), "");
        }
    }
    for place in scene.of(&[Class::Subsetting]) {
        if place.item.text("currentFieldSet").is_none() {
            report.add(&CURRENT, place.pointer.as_str(), "");
        }
    }
    for place in scene.of(&[Class::FieldSet]) {
        if place.item.text("name").is_none() || place.item.node().get("default").is_none() {
            report.add(&SUBSET, place.pointer.as_str(), "");
        }
    }
}
