//! Which logins a route admits, by their claims.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// An address of this domain, instead of a claim's whole value.
const EMAIL_DOMAIN: &str = "email_domain";
const EMAIL: &str = "email";

/// For each claim, the accepted values: a login must have one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimRules(Vec<(String, Vec<String>)>);

impl ClaimRules {
    pub(crate) fn new(require: &BTreeMap<String, Vec<String>>) -> Self {
        let rules = require
            .iter()
            .map(|(claim, values)| (claim.clone(), values.clone()));
        Self(rules.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn admit(&self, claims: &Map<String, Value>) -> bool {
        let admits = |(claim, values): &(String, Vec<String>)| match claim.as_str() {
            EMAIL_DOMAIN => {
                verified_email(claims).is_some_and(|address| has_domain(address, values))
            }
            EMAIL => {
                verified_email(claims).is_some_and(|address| values.iter().any(|v| v == address))
            }
            claim => claims
                .get(claim)
                .is_some_and(|value| has_value(value, values)),
        };
        self.0.iter().all(admits)
    }
}

/// The address, if the provider has verified that it belongs to this person. OpenID Connect Core
/// §5.1.
pub(super) fn verified_email(claims: &Map<String, Value>) -> Option<&str> {
    let verified = claims.get("email_verified") == Some(&Value::Bool(true));
    claims.get(EMAIL).filter(|_| verified)?.as_str()
}

fn has_domain(address: &str, domains: &[String]) -> bool {
    let Some((user, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is = |wanted: &String| wanted.eq_ignore_ascii_case(domain);
    !user.is_empty() && domains.iter().any(is)
}

/// Whether a claim has one of the wanted values: it is a text, a truth value, a number, or a list
/// of these.
fn has_value(value: &Value, wanted: &[String]) -> bool {
    let is = |text: &str| wanted.iter().any(|wanted| wanted == text);
    match value {
        Value::String(text) => is(text),
        Value::Bool(truth) => is(if *truth { "true" } else { "false" }),
        Value::Number(number) => is(&number.to_string()),
        Value::Array(values) => values
            .iter()
            .any(|value| !value.is_array() && has_value(value, wanted)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn admits(rules: &[(&str, &[&str])], claims: Value) -> bool {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let require = rules
            .iter()
            .map(|(claim, values)| ((*claim).to_owned(), words(values)));
        let Value::Object(claims) = claims else {
            panic!("an object")
        };
        ClaimRules::new(&require.collect()).admit(&claims)
    }

    #[test]
    fn each_claim_needs_one_of_its_values() {
        let rules: &[(&str, &[&str])] = &[("groups", &["ops", "dev"]), ("level", &["2"])];
        assert!(admits(rules, json!({"groups": ["a", "ops"], "level": 2})));
        assert!(admits(rules, json!({"groups": "dev", "level": "2"})));
        for claims in [
            json!({}),
            json!({"groups": ["ops"]}),
            json!({"groups": ["OPS"], "level": 2}),
            json!({"groups": ["ops,dev"], "level": 2}),
            json!({"groups": [["ops"]], "level": 2}),
            json!({"groups": {"ops": 1}, "level": 2}),
            json!({"groups": null, "level": 2}),
        ] {
            assert!(!admits(rules, claims.clone()), "{claims}");
        }
        assert!(admits(&[], json!({})));
        assert!(!admits(&[("groups", &[])], json!({"groups": ["a"]})));
    }

    #[test]
    fn an_address_counts_only_if_it_is_verified() {
        let rules: &[(&str, &[&str])] = &[("email_domain", &["Example.com"])];
        let address = |address: &str| json!({"email": address, "email_verified": true});
        assert!(admits(rules, address("a@example.COM")));
        for other in [
            "a@example.com.evil",
            "a@b.example.com",
            "@example.com",
            "example.com",
            "",
        ] {
            assert!(!admits(rules, address(other)), "{other}");
        }
        assert!(!admits(rules, json!({"email": "a@example.com"})));
        assert!(!admits(
            rules,
            json!({"email": "a@example.com", "email_verified": "true"})
        ));
        let one: &[(&str, &[&str])] = &[("email", &["a@example.com"])];
        assert!(admits(one, address("a@example.com")));
        assert!(!admits(
            one,
            json!({"email": "a@example.com", "email_verified": false})
        ));
    }
}
