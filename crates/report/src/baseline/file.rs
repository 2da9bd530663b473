//! The baseline as text: small JSON, made to be read, edited and compared line by line.

use serde_json::{Map, Value, json};

use super::{COUNTS, RequestCounts, RequestKey, SCHEMA};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    #[error("it is not JSON: {0}")]
    Json(String),
    #[error("its schema is not {SCHEMA}")]
    Schema,
    #[error("it has no list 'requests'")]
    Requests,
    #[error("request {place} has no '{name}'")]
    Key { place: usize, name: &'static str },
    #[error("{name} of request {place} is not a number of 0 or more")]
    Count { place: usize, name: &'static str },
}

pub(super) fn parse(text: &str) -> Result<Vec<RequestCounts>, BaselineError> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| BaselineError::Json(error.to_string()))?;
    if document.get("schema").and_then(Value::as_str) != Some(SCHEMA) {
        return Err(BaselineError::Schema);
    }
    let requests = document.get("requests").and_then(Value::as_array);
    let requests = requests.ok_or(BaselineError::Requests)?.iter();
    let numbered = requests.zip(1..);
    numbered
        .map(|(request, place)| entry(request, place))
        .collect()
}

/// A count may be missing: it was removed so that it is not compared.
fn entry(request: &Value, place: usize) -> Result<RequestCounts, BaselineError> {
    let text = |name| {
        let text = request.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or(BaselineError::Key { place, name })
    };
    let key = RequestKey {
        url: text("url")?,
        method: text("method")?,
        strategy: text("strategy")?,
    };
    let mut values = [None; COUNTS.len()];
    for (name, value) in COUNTS.into_iter().zip(&mut values) {
        if let Some(given) = request.get(name) {
            let number = given.as_u64();
            *value = Some(number.ok_or(BaselineError::Count { place, name })?);
        }
    }
    Ok(RequestCounts { key, values })
}

pub(super) fn text(requests: &[RequestCounts]) -> String {
    let requests: Vec<Value> = requests.iter().map(object).collect();
    let document = json!({ "schema": SCHEMA, "requests": requests });
    format!("{document:#}\n")
}

fn object(request: &RequestCounts) -> Value {
    let RequestKey {
        url,
        method,
        strategy,
    } = &request.key;
    let mut object = Map::new();
    object.insert("url".into(), json!(url));
    object.insert("method".into(), json!(method));
    object.insert("strategy".into(), json!(strategy));
    let counts = COUNTS.into_iter().zip(request.values);
    for (name, value) in counts.filter_map(|(name, value)| Some((name, value?))) {
        object.insert(name.into(), json!(value));
    }
    object.into()
}
