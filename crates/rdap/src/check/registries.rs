//! The words that IANA registers for use in RDAP answers. Status words are in `answer::status`.

/// RDAP Extensions, and `rdap_level_0` of RFC 9083.
pub(super) const EXTENSIONS: [&str; 30] = [
    "arin_originas0",
    "artRecord",
    "autnumSearchResults",
    "autnums",
    "cidr0",
    "exts",
    "farv1",
    "fred",
    "geofeed1",
    "icann_rdap_response_profile_0",
    "icann_rdap_response_profile_1",
    "icann_rdap_technical_implementation_guide_0",
    "icann_rdap_technical_implementation_guide_1",
    "ipSearchResults",
    "ips",
    "jscontact",
    "nro_rdap_profile_0",
    "nro_rdap_profile_asn_flat_0",
    "nro_rdap_profile_asn_hierarchical_0",
    "paging",
    "platformNS",
    "rdap_level_0",
    "rdap_objectTag",
    "redacted",
    "redirect_with_content",
    "regType",
    "reverse_search",
    "rirSearch1",
    "sorting",
    "subsetting",
];

/// RDAP JSON Values, event actions (RFC 9083, section 10.2.3).
pub(super) const EVENTS: [&str; 12] = [
    "deletion",
    "enum validation expiration",
    "expiration",
    "last changed",
    "last update of RDAP database",
    "locked",
    "registrar expiration",
    "registration",
    "reinstantiation",
    "reregistration",
    "transfer",
    "unlocked",
];

/// RDAP JSON Values, types of notices and remarks (section 10.2.1).
pub(super) const NOTICES: [&str; 7] = [
    "object redacted due to authorization",
    "object truncated due to authorization",
    "object truncated due to excessive load",
    "object truncated due to unexplainable reasons",
    "result set truncated due to authorization",
    "result set truncated due to excessive load",
    "result set truncated due to unexplainable reasons",
];

/// RDAP JSON Values, roles (section 10.2.4).
pub(super) const ROLES: [&str; 11] = [
    "abuse",
    "administrative",
    "billing",
    "noc",
    "notifications",
    "proxy",
    "registrant",
    "registrar",
    "reseller",
    "sponsor",
    "technical",
];

/// RDAP JSON Values, relations of domain variants (section 10.2.5).
pub(super) const VARIANTS: [&str; 5] = [
    "conjoined",
    "open registration",
    "registered",
    "registration restricted",
    "unregistered",
];

/// Link Relation Types; those beginning with `rdap-` come from RFC 9910, `geo` from RFC 9877.
pub(super) const RELATIONS: [&str; 128] = [
    "about",
    "acl",
    "alternate",
    "amphtml",
    "appendix",
    "apple-touch-icon",
    "apple-touch-startup-image",
    "archives",
    "author",
    "blocked-by",
    "bookmark",
    "canonical",
    "chapter",
    "cite-as",
    "collection",
    "contents",
    "convertedfrom",
    "copyright",
    "create-form",
    "current",
    "describedby",
    "describes",
    "disclosure",
    "dns-prefetch",
    "duplicate",
    "edit",
    "edit-form",
    "edit-media",
    "enclosure",
    "external",
    "first",
    "glossary",
    "help",
    "hosts",
    "hub",
    "icon",
    "index",
    "intervalafter",
    "intervalbefore",
    "intervalcontains",
    "intervaldisjoint",
    "intervalduring",
    "intervalequals",
    "intervalfinishedby",
    "intervalfinishes",
    "intervalin",
    "intervalmeets",
    "intervalmetby",
    "intervaloverlappedby",
    "intervaloverlaps",
    "intervalstartedby",
    "intervalstarts",
    "item",
    "last",
    "latest-version",
    "license",
    "linkset",
    "lrdd",
    "manifest",
    "mask-icon",
    "me",
    "media-feed",
    "memento",
    "micropub",
    "modulepreload",
    "monitor",
    "monitor-group",
    "next",
    "next-archive",
    "nofollow",
    "noopener",
    "noreferrer",
    "opener",
    "openid2.local_id",
    "openid2.provider",
    "original",
    "p3pv1",
    "payment",
    "pingback",
    "preconnect",
    "predecessor-version",
    "prefetch",
    "preload",
    "prerender",
    "prev",
    "preview",
    "previous",
    "prev-archive",
    "privacy-policy",
    "profile",
    "publication",
    "related",
    "restconf",
    "replies",
    "ruleinput",
    "search",
    "section",
    "self",
    "service",
    "service-desc",
    "service-doc",
    "service-meta",
    "sip-trunking-capability",
    "sponsored",
    "start",
    "status",
    "stylesheet",
    "subsection",
    "successor-version",
    "sunset",
    "tag",
    "terms-of-service",
    "timegate",
    "timemap",
    "type",
    "ugc",
    "up",
    "version-history",
    "via",
    "webmention",
    "working-copy",
    "working-copy-of",
    "rdap-up",
    "rdap-down",
    "rdap-top",
    "rdap-bottom",
    "rdap-active",
    "geo",
];

/// RDAP JSON Values, redacted names (RFC 9537, section 6.2): those of appendix E of the gTLD RDAP
/// Response Profile of 2024.
pub(super) const REDACTED_NAMES: [&str; 17] = [
    "Registry Domain ID",
    "Registry Registrant ID",
    "Registrant Name",
    "Registrant Organization",
    "Registrant Street",
    "Registrant City",
    "Registrant Postal Code",
    "Registrant Phone",
    "Registrant Phone Ext",
    "Registrant Fax",
    "Registrant Fax Ext",
    "Registrant Email",
    "Registry Tech ID",
    "Tech Name",
    "Tech Phone",
    "Tech Phone Ext",
    "Tech Email",
];

/// The codes of ISO 3166-1 alpha-2 that are assigned to a country.
const COUNTRIES: &str = "\
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO \
    BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ \
    DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP \
    GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG \
    KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML \
    MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE \
    PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL \
    SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM \
    US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

/// Codes that ISO 3166-1 reserves, and `AP`, which registries use for the Asia-Pacific region.
const RESERVED_COUNTRIES: &str = "AC AP CP CQ DG EA EU EZ FX IC SU TA UK UN";

/// Whether ISO 3166-1 assigns or reserves the code, in capital letters.
pub(super) fn is_known_country(code: &str) -> bool {
    let mut reserved = RESERVED_COUNTRIES.split_ascii_whitespace();
    is_assigned_country(code) || reserved.any(|known| known == code)
}

/// Whether ISO 3166-1 assigns the code, in capital letters.
pub(super) fn is_assigned_country(code: &str) -> bool {
    COUNTRIES
        .split_ascii_whitespace()
        .any(|known| known == code)
}
