//! The configuration as `/config` shows it: parsed as plain values, masked, and serialised again,
//! so that no other notation of a secret (an escape, an anchor, a comment) is left.

use std::collections::BTreeMap;
use std::fmt::Write;

use roundtrip_model::{is_secret_name, mask_parameters};
use serde_json::Value;

const MASK: &str = "<secret>";
/// Settings whose values are secrets.
const SECRETS: [&str; 6] = [
    "password",
    "bearer_token",
    "client_secret",
    "credentials",
    "key",
    "secrets",
];
/// Tables whose keys are not settings: header fields, and parameters of a token request.
const FIELDS: [&str; 5] = [
    "endpoint_params",
    "headers",
    "http_headers",
    "metadata",
    "proxy_connect_header",
];
/// Words that YAML would not take for text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// The values of the file, without secrets: of the whole file, and of each module.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) all: String,
    pub(super) modules: BTreeMap<String, String>,
}

impl Shown {
    pub(super) fn new(text: &str) -> Self {
        let Ok(mut values) = serde_saphyr::from_str::<Value>(text) else {
            return Self {
                all: "# not shown: the file has values that are not text\n".into(),
                modules: BTreeMap::new(),
            };
        };
        mask(&mut values, false);
        let written = |value: &Value| {
            let mut out = String::new();
            write(value, 0, &mut out);
            out
        };
        let modules = values.get("modules").and_then(Value::as_object);
        let of_module = |(name, value): (&String, &Value)| (name.clone(), written(value));
        Self {
            all: written(&values),
            modules: modules.into_iter().flatten().map(of_module).collect(),
        }
    }
}

/// Masks the secrets in a value; `in_fields` says that its keys are names of fields.
fn mask(value: &mut Value, in_fields: bool) {
    match value {
        Value::Object(table) => {
            for (name, inner) in table {
                let name = name.as_str();
                if SECRETS.contains(&name) || (in_fields && is_secret_name(name)) {
                    *inner = MASK.into();
                } else {
                    mask(inner, FIELDS.contains(&name));
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, false)),
        Value::String(text) if text.contains("://") => *text = without_secrets(text),
        _ => {}
    }
}

/// Masks the passwords and secret parameters of URLs. A user without a password may be a token.
fn without_secrets(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '?', '#', ' ', '\n']).unwrap_or(part.len());
        let (authority, rest) = part.split_at(end);
        out += "://";
        match authority.rsplit_once('@') {
            Some((user, host)) => {
                let user = user.split_once(':').map(|(user, _)| format!("{user}:"));
                let _ = write!(out, "{}{MASK}@{host}", user.unwrap_or_default());
            }
            None => out += authority,
        }
        out += rest;
    }
    mask_parameters(&out, MASK)
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let items: Vec<(String, &Value)> = match value {
        Value::Object(table) => table
            .iter()
            .map(|(name, inner)| (scalar(name) + ":", inner))
            .collect(),
        Value::Array(values) => values.iter().map(|inner| ("-".into(), inner)).collect(),
        _ => Vec::new(),
    };
    for (head, inner) in items {
        *out += &"  ".repeat(depth);
        *out += &head;
        match inner {
            Value::Object(table) if !table.is_empty() => *out += "\n",
            Value::Array(values) if !values.is_empty() => *out += "\n",
            Value::String(text) => *out += &[" ", &scalar(text), "\n"].concat(),
            other => *out += &[" ", &other.to_string(), "\n"].concat(),
        }
        write(inner, depth + 1, out);
    }
}

/// Writes text without quotes where YAML allows that, and elsewhere with JSON's quotes, which YAML
/// understands.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./<>".contains(c);
    let starts = |c: char| c.is_ascii_alphabetic() || "/<".contains(c);
    let is_reserved = RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if text.starts_with(starts) && text.chars().all(plain) && !is_reserved {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_any_notation_and_nothing_else_is() {
        let text = r#"
# pa55 in a comment
modules:
  a:
    prober: http
    timeout: 5s
    http:
      headers: {Accept-Language: en, X-Api-Key: s3cret, COOKIE: "sid=s3cret", Host: a.example}
      basic_auth: &basic {username: en, password: "pa\x35\u0035"}
      authorization:
        type: en
        credentials: >-
          s3cret
      bearer_token: 's3cret'
      proxy_url: http://en:pa55@proxy.example:3128/en
      oauth2: {client_id: en, client_secret: s3cret, token_url: "https://s3cret@b.example/?api_key=s3cret&en=1",
        endpoint_params: {scope: en, access_token: s3cret}}
      tls_config: {key: s3cret, key_file: /en}
      fail_if_body_matches_regexp: ["en ", "true", '1']
      valid_status_codes: [200, 201]
  c: {prober: grpc, grpc: {metadata: {authorization: [s3cret], lang: [en]}}}
  b: {prober: http, http: {basic_auth: *basic, http_headers: {X-A: {secrets: [s3cret], values: [en]}}}}
"#;
        let shown = Shown::new(text).all;
        assert!(
            !shown.contains("s3cret") && !shown.contains("pa5"),
            "{shown}"
        );
        for line in [
            "timeout: \"5s\"",
            "Accept-Language: en",
            "X-Api-Key: <secret>",
            "COOKIE: <secret>",
            "Host: a.example",
            "username: en",
            "type: en",
            "proxy_url: \"http://en:<secret>@proxy.example:3128/en\"",
            "token_url: \"https://<secret>@b.example/?api_key=<secret>&en=1\"",
            "scope: en",
            "access_token: <secret>",
            "key_file: /en",
            "- \"en \"",
            "- \"true\"",
            "- 201",
            "- en",
        ] {
            assert!(
                shown.lines().any(|found| found.trim() == line),
                "{line}: {shown}"
            );
        }
        assert_eq!(shown.matches("password: <secret>").count(), 2, "{shown}");
    }

    /// The shown text is the file, except for the masks.
    #[test]
    fn what_is_shown_is_yaml_with_the_same_values() {
        let text = "a: {b: [[1, 2], {c: 'x: y #z'}, [], {}], \"d e\": null, f: -1.5}\n";
        let before: Value = serde_saphyr::from_str(text).unwrap();
        let after: Value = serde_saphyr::from_str(&Shown::new(text).all).unwrap();
        assert_eq!(before, after);
    }
}
