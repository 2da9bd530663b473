//! The limits that registries have published for their RDAP servers.

use roundtrip_fetch::rate_limiter::PublishedLimits;

pub const PUBLISHED_LIMITS: [PublishedLimits; 2] = [
    // RIPE Database Acceptable Use Policy: 1,000 personal data sets returned to an address in 24
    // hours, queries unlimited, three connections at a time. A client over that limit is refused
    // for the rest of the day, and permanently after several such days (db-wg@ripe.net,
    // 2024-05-15). Only entities count: for other queries, the server searches its database without
    // the referenced objects.
    // https://www.ripe.net/manage-ips-and-asns/db/support/documentation/ripe-database-acceptable-use-policy/
    PublishedLimits {
        host: "rdap.db.ripe.net",
        a_minute: None,
        personal: Some(1000),
        connections: Some(3),
    },
    // "LACNIC's RDAP service", A. Formoso, GTER 41, May 2016: 10 a minute and 1,000 an hour for
    // each address without a key, whichever is reached first.
    PublishedLimits {
        host: "rdap.lacnic.net",
        a_minute: Some(10.0),
        personal: None,
        connections: None,
    },
];

#[cfg(test)]
mod tests {
    use roundtrip_fetch::memory::Authority;
    use roundtrip_fetch::rate_limiter::Rules;

    use super::*;

    #[test]
    fn published_limits_apply_without_any_rule_of_the_user() {
        let rules = Rules::new(&PUBLISHED_LIMITS);
        let lacnic = rules
            .limit(&Authority::new("RDAP.lacnic.net", 443))
            .unwrap();
        assert!((lacnic.a_second() * 60.0 - 10.0).abs() < 0.001 && lacnic.burst() == 1);
        let ripe = Authority::new("rdap.db.ripe.net", 443);
        assert_eq!(rules.limit(&ripe).unwrap().burst(), 20);
        assert_eq!(rules.personal(&ripe), Some(1000));
        assert_eq!(rules.connections(&ripe), Some(3));
    }
}
