//! The building blocks of a path: networks by name with their sources, and boxes with their
//! effects.

use std::fmt::Write;

use roundtrip_path::{Middlebox, PRESETS};
use serde_json::{Value, json};

use crate::output::{Outcome, OutputStream};

pub(super) fn show(as_json: bool) -> Outcome {
    let text = if as_json {
        format!("{:#}\n", document())
    } else {
        text()
    };
    OutputStream::Out.print(text);
    Outcome::Done
}

fn document() -> Value {
    let presets = PRESETS.iter().map(
        |preset| json!({ "name": preset.name, "words": preset.words, "source": preset.source }),
    );
    let boxes = Middlebox::kinds()
        .map(|(name, argument, does)| json!({ "name": name, "argument": argument, "does": does }));
    json!({
        "schema": "roundtrip/path-list/1",
        "presets": presets.collect::<Vec<_>>(),
        "middleboxes": boxes.collect::<Vec<_>>(),
    })
}

fn text() -> String {
    // Writing to a String cannot fail.
    let mut text = String::from("Networks by name (--preset)\n");
    for preset in PRESETS {
        let _ = write!(
            text,
            "  {}: {}\n      {}\n",
            preset.name, preset.words, preset.source
        );
    }
    text += "\nBoxes in the way (--middlebox)\n";
    for (name, argument, does) in Middlebox::kinds() {
        let argument = argument.map_or(String::new(), |argument| format!(":{argument}"));
        let _ = write!(text, "  {name}{argument}\n      {does}\n");
    }
    text
}
