//! Why bytes are not an answer. The kinds are separate because each calls for another next step.

use thiserror::Error;

/// None of the bytes can be used.
#[derive(Debug, Error)]
pub enum AnswerError {
    #[error("the answer is empty")]
    Empty,
    #[error("the answer is a web page{}, not RDAP", titled(.title.as_deref()))]
    Page {
        /// The title of the page, safe to show.
        title: Option<String>,
    },
    #[error("the answer breaks off after {at} bytes, in the middle of its JSON")]
    Truncated {
        at: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer is not JSON: byte {at} is wrong")]
    NotJson {
        at: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer is JSON, but {found} and not an object")]
    NotAnObject { found: &'static str },
    #[error("the answer is nested more than {most} deep")]
    TooDeep { most: usize },
    #[error("the answer has {size} bytes, more than the {most} that are read")]
    TooLarge { size: usize, most: usize },
    #[error("the answer holds more than {most} values")]
    TooMany { most: usize },
}

fn titled(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!(" («{title}»)"))
}
