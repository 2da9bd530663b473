//! Fuzzes RDAP answers: what is parsed is printed in every form and checked, and none of it
//! controls the terminal.
#![no_main]

use std::time::UNIX_EPOCH;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use roundtrip_rdap::answer::Answer;
use roundtrip_rdap::check::{Delivery, Profile, check};
use roundtrip_rdap::text::{COLUMNS, Column, Form, LookupResult, Part, State, Style, tell};
use roundtrip_report::terminal;

fuzz_target!(|input: (u8, &[u8])| {
    let (width, bytes) = input;
    let Ok(answer) = Answer::read(Bytes::copy_from_slice(bytes)) else {
        return;
    };
    let _ = (
        answer.oddities(),
        answer.related(),
        answer.next_url(None),
        answer.covers(),
    );
    let url = "https://rdap.example/domain/a.example"
        .parse()
        .expect("a URL");
    let delivery = Delivery {
        status: 200,
        url: Some(&url),
        ..Delivery::default()
    };
    let profiles = [Profile::GtldRegistry, Profile::GtldRegistrar, Profile::Nro];
    for violation in check(&answer, &delivery, &profiles) {
        assert!(!violation.to_string().contains(char::is_control));
    }
    for state in [State::Found, State::Refused] {
        told(&answer, state, width.into());
    }
});

fn told(answer: &Answer, state: State, width: usize) {
    let part = Part {
        server: Some("https://rdap.example/"),
        state,
        answer: Some(answer),
        why: None,
        clear: false,
        other: None,
    };
    let told = LookupResult {
        query: "a.example",
        kind: "domain",
        first: part,
        registrar: Some(part),
        beside: &[],
    };
    let columns: Vec<Column> = COLUMNS
        .iter()
        .map(|c| Column::parse(c.name).expect("a column"))
        .collect();
    for form in [
        Form::Readable,
        Form::Whois,
        Form::Csv(columns.clone()),
        Form::Fields(columns),
        Form::Json,
        Form::Ndjson,
    ] {
        let json = matches!(form, Form::Json | Form::Ndjson);
        let style = Style {
            form,
            terminal: terminal::Style {
                width,
                ..terminal::Style::default()
            },
            verbose: true,
            now: UNIX_EPOCH,
            shown: true,
        };
        let text = String::from_utf8_lossy(&tell(&told, &style)).into_owned();
        // As JSON, a tab between tokens stays.
        assert!(!text.contains(|c: char| c.is_control()
            && !matches!(c, '\n' | '\r')
            && !(json && c == '\t')));
    }
}
