//! The headings of members, and their order. Unknown members keep their names.

/// Members in their order, with their headings. RFC 9083, and the extensions that servers use.
const MEMBERS: &[(&str, &str)] = &[
    ("domainSearchResults", "Domains"),
    ("nameserverSearchResults", "Name servers"),
    ("entitySearchResults", "Entities"),
    ("ipSearchResults", "Networks"),
    ("autnumSearchResults", "AS numbers"),
    ("errorCode", "Error code"),
    ("rel", "Relation"),
    ("href", "URL"),
    ("title", "Title"),
    ("eventAction", "Event"),
    ("eventDate", "Date"),
    ("eventActor", "by"),
    ("objectClassName", "Class"),
    ("roles", "Roles"),
    ("ldhName", "Name"),
    ("unicodeName", "Unicode name"),
    ("name", "Name"),
    ("handle", "Handle"),
    ("startAddress", "First address"),
    ("endAddress", "Last address"),
    ("cidr0_cidrs", "CIDR"),
    ("startAutnum", "First AS number"),
    ("endAutnum", "Last AS number"),
    ("v4prefix", "prefix"),
    ("v6prefix", "prefix"),
    ("ipVersion", "IP version"),
    ("type", "Type"),
    ("country", "Country"),
    ("parentHandle", "Parent"),
    ("description", "Description"),
    ("identifier", "Identifier"),
    ("publicIds", "Public ID"),
    ("status", "Status"),
    ("events", "Events"),
    ("relation", "Relation"),
    ("idnTable", "IDN table"),
    ("variantNames", "Variant names"),
    ("variants", "Variants"),
    ("nameservers", "Name servers"),
    ("ipAddresses", "Addresses"),
    ("v4", "IPv4"),
    ("v6", "IPv6"),
    ("secureDNS", "DNSSEC"),
    ("zoneSigned", "Zone signed"),
    ("delegationSigned", "Delegation signed"),
    ("maxSigLife", "Signature life"),
    ("dsData", "DS"),
    ("keyData", "DNSKEY"),
    ("keyTag", "Key tag"),
    ("algorithm", "Algorithm"),
    ("digestType", "Digest type"),
    ("digest", "Digest"),
    ("flags", "Flags"),
    ("protocol", "Protocol"),
    ("publicKey", "Public key"),
    ("vcardArray", "Card"),
    ("fn", "Name"),
    ("n", "Name in parts"),
    ("org", "Organization"),
    ("kind", "Kind"),
    ("adr", "Address"),
    ("tel", "Telephone"),
    ("email", "Mail"),
    ("url", "Web site"),
    ("contact-uri", "Contact form"),
    ("version", "Version"),
    ("asEventActor", "Acted in"),
    ("network", "Network"),
    ("networks", "Networks"),
    ("autnums", "AS numbers"),
    ("entities", "Contacts"),
    ("remarks", "Remarks"),
    ("links", "Links"),
    ("value", "of"),
    ("port43", "WHOIS server"),
    ("lang", "Language"),
];

/// The members that come after all unknown ones.
const LAST: &[(&str, &str)] = &[
    ("redacted", "Redacted"),
    ("paging_metadata", "Paging"),
    ("sorting_metadata", "Sorting"),
    ("subsetting_metadata", "Subsetting"),
    ("notices", "Notices"),
    ("rdapConformance", "Conforms to"),
];

pub(super) fn heading(name: &str) -> &str {
    let mut known = MEMBERS.iter().chain(LAST);
    known.find(|(n, _)| *n == name).map_or(name, |(_, h)| h)
}

/// The position of a member among its neighbours.
pub(super) fn rank(name: &str) -> usize {
    let place = |list: &[(&str, &str)]| list.iter().position(|(n, _)| *n == name);
    place(MEMBERS)
        .or_else(|| place(LAST).map(|at| MEMBERS.len() + 1 + at))
        .unwrap_or(MEMBERS.len())
}
