//! Searches: their results, paging, sorting and subsets (RFC 9083, section 8; RFC 8977; RFC 8982).

use super::jsonpath::Path;
use super::{Check, Report, Scene, rules};
use crate::answer::{Class, Item, Place, SearchKind};

rules! { All;
    ONE = "search-one", Error, "RFC 9083, section 8": "results of one kind of object are in the array of its name";
    TOTAL = "paging-total", Error, "RFC 8977, section 2.1": "totalCount is at least the number of results on this page";
    SIZE = "paging-size", Warning, "RFC 8977, section 2.1": "a page has no more results than its pageSize";
    PAGE = "paging-page", Error, "RFC 8977, section 2.1": "pageSize and pageNumber are given together, and only if there are more results than pageSize";
    CURSOR = "paging-next", Warning, "RFC 8977, section 2.4.1": "a page with part of the results has a link to the next page or gives its own number";
    SORT = "sort-property", Error, "RFC 8977, section 2.1": "an offered sort order has property and default";
    SORT_PATH = "sort-path", Error, "RFC 8977, section 2.1": "the jsonPath of a sort order is a valid JSONPath";
    ORDERS = "sort-metadata", Error, "RFC 8977, section 2.1": "sorting_metadata has currentSort or availableSorts";
    DEFAULT = "sort-default", Error, "RFC 8977, section 2.1": "at most one sort order is the default";
    COUNT = "paging-count", Error, "RFC 8977, sections 2.1 and 2.2": "totalCount is present if, and only if, the query asks for it with count";
    SORTED = "sort-current", Error, "RFC 8977, section 2.3": "currentSort is the sort that the query asks for";
    CURRENT = "subset-current", Error, "RFC 8982, section 2.1": "subsetting_metadata names the current field set, which is the one that the query asks for";
    SET_DEFAULT = "subset-default", Error, "RFC 8982, section 2.1": "at most one field set is the default";
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
        let paging = top.item("paging_metadata");
        if paging.is_none() && scene.claims("paging") {
            counted(scene, false, report);
        }
        if let Some(paging) = paging {
            let total = paging.number("totalCount");
            if let Some(total) = total.filter(|t| *t < here) {
                report.add(
                    &TOTAL,
                    "/paging_metadata/totalCount",
                    format!("{total} of {here}"),
                );
            }
            if let Some(size) = paging.number("pageSize").filter(|s| *s < here) {
                report.add(
                    &SIZE,
                    "/paging_metadata/pageSize",
                    format!("{size}, with {here} results"),
                );
            }
            counted(scene, total.is_some(), report);
            paged(paging, total, report);
            let leads_on = scene.answer.next_page().is_some()
                || paging.number("pageNumber").is_some_and(|n| n > 1);
            if total.is_some_and(|t| t > here) && !leads_on {
                report.add(&CURSOR, "/paging_metadata", "");
            }
        }
    }
    offers(scene, report);
}

fn paged(paging: Item<'_>, total: Option<u64>, report: &mut Report) {
    let has = |member: &str| paging.node().get(member).is_some();
    let size = paging.number("pageSize");
    if has("pageSize") != has("pageNumber") {
        let given = if has("pageSize") {
            "pageSize"
        } else {
            "pageNumber"
        };
        report.add(&PAGE, "/paging_metadata", format!("only {given}"));
    } else if let Some((total, size)) = total.zip(size).filter(|(total, size)| total <= size) {
        let found = format!("{total} results, and pageSize {size}");
        report.add(&PAGE, "/paging_metadata", found);
    }
}

/// Compares the total with the query.
fn counted(scene: &Scene<'_>, is_given: bool, report: &mut Report) {
    let Some(url) = scene.delivery.url else {
        return;
    };
    // The URL of a further page is the server's own.
    let mut parameters = url.query_pairs();
    let asked = parameters.find(|(name, _)| name == "count" || name == "cursor");
    let asked = match asked.as_ref().map(|(name, value)| (&**name, &**value)) {
        None | Some(("count", "false" | "no" | "0")) => false,
        Some(("count", _)) => true,
        Some(_) => return,
    };
    if asked != is_given {
        let found = if is_given { "not asked for" } else { "" };
        report.add(&COUNT, "", found);
    }
}

/// Checks the sorts and field sets that the server offers.
fn offers(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Sort]) {
        if place.item.text("property").is_none() || place.item.node().get("default").is_none() {
            report.add(&SORT, place.pointer.as_str(), "");
        }
        path(place, "jsonPath", &SORT_PATH, report);
    }
    for place in scene.of(&[Class::Sorting]) {
        let has = |member: &str| place.item.node().get(member).is_some();
        let current = place.item.text("currentSort");
        if let Some(asked) = parameter(scene, "sort")
            && current.map(ascending) != Some(ascending(&asked))
        {
            let found = format!("{}, not {asked}", current.unwrap_or("none"));
            report.add(&SORTED, place.pointer.as_str(), found);
        }
        if !has("currentSort") && !has("availableSorts") {
            report.add(&ORDERS, place.pointer.as_str(), "");
        }
        default(place, "availableSorts", &DEFAULT, report);
    }
    for place in scene.of(&[Class::Subsetting]) {
        let current = place.item.text("currentFieldSet");
        let asked = parameter(scene, "fieldSet");
        if current.is_none() || asked.is_some() && asked.as_deref() != current {
            let found = current.unwrap_or_default();
            report.add(&CURRENT, place.pointer.as_str(), found);
        }
        default(place, "availableFieldSets", &SET_DEFAULT, report);
    }
    for place in scene.of(&[Class::FieldSet]) {
        if place.item.text("name").is_none() || place.item.node().get("default").is_none() {
            report.add(&SUBSET, place.pointer.as_str(), "");
        }
    }
}

/// The value of a parameter in the requested URL.
fn parameter(scene: &Scene<'_>, name: &str) -> Option<String> {
    let mut parameters = scene.delivery.url?.query_pairs();
    let found = parameters.find(|(n, _)| n == name)?;
    Some(found.1.into_owned())
}

/// A sort without the directions that are the default (RFC 8977, section 2.3).
fn ascending(sort: &str) -> String {
    let items = sort.split(',').map(str::trim);
    let items = items.map(|item| item.strip_suffix(":a").unwrap_or(item));
    items.collect::<Vec<_>>().join(",")
}

fn default(place: &Place<'_>, list: &str, check: &'static Check, report: &mut Report) {
    let offered = place.item.items(list);
    let count = offered.filter(|o| o.flag("default") == Some(true)).count();
    if count > 1 {
        report.add(check, place.pointer.as_str(), format!("{count} of them"));
    }
}

/// Reports a member that is not a valid JSONPath.
pub(super) fn path(place: &Place<'_>, member: &str, check: &'static Check, report: &mut Report) {
    let text = place.item.text(member);
    if let Some((text, Err(error))) = text.map(|text| (text, Path::parse(text))) {
        let pointer = format!("{}/{member}", place.pointer);
        report.add(check, pointer, format!("{text}: {error}"));
    }
}
