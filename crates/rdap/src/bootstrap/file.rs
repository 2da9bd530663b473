//! The JSON of a registry (RFC 9224 §10.2, RFC 8521 §3): pairs of entries and URLs. A well-formed
//! file is parsed without copying, any other part by part.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

use super::{BootstrapError, Registry};

/// The limit in bytes: fifty times the size of today's largest registry.
pub(super) const MAX_FILE: usize = 4 * 1024 * 1024;
const MAX_FAULTS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Registrations<'a> {
    pub(super) publication: Cow<'a, str>,
    /// Each service has lists: entries and URLs, in object tags preceded by contacts.
    pub(super) services: Vec<Vec<Vec<Text<'a>>>>,
    pub(super) faults: Faults,
}

/// The skipped parts with the reasons, up to a bound: a hostile file can have a million errors.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<String>);

impl Faults {
    pub(super) fn add(&mut self, fault: impl FnOnce() -> String) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(fault());
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0
    }
}

/// A string that borrows from the file if it has no escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
struct Form<'a> {
    #[serde(borrow, default)]
    version: Option<Text<'a>>,
    #[serde(borrow, default)]
    publication: Option<Text<'a>>,
    #[serde(borrow)]
    services: Vec<Vec<Vec<Text<'a>>>>,
}

pub(super) fn read(registry: Registry, json: &[u8]) -> Result<Registrations<'_>, BootstrapError> {
    if json.len() > MAX_FILE {
        let limit = MAX_FILE;
        return Err(BootstrapError::TooLarge { registry, limit });
    }
    match serde_json::from_slice::<Form<'_>>(json) {
        Ok(form) => {
            check_version(registry, form.version.as_ref().map(|v| v.0.as_ref()))?;
            Ok(Registrations {
                publication: form.publication.map(|text| text.0).unwrap_or_default(),
                services: form.services,
                faults: Faults::default(),
            })
        }
        // Valid JSON, but some part has the wrong type.
        Err(error) if error.classify() == Category::Data => part_by_part(registry, json, error),
        Err(source) => Err(BootstrapError::Malformed { registry, source }),
    }
}

fn check_version(registry: Registry, version: Option<&str>) -> Result<(), BootstrapError> {
    match version {
        Some(version) if version != "1" && !version.starts_with("1.") => {
            Err(BootstrapError::Version {
                registry,
                version: version
                    .chars()
                    .take(20)
                    .flat_map(char::escape_debug)
                    .collect(),
            })
        }
        _ => Ok(()),
    }
}

fn part_by_part(
    registry: Registry,
    json: &[u8],
    mismatch: serde_json::Error,
) -> Result<Registrations<'static>, BootstrapError> {
    let malformed = |source| BootstrapError::Malformed { registry, source };
    let value: Value = serde_json::from_slice(json).map_err(malformed)?;
    let text = |member: &str| value.get(member).and_then(Value::as_str);
    check_version(registry, text("version"))?;
    let Some(services) = value.get("services").and_then(Value::as_array) else {
        return Err(malformed(mismatch));
    };
    let mut faults = Faults::default();
    let kept = services.iter().enumerate().filter_map(|(index, service)| {
        let lists = lists(service);
        if lists.is_none() {
            faults.add(|| format!("service {index} is not a list of lists of strings"));
        }
        lists
    });
    Ok(Registrations {
        services: kept.collect(),
        publication: Cow::Owned(text("publication").unwrap_or_default().to_owned()),
        faults,
    })
}

fn lists(service: &Value) -> Option<Vec<Vec<Text<'static>>>> {
    let text = |value: &Value| Some(Text(Cow::Owned(value.as_str()?.to_owned())));
    let list = |value: &Value| value.as_array()?.iter().map(text).collect();
    service.as_array()?.iter().map(list).collect()
}
