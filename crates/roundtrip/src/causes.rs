//! `roundtrip causes`: the catalogue for people and programs. Its content comes from crate
//! `explain`.

mod near;

use roundtrip_explain::{Cause, CauseFamily, FAMILIES, all, by_id};
use roundtrip_report::terminal::{Style, Tone, Wrap, acts};
use serde_json::{Value, json};

use crate::cli::CausesArgs;
use crate::output::{Outcome, OutputStream};

const SCHEMA: &str = "roundtrip/causes/1";
const INDENT: usize = 2;
const LABEL: usize = 11;

pub(crate) fn run(args: &CausesArgs) -> Outcome {
    let chosen = match &args.id {
        None => None,
        Some(id) => match by_id(id) {
            Some(cause) => Some(cause),
            None => return Outcome::Usage(unknown(id)),
        },
    };
    let style = OutputStream::Out.style(args.color);
    let text = match (chosen, args.json) {
        (chosen, true) => format!("{:#}\n", document(chosen)),
        (None, false) => list(style),
        (Some(cause), false) => explained(cause, style),
    };
    OutputStream::Out.print(text);
    Outcome::Done
}

fn unknown(id: &str) -> String {
    let ids: Vec<&str> = all().map(|cause| cause.id).collect();
    let shown: String = id.chars().filter(|c| !acts(*c)).take(40).collect();
    let near = near::near(&shown, &ids);
    if near.is_empty() {
        format!(
            "there is no cause '{shown}'; 'roundtrip causes' lists all {}",
            ids.len()
        )
    } else {
        format!(
            "there is no cause '{shown}'; did you mean {}?",
            near.join(" or ")
        )
    }
}

/// All causes, by family: id and name, and below the name the usual cost.
fn list(style: Style) -> String {
    let widest = all().map(|cause| cause.id.len()).max().unwrap_or(0);
    let column = INDENT + widest + 2;
    let mut lines = Vec::new();
    for family in FAMILIES {
        lines.push(style.tint(Tone::Strong, family.title));
        for cause in family.causes {
            for (n, part) in wrapped(cause.name, room(style, column)).iter().enumerate() {
                let id = if n == 0 { cause.id } else { "" };
                lines.push(format!("  {id:widest$}  {part}"));
            }
            let cost = wrapped(cause.cost, room(style, column));
            lines.extend(
                cost.iter()
                    .map(|part| format!("{:column$}{}", "", style.tint(Tone::Faint, part))),
            );
        }
        lines.push(String::new());
    }
    let told = format!(
        "{} causes. One of them with its remedy and its source: roundtrip causes ID",
        all().count()
    );
    lines.extend(wrapped(&told, room(style, 0)));
    lines.join("\n") + "\n"
}

fn explained(cause: &Cause, style: Style) -> String {
    let name = wrapped(cause.name, room(style, INDENT));
    let mut lines = vec![style.tint(Tone::Strong, cause.id)];
    lines.extend(name.iter().map(|part| format!("  {part}")));
    lines.push(String::new());
    let mut tell = |label, value: &str| lines.extend(labelled(style, label, value));
    tell("shows", cause.shows);
    tell("decided", &format!("from {}", cause.decidable.title()));
    tell("costs", cause.cost);
    tell("remedy", cause.remedy);
    for setting in cause.settings {
        tell("", &format!("{}: {}", setting.of, setting.is));
    }
    tell("source", cause.source);
    lines.join("\n") + "\n"
}

fn labelled(style: Style, label: &str, value: &str) -> Vec<String> {
    let parts = wrapped(value, room(style, INDENT + LABEL));
    let parts = parts.iter().enumerate().map(|(n, part)| {
        let label = format!("{:LABEL$}", if n == 0 { label } else { "" });
        format!("  {}{part}", style.tint(Tone::Faint, &label))
    });
    parts.collect()
}

fn document(chosen: Option<&Cause>) -> Value {
    let families = FAMILIES.iter().flat_map(|family| {
        let causes = family.causes.iter().map(move |cause| (family, cause));
        causes.filter(|(_, cause)| chosen.is_none_or(|c| c.id == cause.id))
    });
    let causes: Vec<Value> = families
        .map(|(family, cause)| entry(family, cause))
        .collect();
    json!({ "schema": SCHEMA, "causes": causes })
}

fn entry(family: &CauseFamily, cause: &Cause) -> Value {
    let settings = cause
        .settings
        .iter()
        .map(|s| json!({ "of": s.of, "is": s.is }));
    json!({
        "id": cause.id,
        "family": family.title,
        "name": cause.name,
        "shows": cause.shows,
        "decidable": cause.decidable.as_str(),
        "cost": cause.cost,
        "remedy": cause.remedy,
        "settings": settings.collect::<Vec<Value>>(),
        "source": cause.source,
    })
}

/// The width of a line that remains next to a column.
fn room(style: Style, column: usize) -> usize {
    style.width.saturating_sub(column).max(20)
}

/// A word that is too long gets a line to itself.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    Wrap::within(room).keep_words().lines(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_and_names_each_once() {
        for width in [60, 80, 120] {
            let style = Style {
                width,
                ..Style::default()
            };
            let text = list(style);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
            for cause in all() {
                let first = format!("  {} ", cause.id);
                let times = text.lines().filter(|line| line.starts_with(&first)).count();
                assert_eq!(times, 1, "{}", cause.id);
            }
        }
    }

    #[test]
    fn one_is_told_whole() {
        for cause in all() {
            let text = explained(cause, Style::default());
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in [
                cause.id,
                cause.name,
                cause.shows,
                cause.cost,
                cause.remedy,
                cause.source,
            ] {
                assert!(flat.contains(part), "{part}: {text}");
            }
            assert_eq!(document(Some(cause))["causes"][0]["id"], cause.id);
        }
        assert_eq!(
            document(None)["causes"].as_array().unwrap().len(),
            all().count()
        );
    }

    #[test]
    fn mistyped_ids_are_guessed_and_strange_ones_are_not() {
        assert!(unknown("syn-losst").contains("did you mean syn-lost?"));
        assert!(unknown("think").contains("server-think-time"));
        assert!(unknown("gremlins").contains("lists all"));
    }
}
