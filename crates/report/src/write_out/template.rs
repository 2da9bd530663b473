//! A template: parsed once, rendered for each transfer.

use super::variable::{self, Variable};
use super::{Destination, Output, TemplateInput, json};
use crate::terminal::{clean, clean_json, clean_lines, lossy};

/// Longer than any handwritten file.
const MAX_TEMPLATE: usize = 1 << 20;

/// A valid write-out template.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteOutError {
    #[error(
        "the write-out template opens '{opened}' at byte {at} and never closes it; write '}}' after the name, or '%%' for a plain percent sign"
    )]
    Unterminated { opened: &'static str, at: usize },
    #[error("the write-out template has {length} bytes; at most {MAX_TEMPLATE} are accepted")]
    TooLong { length: usize },
}

#[derive(Debug, Clone)]
enum TemplatePiece {
    Text(String),
    Value(&'static Variable),
    Unknown(String),
    /// A response header: the first of that name, or all with a separator.
    Header {
        name: String,
        between: Option<String>,
    },
    Json,
    HeaderJson,
    To(Destination),
    /// What follows is only for transfers that failed.
    OnError,
}

impl Template {
    /// Parses a template. Unknown variables are not an error: rendering names them on stderr, as
    /// with curl.
    pub fn parse(text: &str) -> Result<Self, WriteOutError> {
        if text.len() > MAX_TEMPLATE {
            return Err(WriteOutError::TooLong { length: text.len() });
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let at = text.len() - rest.len();
            let (piece, used) = match c {
                '%' => instruction(rest, at)?,
                '\\' => {
                    let (pair, used) = escape(rest);
                    (TemplatePiece::Text(pair), used)
                }
                c => (TemplatePiece::Text(c.into()), c.len_utf8()),
            };
            match piece {
                TemplatePiece::Text(more) => plain.push_str(&more),
                other => {
                    if !plain.is_empty() {
                        pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(other);
                }
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// Parses the content of a template file. As with curl, its line breaks are ignored: `\n`
    /// writes one.
    pub fn parse_file(content: &str) -> Result<Self, WriteOutError> {
        let joined: String = content
            .chars()
            .filter(|c| !matches!(c, '\r' | '\n'))
            .collect();
        Self::parse(&joined)
    }

    /// The unknown variables, for an early warning.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Unknown(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The text for one transfer, in order, each part with its destination.
    pub fn render(&self, transfer: &TemplateInput) -> Vec<Output> {
        self.render_on(transfer, |_| false)
    }

    /// Like [`Self::render`], if some destinations are terminals: values are sanitised for those.
    pub fn render_on(
        &self,
        transfer: &TemplateInput,
        is_terminal: impl Fn(&Destination) -> bool,
    ) -> Vec<Output> {
        let mut page = TemplateOutput {
            outputs: Vec::new(),
            to: None,
            is_terminal,
        };
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(text) => page.write(text.as_bytes()),
                TemplatePiece::Value(variable) => page.value(&(variable.value)(transfer).text()),
                TemplatePiece::Unknown(name) => page.complain(name),
                TemplatePiece::Header { name, between } => {
                    page.value(&header(transfer, name, between.as_deref()));
                }
                TemplatePiece::Json => page.json(&json::variables(transfer)),
                TemplatePiece::HeaderJson => page.json(&json::headers(transfer)),
                TemplatePiece::To(destination) => page.turn(destination.clone()),
                TemplatePiece::OnError if transfer.exit_code == 0 => break,
                TemplatePiece::OnError => {}
            }
        }
        page.outputs
    }
}

/// Parses an instruction that begins with a percent sign; returns the number of its bytes, too.
fn instruction(rest: &str, at: usize) -> Result<(TemplatePiece, usize), WriteOutError> {
    if rest.starts_with("%%") {
        return Ok((TemplatePiece::Text("%".into()), 2));
    }
    for opened in ["%{", "%header{", "%output{"] {
        let Some(inside) = rest.strip_prefix(opened) else {
            continue;
        };
        let Some((inside, _)) = inside.split_once('}') else {
            return Err(WriteOutError::Unterminated { opened, at });
        };
        let piece = match opened {
            "%{" => variable_piece(inside),
            "%header{" => header_piece(inside),
            _ => output_piece(inside),
        };
        return Ok((piece, opened.len() + inside.len() + 1));
    }
    // This is not an instruction: like curl, print the sign and the next character unchanged.
    let next = rest.chars().nth(1).map(String::from).unwrap_or_default();
    let text = format!("%{next}");
    let used = text.len();
    Ok((TemplatePiece::Text(text), used))
}

fn variable_piece(name: &str) -> TemplatePiece {
    match name.to_ascii_lowercase().as_str() {
        "json" => TemplatePiece::Json,
        "header_json" => TemplatePiece::HeaderJson,
        "stdout" => TemplatePiece::To(Destination::Stdout),
        "stderr" => TemplatePiece::To(Destination::Stderr),
        "onerror" => TemplatePiece::OnError,
        lower => variable::find(lower)
            .map_or_else(|| TemplatePiece::Unknown(name.into()), TemplatePiece::Value),
    }
}

/// Parses `name`, or `name:all:separator`.
fn header_piece(inside: &str) -> TemplatePiece {
    let (name, how) = inside.split_once(':').unwrap_or((inside, ""));
    let between = match how.split_once(':') {
        Some(("all", separator)) => Some(unescaped(separator)),
        None if how == "all" => Some(", ".into()),
        _ => None,
    };
    TemplatePiece::Header {
        name: name.into(),
        between,
    }
}

fn output_piece(inside: &str) -> TemplatePiece {
    let (name, append) = match inside.strip_prefix(">>") {
        Some(name) => (name, true),
        None => (inside, false),
    };
    TemplatePiece::To(Destination::File {
        name: name.into(),
        append,
    })
}

/// Converts `\r`, `\n` and `\t`; any other pair stays unchanged.
fn escape(rest: &str) -> (String, usize) {
    match rest.chars().nth(1) {
        Some('n') => ("\n".to_owned(), 2),
        Some('r') => ("\r".to_owned(), 2),
        Some('t') => ("\t".to_owned(), 2),
        Some(other) => (format!("\\{other}"), 1 + other.len_utf8()),
        None => ("\\".to_owned(), 1),
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, _)) = rest.split_once('\\') {
        out.push_str(before);
        let at = rest.get(before.len()..).unwrap_or_default();
        let (pair, used) = escape(at);
        out.push_str(&pair);
        rest = at.get(used..).unwrap_or_default();
    }
    out + rest
}

fn header(transfer: &TemplateInput, name: &str, between: Option<&str>) -> Vec<u8> {
    let values = transfer
        .headers()
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_slice());
    match between {
        None => values.take(1).collect::<Vec<&[u8]>>().concat(),
        Some(between) => values.collect::<Vec<&[u8]>>().join(between.as_bytes()),
    }
}

/// The output so far, and the current destination.
struct TemplateOutput<T> {
    outputs: Vec<Output>,
    to: Option<Destination>,
    is_terminal: T,
}

impl<T: Fn(&Destination) -> bool> TemplateOutput<T> {
    /// Writes a value that a server can have chosen.
    fn value(&mut self, bytes: &[u8]) {
        if (self.is_terminal)(self.to()) {
            self.write(clean_lines(&lossy(bytes)).as_bytes());
        } else {
            self.write(bytes);
        }
    }

    fn json(&mut self, json: &str) {
        if (self.is_terminal)(self.to()) {
            self.write(clean_json(json).as_bytes());
        } else {
            self.write(json.as_bytes());
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let to = self.to().clone();
        match self.outputs.last_mut() {
            Some(last) if last.to == to => last.bytes.extend_from_slice(bytes),
            _ => self.outputs.push(Output {
                to,
                bytes: bytes.to_vec(),
            }),
        }
    }

    fn to(&self) -> &Destination {
        self.to.as_ref().unwrap_or(&Destination::Stdout)
    }

    fn turn(&mut self, to: Destination) {
        // A file named again is opened again, and so is truncated again unless it is appended to.
        if let Destination::File { .. } = to {
            self.outputs.push(Output {
                to: to.clone(),
                bytes: Vec::new(),
            });
        }
        self.to = Some(to);
    }

    fn complain(&mut self, name: &str) {
        let before = self.to.replace(Destination::Stderr);
        let name = clean(name);
        self.write(format!("roundtrip: unknown --write-out variable: '{name}'\n").as_bytes());
        // The following text continues at the earlier destination; a file is not truncated.
        self.to = match before {
            Some(Destination::File { name, .. }) => Some(Destination::File { name, append: true }),
            other => other,
        };
    }
}
