//! Names in the DNS, and the addresses of name servers (RFC 9083, sections 3, 5.2 and 5.3).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::network::form;
use super::registries::VARIANTS;
use super::{Check, Report, Scene, rules};
use crate::answer::{Class, Item, Place};

rules! { All;
    MISSING = "name-missing", Warning, "RFC 9083, sections 5.2 and 5.3": "a domain or name server has a name";
    LDH = "name-ldh", Error, "RFC 9083, section 3": "the labels of ldhName consist of letters, digits and hyphens";
    A_LABEL = "name-a-label", Error, "RFC 9083, section 3": "a label that begins with xn-- is an A-label (RFC 5890)";
    UNICODE = "name-unicode", Error, "RFC 9083, section 3": "unicodeName is a name that IDNA allows";
    PLAIN = "name-unicode-plain", Info, "RFC 9083, section 3": "unicodeName is only given for names with U-labels";
    AGREE = "name-agree", Error, "RFC 9083, section 3": "ldhName and unicodeName are the same name";
    RELATION = "variant-relation", Warning, "RFC 9083, sections 5.3 and 10.2.5": "the relation of a variant is registered";
    V4 = "address-v4", Error, "RFC 9083, sections 3 and 5.2": "v4 contains IPv4 addresses";
    V6 = "address-v6", Error, "RFC 9083, sections 3 and 5.2": "v6 contains IPv6 addresses";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Domain, Class::Nameserver, Class::VariantName]) {
        name(place, report);
    }
    for place in scene.of(&[Class::Variant]) {
        for (i, relation) in place.item.texts("relation").enumerate().take(50) {
            if !VARIANTS.contains(&relation) {
                report.add(
                    &RELATION,
                    format!("{}/relation/{i}", place.pointer),
                    relation,
                );
            }
        }
    }
    for place in scene.of(&[Class::Addresses]) {
        addresses(
            place,
            "v4",
            &V4,
            |text| text.parse::<Ipv4Addr>().is_ok(),
            report,
        );
        addresses(
            place,
            "v6",
            &V6,
            |text| text.parse::<Ipv6Addr>().is_ok(),
            report,
        );
    }
}

fn addresses(
    place: &Place<'_>,
    member: &str,
    check: &'static Check,
    reads: fn(&str) -> bool,
    report: &mut Report,
) {
    for (i, text) in place.item.texts(member).enumerate() {
        if !reads(text) {
            report.add(check, format!("{}/{member}/{i}", place.pointer), text);
        }
        form(text, || format!("{}/{member}/{i}", place.pointer), report);
    }
}

fn name(place: &Place<'_>, report: &mut Report) {
    let item: Item<'_> = place.item;
    let (ldh, unicode) = (item.text("ldhName"), item.text("unicodeName"));
    if ldh.is_none() && unicode.is_none() && place.class != Class::VariantName {
        report.add(&MISSING, place.pointer.as_str(), "");
    }
    let ldh_place = || format!("{}/ldhName", place.pointer);
    let unicode_place = || format!("{}/unicodeName", place.pointer);
    let right = ldh.is_some_and(is_ldh);
    if let Some(name) = ldh.filter(|_| !right) {
        report.add(&LDH, ldh_place(), name);
    }
    let read = ldh
        .filter(|_| right)
        .map(|n| idna::domain_to_unicode(bare(n)));
    if read.as_ref().is_some_and(|(_, valid)| valid.is_err()) {
        report.add(&A_LABEL, ldh_place(), ldh.unwrap_or_default());
    }
    let Some(unicode) = unicode else {
        return;
    };
    match idna::domain_to_ascii(bare(unicode)) {
        Err(_) => report.add(&UNICODE, unicode_place(), unicode),
        Ok(ascii) if right && !ldh.is_some_and(|l| bare(l).eq_ignore_ascii_case(&ascii)) => {
            report.add(
                &AGREE,
                unicode_place(),
                format!("{ascii}, not {}", ldh.unwrap_or_default()),
            );
        }
        Ok(ascii) if !is_normal(bare(unicode), &ascii) => {
            report.add(&UNICODE, unicode_place(), unicode);
        }
        Ok(_) if unicode.is_ascii() => report.add(&PLAIN, unicode_place(), unicode),
        Ok(_) => {}
    }
}

/// Whether the labels that are not in ASCII are valid U-labels: normalized, and in lower
/// case (RFC 5890, section 2.3.2.1).
fn is_normal(unicode: &str, ascii: &str) -> bool {
    let (again, _) = idna::domain_to_unicode(ascii);
    let label = |(given, right): (&str, &str)| given.is_ascii() || given == right;
    unicode.split('.').zip(again.split('.')).all(label)
}

/// The name without a trailing dot.
fn bare(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether the labels follow RFC 5890, section 2.3.1.
fn is_ldh(name: &str) -> bool {
    let name = bare(name);
    let label = |label: &str| {
        let fits = (1..=63).contains(&label.len());
        let letters = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-');
        fits && letters && !label.starts_with('-') && !label.ends_with('-')
    };
    // The root has no labels.
    name.is_empty() || (name.len() <= 253 && name.split('.').all(label))
}
