//! `%{json}` and `%{header_json}`, in curl's layout.

use super::TemplateInput;
use super::variable::VARIABLES;
use crate::terminal::lossy;

/// All variables as one object, sorted, with the version of this program last.
pub(super) fn variables(transfer: &TemplateInput) -> String {
    let mut fields: Vec<String> = VARIABLES
        .iter()
        .map(|v| format!("\"{}\":{}", v.name, (v.value)(transfer).json()))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    fields.push(format!("\"roundtrip_version\":\"{version}\""));
    format!("{{{}}}", fields.join(","))
}

/// The last response's headers: names in lower case, each with all its values, in order of first
/// appearance.
pub(super) fn headers(transfer: &TemplateInput) -> String {
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in transfer.headers() {
        let name = name.to_ascii_lowercase();
        match fields.iter_mut().find(|(n, _)| *n == name) {
            Some((_, values)) => values.push(lossy(value)),
            None => fields.push((name, vec![lossy(value)])),
        }
    }
    let lines: Vec<String> = fields
        .into_iter()
        .map(|(name, values)| {
            let values = serde_json::Value::from(values);
            format!("{}:{values}", serde_json::Value::from(name))
        })
        .collect();
    format!("{{{}\n}}", lines.join(",\n"))
}
