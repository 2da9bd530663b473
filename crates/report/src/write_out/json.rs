//! `%{json}` and `%{header_json}`, laid out as curl lays them out.

use super::Transfer;
use super::variable::VARIABLES;
use crate::text::lossy;

/// All variables as one object, sorted, with the version of this program last.
pub(super) fn variables(transfer: &Transfer) -> String {
    let mut out = String::from("{");
    for variable in VARIABLES {
        out.push_str(&format!(
            "\"{}\":{},",
            variable.name,
            (variable.value)(transfer).json()
        ));
    }
    out.push_str(&format!(
        "\"roundtrip_version\":\"{}\"}}",
        env!("CARGO_PKG_VERSION")
    ));
    out
}

/// The last response's headers: names in lower case, each with all its values, in order of first appearance.
pub(super) fn headers(transfer: &Transfer) -> String {
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
