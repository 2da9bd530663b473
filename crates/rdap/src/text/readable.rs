//! The block for people: aligned, wrapped, with the most wanted facts first.

use roundtrip_report::terminal::{Tone, clean, width};

use super::facts::number::numbers;
use super::facts::{Block, Fact, Facts, Value};
use super::page::Page;
use super::subject::{found, trouble};
use super::{LookupResult, Part, State, Style, whole};
use crate::answer::{Answer, Date, Event, Item, Link, Notice, Object, Oddity, Redaction, Search};

/// The largest width of the column of labels.
const MAX_LABEL: usize = 18;
/// The notes of a list are aligned if all its texts are at most this wide.
const MAX_ALIGNED_TEXT: usize = 36;
/// The largest number of notices and redactions shown of one answer.
const MAX_SHOWN: usize = 100;

pub(super) fn tell(told: &LookupResult<'_>, style: &Style) -> String {
    let mut page = Page::new(style.terminal);
    let now = Date::at(style.now);
    match found(&told.first).map(Answer::object) {
        None => outcome_line(&mut page, told),
        Some(Object::Search(search)) => results(&mut page, search, now),
        Some(Object::Help(top)) => help(&mut page, top),
        Some(object) => facts(&mut page, &merged(object, told, now)),
    }
    let second = told.registrar.as_ref().filter(|p| p.state != State::Found);
    if let Some(part) = second {
        missing(&mut page, part);
    }
    others(&mut page, told);
    note_oddities(&mut page, told);
    if !style.verbose {
        notices(&mut page, told);
    }
    if let Some(note) = told.note {
        page.gap();
        page.flow(Tone::Plain, note, 2);
        page.end_line();
    }
    sources(&mut page, told, now);
    if style.verbose {
        in_full(&mut page, told, now);
    }
    page.finish()
}

/// Adds all members of each server's answer, behind the summary.
fn in_full(page: &mut Page, told: &LookupResult<'_>, now: Date) {
    for part in [Some(&told.first), told.registrar.as_ref()]
        .into_iter()
        .flatten()
    {
        let Some(answer) = part.answer else { continue };
        page.gap();
        let title = format!("In full, from {}", part.server.map_or("the server", host));
        page.flow(Tone::Strong, &title, 2);
        page.end_line();
        whole::answer(page, answer, now);
    }
}

/// Shows the query, and why there is nothing to show if there is no answer.
fn outcome_line(page: &mut Page, told: &LookupResult<'_>) {
    let (tone, words) = match told.first.state {
        State::NotRegistered => (Tone::Warn, "is not registered"),
        State::Refused => (Tone::Bad, "was refused"),
        State::Failed | State::Found => (Tone::Bad, "could not be looked up"),
    };
    let dns = idna::domain_to_ascii(told.query).unwrap_or_default();
    let (query, _) = page.worded(told.query, &dns);
    page.flow(Tone::Strong, query, 2);
    page.space();
    page.flow(tone, words, 2);
    page.end_line();
    if let Some(why) = trouble(&told.first) {
        page.tab(2);
        page.flow(Tone::Plain, &why, 2);
        page.end_line();
    }
}

/// Says why there is only the registry's answer.
fn missing(page: &mut Page, part: &Part<'_>) {
    page.gap();
    let told = match part.state {
        State::NotRegistered => "The registrar does not know it",
        State::Refused => "The registrar refused to answer",
        State::Failed | State::Found => "The registrar's answer is missing",
    };
    let server = part
        .server
        .map(|s| format!(" ({})", host(s)))
        .unwrap_or_default();
    let why = trouble(part).map(|w| format!(": {w}")).unwrap_or_default();
    page.flow(Tone::Warn, &format!("{told}{server}{why}"), 2);
    page.end_line();
}

/// Says that an answer is about another object than the requested one.
fn others(page: &mut Page, told: &LookupResult<'_>) {
    let registrar = told.registrar.as_ref().and_then(|part| part.other);
    let answers = [
        ("The answer", told.first.other, ""),
        (
            "The registrar's answer",
            registrar,
            ", and is not part of this summary",
        ),
    ];
    for (answer, other, so) in answers {
        let Some(other) = other else { continue };
        page.gap();
        let line = format!("{answer} is about {other}, not {}{so}", told.query);
        page.flow(Tone::Warn, &line, 2);
        page.end_line();
    }
}

/// The registry's facts, with the registrar's additions and differences.
fn merged(object: Object<'_>, told: &LookupResult<'_>, now: Date) -> Vec<Fact> {
    let mut facts = Facts::of(object, now);
    let second = told.registrar.as_ref().filter(|p| p.other.is_none());
    let second = second.and_then(found);
    for fact in second
        .map(|a| Facts::of(a.object(), now))
        .unwrap_or_default()
    {
        let same = |f: &&mut Fact| f.block == fact.block && f.label == fact.label;
        let Some(own) = facts.iter_mut().find(same) else {
            facts.push(fact);
            continue;
        };
        for value in fact.values {
            if !own.values.iter().any(|v| v.key == value.key) {
                own.values.push(Value {
                    differs: true,
                    ..value
                });
            }
        }
    }
    let answers = [found(&told.first), second];
    let redactions: Vec<Value> = answers
        .into_iter()
        .flatten()
        .flat_map(Answer::redactions)
        .map(redacted)
        .take(MAX_SHOWN)
        .collect();
    if !redactions.is_empty() {
        facts.push(Fact {
            block: Block::People,
            label: "Redacted".into(),
            values: redactions,
        });
    }
    facts.sort_by_key(|f| (f.block, f.rank()));
    facts
}

fn redacted(redaction: Redaction<'_>) -> Value {
    let how = redaction.method().map_or("redacted", |m| m.shown());
    let why = redaction
        .reason()
        .map(|r| format!(": {}", r.trim()))
        .unwrap_or_default();
    let name = redaction.name().or(redaction.path()).unwrap_or("something");
    Value::new(name).note(format!("{how}{why}"))
}

fn facts(page: &mut Page, facts: &[Fact]) {
    let labels = facts
        .iter()
        .map(|f| width(&f.label))
        .max()
        .unwrap_or_default();
    let column = labels.min(MAX_LABEL) + 2;
    let mut block = None;
    for fact in facts {
        if block.replace(fact.block).is_some_and(|b| b != fact.block) {
            page.gap();
        }
        page.flow(Tone::Faint, &fact.label, 2);
        let notes = notes_column(fact, column);
        for value in &fact.values {
            page.tab(column);
            let (text, note) = page.worded(&value.text, &value.note);
            page.flow(value.tone, text, column);
            beside(page, &note_of(value, note), notes, column);
            page.end_line();
        }
    }
}

/// The column of a fact's notes, if several are aligned below each other.
fn notes_column(fact: &Fact, column: usize) -> Option<usize> {
    let noted = || {
        fact.values
            .iter()
            .filter(|v| v.differs || !v.note.is_empty())
    };
    let texts = noted().map(|v| width(&clean(&v.text)));
    let widest = texts
        .max()
        .filter(|w| *w <= MAX_ALIGNED_TEXT && noted().count() > 1)?;
    Some(column + widest + 2)
}

fn note_of(value: &Value, note: &str) -> String {
    let by = if value.differs {
        "says the registrar"
    } else {
        ""
    };
    let both: Vec<&str> = [note.trim(), by]
        .into_iter()
        .filter(|n| !n.is_empty())
        .collect();
    both.join(" · ")
}

/// Adds a note beside a value: aligned with the notes around it if it fits, otherwise below.
fn beside(page: &mut Page, note: &str, notes: Option<usize>, column: usize) {
    let wide = width(note);
    match notes.filter(|n| n + wide.min(30) <= page.columns()) {
        _ if note.is_empty() => {}
        Some(notes) => {
            page.tab(notes);
            page.flow(Tone::Faint, note, notes);
        }
        None => {
            page.aside(wide, column + 2);
            page.flow(Tone::Faint, note, column + 2);
        }
    }
}

/// Adds a line for each result.
fn results(page: &mut Page, search: Search<'_>, now: Date) {
    let count = search.results().count() as u64;
    let kind = search.kind.noun();
    let told = match search.total() {
        Some(total) if total > count => format!("{count} of {total} {kind}"),
        _ => format!("{count} {kind}"),
    };
    page.flow(Tone::Strong, &told, 2);
    page.end_line();
    let names: Vec<(String, String)> = search.results().map(|o| summary(o, now)).collect();
    let widest = names
        .iter()
        .map(|(n, _)| width(n))
        .filter(|w| *w <= MAX_ALIGNED_TEXT)
        .max();
    for (name, note) in names {
        page.tab(2);
        page.flow(Tone::Plain, &name, 4);
        page.space();
        page.space();
        page.tab(widest.unwrap_or_default() + 4);
        page.flow(Tone::Faint, &note, 4);
        page.end_line();
    }
}

fn summary(object: Object<'_>, now: Date) -> (String, String) {
    let item = object.item();
    let number = match object {
        Object::Network(network) => Some(network.cidrs().join(" ")).filter(|c| !c.is_empty()),
        Object::Autnum(autnum) => autnum.range().map(|(start, end)| numbers(start, end)),
        Object::Entity(entity) => entity.contact().called().map(str::to_owned),
        _ => item
            .text("unicodeName")
            .or(object.name())
            .map(str::to_owned),
    };
    let name = number
        .or_else(|| item.handle().map(str::to_owned))
        .unwrap_or_else(|| "?".into());
    let expires = item.event("expiration").and_then(Event::date);
    let status = item.status().map(str::trim).collect::<Vec<_>>().join(", ");
    let expires =
        expires.map(|d| format!("expires {} ({})", d.day(), super::when::distance(d, now)));
    let label = item.text("name").or(item.handle()).map(str::to_owned);
    let notes = [label, Some(status), expires]
        .into_iter()
        .flatten()
        .filter(|n| !n.is_empty());
    (name, notes.collect::<Vec<_>>().join(" · "))
}

/// Adds the server's capabilities; its notices follow.
fn help(page: &mut Page, top: Item<'_>) {
    let extensions = top
        .texts("rdapConformance")
        .take(MAX_SHOWN)
        .collect::<Vec<_>>()
        .join(" · ");
    if !extensions.is_empty() {
        page.flow(Tone::Strong, "Conforms to", 2);
        page.space();
        page.space();
        page.flow(Tone::Plain, &extensions, 2);
        page.end_line();
    }
}

/// Says that a part could not be interpreted; the conformance checks say which.
fn note_oddities(page: &mut Page, told: &LookupResult<'_>) {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let answers = parts.into_iter().flatten().filter_map(|p| p.answer);
    let odd: Vec<Oddity> = answers.flat_map(Answer::oddities).collect();
    let bytes = odd.iter().filter(|o| o.is_of_bytes()).count() as u64;
    let stray = odd.iter().filter(|o| o.is_of_stray_bytes()).count() as u64;
    let types = odd.len() as u64 - bytes - stray;
    let count = roundtrip_report::count;
    let lines = [
        (
            types,
            count(types, "member is", "members are")
                + " not of the type that RFC 9083 gives (--check shows which)",
        ),
        (
            bytes,
            count(bytes, "text holds", "texts hold")
                + " bytes that are not UTF-8, shown as \u{fffd} (--check shows which)",
        ),
        (
            stray,
            count(stray, "answer holds", "answers hold")
                + " bytes between its members that are not UTF-8 and are ignored",
        ),
    ];
    for (_, line) in lines.iter().filter(|(count, _)| *count > 0) {
        page.gap();
        page.flow(Tone::Warn, line, 2);
        page.end_line();
    }
}

/// Adds titles. Notices about missing data are shown in full, and so is help.
fn notices(page: &mut Page, told: &LookupResult<'_>) {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let answers = parts.into_iter().flatten().filter_map(|p| p.answer);
    let notices: Vec<Notice<'_>> = answers.flat_map(Answer::notices).take(MAX_SHOWN).collect();
    let is_help = matches!(
        found(&told.first).map(Answer::object),
        Some(Object::Help(_))
    );
    let (full, short): (Vec<_>, Vec<_>) = notices
        .into_iter()
        .partition(|n| is_help || n.kind().is_some());
    for notice in full {
        page.gap();
        notice_in_full(page, notice);
    }
    let mut titles: Vec<&str> = Vec::new();
    for title in short.iter().filter_map(|n| n.title()).map(str::trim) {
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    if !titles.is_empty() {
        page.gap();
        let line = format!("Notices: {} (in full with --verbose)", titles.join(" · "));
        page.flow(Tone::Faint, &line, 2);
        page.end_line();
    }
}

fn notice_in_full(page: &mut Page, notice: Notice<'_>) {
    let tone = if notice.kind().is_some() {
        Tone::Warn
    } else {
        Tone::Strong
    };
    let title = [notice.title(), notice.kind()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(": ");
    page.flow(tone, if title.is_empty() { "Notice" } else { &title }, 2);
    page.end_line();
    for line in notice
        .description()
        .flat_map(str::lines)
        .filter(|l| !l.trim().is_empty())
    {
        page.tab(2);
        page.flow(Tone::Plain, line, 2);
        page.end_line();
    }
    for href in notice.links().filter_map(Link::href) {
        page.tab(2);
        page.flow(Tone::Faint, href, 2);
        page.end_line();
    }
}

/// Adds the sources of the facts, and their dates.
fn sources(page: &mut Page, told: &LookupResult<'_>, now: Date) {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let both = parts
        .iter()
        .flatten()
        .filter(|p| p.answer.is_some())
        .count()
        > 1;
    let mut line: Vec<String> = Vec::new();
    for (part, role) in parts.into_iter().zip(["registry", "registrar"]) {
        let Some((part, server)) = part.and_then(|p| Some((p, p.server?))) else {
            continue;
        };
        if part.answer.is_none() {
            continue;
        }
        line.push(match (both, part.clear) {
            (true, true) => format!("{} ({role}, in clear text)", host(server)),
            (true, false) => format!("{} ({role})", host(server)),
            (false, true) => format!("{} (in clear text)", host(server)),
            (false, false) => host(server).to_owned(),
        });
    }
    if line.is_empty() {
        return;
    }
    let current = found(&told.first)
        .map(Answer::top)
        .and_then(|top: Item<'_>| top.event("last update of RDAP database"));
    let current = current.and_then(Event::date);
    let age = current.map(|d| format!(", as of {} ({})", d.shown(), super::when::distance(d, now)));
    page.gap();
    page.flow(
        Tone::Faint,
        &format!("From {}{}", line.join(" and "), age.unwrap_or_default()),
        2,
    );
    page.end_line();
}

/// The host of a URL; any other text is already a name.
fn host(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
