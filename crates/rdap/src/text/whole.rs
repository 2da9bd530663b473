//! Shows a full answer for reading: every member under a heading, the most important ones first.
//! Members without a heading here, such as those of extensions, are shown under their own names, so
//! that nothing is left out.

mod heading;

use roundtrip_report::terminal::{Tone, width};

use super::column::shown;
use super::page::Page;
use super::when::distance;
use crate::answer::{Answer, Date, Node, status};
use heading::{heading, rank};

/// The indentation of one level of nesting, and the largest indentation: deep nesting must leave
/// room for text.
const INDENT_STEP: usize = 2;
const MAX_INDENT: usize = 24;
/// Members that are texts and together no longer than this share a line.
const MAX_LINE: usize = 160;
/// The largest distance from a heading to the column of values.
const MAX_LABEL: usize = 18;

/// Adds all members of the answer.
pub(super) fn answer(page: &mut Page, answer: &Answer, now: Date) {
    Whole { page, now }.members(answer.root(), INDENT_STEP);
}

struct Whole<'p> {
    page: &'p mut Page,
    now: Date,
}

impl Whole<'_> {
    /// Adds the members of an object, one below the other.
    fn members(&mut self, object: &Node, indent: usize) {
        let mut members: Vec<(&str, &Node)> = object
            .members()
            .iter()
            .map(|(name, value)| (&**name, value))
            .collect();
        members.sort_by_key(|(name, _)| rank(name));
        let widest = members.iter().map(|(name, _)| width(heading(name))).max();
        let column = indent + widest.unwrap_or_default().min(MAX_LABEL) + 2;
        for (name, value) in members {
            self.label(heading(name), indent);
            self.member(name, value, indent, column);
        }
    }

    fn label(&mut self, label: &str, indent: usize) {
        self.page.end_line();
        self.page.tab(indent);
        self.page.flow(Tone::Faint, label, indent);
    }

    /// Adds the value of a member, beside its heading or below it.
    fn member(&mut self, name: &str, value: &Node, indent: usize, column: usize) {
        match value {
            Node::List(items) if is_card(items) => self.card(items, indent),
            Node::List(items) if items.is_empty() => self.value("none", Tone::Faint, column),
            // Objects of one list look alike: all on lines, or all in blocks.
            Node::List(items)
                if items
                    .iter()
                    .any(|i| i.is_object() && on_a_line(i, self.now).is_none()) =>
            {
                for item in items {
                    match item {
                        Node::Object(_) => self.block(item, indent, items.len() > 1),
                        other => self.item(name, other, indent, column),
                    }
                }
            }
            Node::List(items) => {
                for item in items {
                    self.item(name, item, indent, column);
                }
            }
            other => self.item(name, other, indent, column),
        }
        self.page.end_line();
    }

    fn item(&mut self, name: &str, item: &Node, indent: usize, column: usize) {
        match item {
            Node::Object(_) => match on_a_line(item, self.now) {
                Some(line) => self.value(&line, Tone::Plain, column),
                None => self.block(item, indent, false),
            },
            Node::List(items) => match simple(items) {
                Some(line) => self.value(&line, Tone::Plain, column),
                None => {
                    let below = deeper(indent);
                    for item in items {
                        self.page.end_line();
                        self.item(name, item, below, deeper(below));
                    }
                }
            },
            scalar => self.scalar(name, scalar, column),
        }
    }

    /// Adds an object below its heading. If it is one of several, a dash marks its beginning.
    fn block(&mut self, object: &Node, indent: usize, is_one_of_several: bool) {
        self.page.end_line();
        if is_one_of_several {
            self.label("-", indent);
            self.page.end_line();
        }
        self.members(object, deeper(indent));
    }

    fn scalar(&mut self, name: &str, scalar: &Node, column: usize) {
        let text = shown(scalar);
        let mut lines = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .peekable();
        if lines.peek().is_none() {
            self.value("empty", Tone::Faint, column);
        }
        for line in lines {
            self.value(line, Tone::Plain, column);
        }
        let note = match name {
            "status" => status::find(&text).map(|known| known.meaning.to_owned()),
            "eventDate" => Date::parse(&text).map(|date| distance(date, self.now)),
            _ => None,
        };
        if let Some(note) = note {
            self.page.aside(width(&note), column + INDENT_STEP);
            self.page.flow(Tone::Faint, &note, column + INDENT_STEP);
        }
    }

    /// Adds a value on a separate line, at the column of values.
    fn value(&mut self, text: &str, tone: Tone, column: usize) {
        self.page.tab_or_below(column);
        self.page.flow(tone, text, column);
    }

    /// Adds a jCard, a line for each property (RFC 7095, section 3.3).
    fn card(&mut self, items: &[Node], indent: usize) {
        let below = deeper(indent);
        let properties = items.iter().skip(1).flat_map(Node::items);
        for property in properties {
            let [
                Node::Text(name),
                parameters @ Node::Object(_),
                Node::Text(_),
                values @ ..,
            ] = property.items()
            else {
                self.page.end_line();
                self.page.tab(below);
                let mut json = String::new();
                property.write_json(&mut json);
                self.page.flow(Tone::Plain, &json, deeper(below));
                continue;
            };
            self.label(heading(name), below);
            let column = below + MAX_LABEL;
            let texts: Vec<String> = values.iter().map(flat).filter(|t| !t.is_empty()).collect();
            let text = texts.join("; ");
            self.value(
                if text.is_empty() { "empty" } else { &text },
                Tone::Plain,
                column,
            );
            let note = pairs(parameters);
            if !note.is_empty() {
                self.page.aside(width(&note), column + INDENT_STEP);
                self.page.flow(Tone::Faint, &note, column + INDENT_STEP);
            }
        }
    }
}

fn deeper(indent: usize) -> usize {
    (indent + INDENT_STEP).min(MAX_INDENT)
}

/// Whether this is `["vcard", [property, …], …]`.
fn is_card(items: &[Node]) -> bool {
    matches!(items, [Node::Text(word), rest @ ..]
        if &**word == "vcard" && rest.iter().all(|list| matches!(list, Node::List(_))))
}

/// A small object on one line: a link, an event, an identifier. Values that explain themselves have
/// no heading.
fn on_a_line(object: &Node, now: Date) -> Option<String> {
    let mut members: Vec<(&str, &Node)> = Vec::new();
    let mut length = 0;
    for (name, value) in object.members() {
        let text = value.text().map_or(8, str::len);
        length += name.len() + text;
        let is_simple = match value {
            Node::Object(_) | Node::List(_) => false,
            Node::Text(text) => !text.contains('\n'),
            _ => true,
        };
        if !is_simple || length > 4 * MAX_LINE {
            return None;
        }
        members.push((name, value));
    }
    let is_link = members.iter().any(|(name, _)| *name == "href");
    if members.is_empty() || (length > MAX_LINE && !is_link) {
        return members.is_empty().then(|| "empty".to_owned());
    }
    members.sort_by_key(|(name, _)| rank(name));
    let told = members.iter().map(|(name, value)| {
        let text = shown(value);
        match *name {
            "rel" | "href" | "eventAction" | "type" | "identifier" | "title" => text,
            "eventDate" => match Date::parse(&text) {
                Some(date) => format!("{text} ({})", distance(date, now)),
                None => text,
            },
            name => format!("{}: {text}", heading(name)),
        }
    });
    Some(told.collect::<Vec<_>>().join(" · "))
}

/// The items of a list without objects or lists in it, on one line.
fn simple(items: &[Node]) -> Option<String> {
    let is_simple = |n: &Node| !matches!(n, Node::Object(_) | Node::List(_));
    let texts = || items.iter().map(shown).collect::<Vec<_>>().join(", ");
    items
        .iter()
        .all(is_simple)
        .then(texts)
        .filter(|t| t.len() <= MAX_LINE)
}

/// Parameters of a property: `type: voice, fax`.
fn pairs(parameters: &Node) -> String {
    let told = parameters.members().iter();
    let told = told.map(|(name, value)| format!("{name}: {}", flat(value)));
    told.collect::<Vec<_>>().join(" · ")
}

/// A value of a card: its texts, with commas between.
fn flat(node: &Node) -> String {
    match node {
        Node::List(items) => {
            let texts = items.iter().map(flat).filter(|t| !t.is_empty());
            texts.collect::<Vec<_>>().join(", ")
        }
        other => shown(other),
    }
}
