//! The file that `gate init` writes: all tables and keys, each explained. The reference in the
//! guide is made from it, so a key is explained in one place.

/// Comments begin with `# `; `#key = …` and `#[table]` are optional and have no default.
pub const TEMPLATE: &str = include_str!("template.toml");

/// A table of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigTable {
    /// The table's header with its brackets.
    pub header: String,
    pub about: String,
    pub keys: Vec<ConfigKey>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigKey {
    pub name: String,
    /// The value as the file contains it.
    pub value: String,
    pub about: String,
    /// Whether the value is only an example, because the key has no default.
    pub example: bool,
}

/// The template's content, table by table.
pub fn tables() -> Vec<ConfigTable> {
    let mut tables: Vec<ConfigTable> = Vec::new();
    let mut about = Vec::new();
    for line in TEMPLATE.lines() {
        let setting = line.strip_prefix('#').unwrap_or(line);
        let example = setting.len() < line.len();
        if line.is_empty() {
            about.clear();
        } else if let Some(comment) = line.strip_prefix("# ") {
            about.push(comment);
        } else if setting.starts_with('[') {
            tables.push(ConfigTable {
                header: setting.to_owned(),
                about: std::mem::take(&mut about).join(" "),
                keys: Vec::new(),
            });
        } else if let (Some((name, value)), Some(table)) =
            (setting.split_once(" = "), tables.last_mut())
        {
            table.keys.push(ConfigKey {
                name: name.to_owned(),
                value: value.to_owned(),
                about: std::mem::take(&mut about).join(" "),
                example,
            });
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::{Config, Login, SecretFrom, SigningKey};

    fn with_examples() -> String {
        let bare = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest.to_owned(),
            _ => line.to_owned(),
        };
        TEMPLATE.lines().map(|l| bare(l) + "\n").collect()
    }

    /// The keys of a table, as the error about an unknown key lists them.
    fn keys_of(header: &str) -> BTreeSet<String> {
        // A table inside a list's table needs that table first.
        let within = header.starts_with("[route.").then_some("[[route]]");
        let text = format!("{}\n{header}\nno_such_key = 1", within.unwrap_or_default());
        let error = toml::from_str::<Config>(&text).unwrap_err();
        let (_, known) = error.message().split_once(", expected ").unwrap();
        let words = known.split('`').skip(1).step_by(2);
        words.map(str::to_owned).collect()
    }

    #[test]
    fn every_key_has_its_default() {
        let mut expected = Config::default();
        expected.listen.http = vec!["127.0.0.1:8080".parse().unwrap()];
        expected.listen.https = vec!["127.0.0.1:8443".parse().unwrap()];
        expected.token.key = vec![SigningKey {
            algorithm: "HS512".into(),
            id: None,
            from: SecretFrom::File("/etc/roundtrip/token.key".into()),
        }];
        expected.serve("http://127.0.0.1:8000");
        assert_eq!(Config::parse(TEMPLATE, "template").unwrap(), expected);
    }

    #[test]
    fn examples_can_be_used() {
        let config = Config::parse(&with_examples(), "template").unwrap();
        assert_eq!(config.tls.certificate.len(), 1);
        assert_eq!(config.session.seal.len(), 1);
        assert!(config.session.cbc.is_some() && config.token.jwks.is_some());
        let login = config.login.unwrap();
        let text = "[login]\nissuer = \"https://login.example\"\nclient_id = \"gate\"";
        let bare = Config::parse(text, "").unwrap().login.unwrap();
        let defaults = |login: &Login| {
            let paths = [
                &login.start,
                &login.callback,
                &login.logout,
                &login.backchannel_logout,
                &login.frontchannel_logout,
            ];
            let spans = [login.life, login.refresh_ahead, login.leeway];
            let (cookie, passed) = (login.cookie.clone(), login.authorization);
            let lists = (login.scopes.clone(), login.algorithms.clone());
            (
                paths.map(|path| path.to_string()),
                spans,
                cookie,
                passed,
                lists,
            )
        };
        assert_eq!(defaults(&bare), defaults(&login));
        assert!(config.upstream.values().all(|u| u.health.is_some()));
        // Optional keys of optional tables must show their defaults too.
        let jwks = Config::parse("[token.jwks]", "")
            .unwrap()
            .token
            .jwks
            .unwrap();
        let written = config.token.jwks.unwrap();
        assert_eq!(
            (jwks.every, jwks.unknown_kid, jwks.algorithms),
            (written.every, written.unknown_kid, written.algorithms)
        );
    }

    #[test]
    fn every_key_of_every_table_is_explained() {
        let tables = tables();
        for table in &tables {
            let known = keys_of(&table.header);
            let told: Vec<String> = table.keys.iter().map(|key| key.name.clone()).collect();
            let headers = tables.iter().map(|t| t.header.trim_matches(['[', ']']));
            let within = format!("{}.", table.header.trim_matches(['[', ']']));
            let inner = headers.filter_map(|header| header.strip_prefix(&within));
            let told = told.into_iter().chain(inner.map(str::to_owned));
            assert_eq!(told.collect::<BTreeSet<_>>(), known, "{}", table.header);
            assert!(!table.about.is_empty(), "{}", table.header);
            for key in &table.keys {
                assert!(!key.about.is_empty(), "{} {}", table.header, key.name);
            }
        }
        let outer = tables.iter().map(|table| {
            let name = table.header.trim_matches(['[', ']']);
            name.split('.').next().unwrap_or(name).to_owned()
        });
        assert_eq!(outer.collect::<BTreeSet<_>>(), keys_of(""));
    }
}
