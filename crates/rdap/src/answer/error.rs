//! The reasons why bytes are not an answer. They are separate because each needs another remedy.

use thiserror::Error;

/// The bytes cannot be parsed at all.
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
    #[error("the answer is not JSON: byte {at} is invalid")]
    NotJson {
        at: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer is written in UTF-16, not in UTF-8")]
    Utf16,
    #[error("the answer is JSON, but {found} instead of an object")]
    NotAnObject { found: &'static str },
    #[error("the answer is nested more than {most} levels deep")]
    TooDeep { most: usize },
    #[error("the answer has {size} bytes; at most {most} are read")]
    TooLarge { size: usize, most: usize },
    #[error("the answer contains more than {most} values")]
    TooMany { most: usize },
}

fn titled(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!(" ('{title}')"))
}
