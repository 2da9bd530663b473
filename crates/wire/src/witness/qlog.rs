//! qlog of QUIC connections: JSON of drafts 0.3 and 0.4, JSON-SEQ and lines of JSON, and the events
//! as arrays of earlier drafts. A log contains only what one end observed; it does not have the
//! other end's times.

mod events;

use std::collections::HashMap;

use serde_json::Value;

use self::events::read_event;
use super::har::time;
use super::items::{Items, parse};
use super::{LogTime, MAX_KEPT, ToldConnection, Witness, nanoseconds, number, text};

/// The character before each record of JSON-SEQ. RFC 7464 §2.2.
const RECORD: u8 = 0x1e;

/// Reads a qlog; `None` if this is not one.
pub fn read(bytes: &[u8]) -> Option<Witness> {
    let mut witness = Witness::default();
    let first = bytes.split(|byte| *byte == b'\n').next()?;
    let first = first.strip_prefix(&[RECORD]).unwrap_or(first);
    let is_sequence =
        bytes.first() == Some(&RECORD) || parse(first).is_some_and(|head| !head["trace"].is_null());
    if is_sequence {
        read_sequence(bytes, &mut witness)?;
    } else {
        let mut traces = Items::of_array(Items::member(bytes, "traces")?)?;
        for (_, trace) in traces.by_ref() {
            let is_full = witness.connections.len() >= MAX_KEPT;
            if is_full || read_trace(trace, &mut witness).is_none() {
                witness.damaged += 1;
            }
        }
        witness.is_cut |= !traces.is_whole;
    }
    Some(witness)
}

/// Reads a record for the log, then one for each event.
fn read_sequence(bytes: &[u8], witness: &mut Witness) -> Option<()> {
    let records = bytes.split(|byte| matches!(*byte, RECORD | b'\n'));
    let mut records = records.filter(|record| !record.trim_ascii().is_empty());
    let head = parse(records.next()?)?;
    let trace = head.get("trace").unwrap_or(&head);
    trace.as_object()?;
    let mut reader = QlogTrace::new(trace, witness);
    for record in records {
        match parse(record) {
            Some(event) => reader.take(&event, witness),
            None => witness.damaged += 1,
        }
    }
    // Each record ends in a line feed.
    witness.is_cut = !bytes.ends_with(b"\n");
    Some(())
}

fn read_trace(trace: &[u8], witness: &mut Witness) -> Option<()> {
    // The description of the events may follow them.
    let mut head = serde_json::Map::new();
    let mut events = None;
    let mut members = Items::of_object(trace)?;
    for (name, value) in members.by_ref() {
        if name == b"events" {
            events = Some(value);
        } else if let Some(value) = parse(value) {
            head.insert(String::from_utf8_lossy(name).into_owned(), value);
        }
    }
    witness.is_cut |= !members.is_whole;
    let mut events = Items::of_array(events?)?;
    let mut reader = QlogTrace::new(&Value::Object(head), witness);
    for (_, event) in events.by_ref() {
        match parse(event) {
            Some(event) => reader.take(&event, witness),
            None => witness.damaged += 1,
        }
    }
    Some(())
}

/// A trace: a connection, or several that events refer to.
struct QlogTrace {
    clock: QlogClock,
    /// The columns of an event, in early drafts.
    columns: Vec<String>,
    /// The index of the connection for events that name none.
    connection: usize,
    /// The other connections that the events name.
    groups: HashMap<String, usize>,
}

/// How to interpret the times of a trace.
struct QlogClock {
    /// The length of a tick, in milliseconds.
    unit: f64,
    format: QlogFormat,
    /// The first or the previous time, in milliseconds.
    from: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QlogFormat {
    /// Times count from the beginning of the trace.
    Relative,
    /// Times count from the previous event.
    Delta,
    /// Times count from another moment, which the trace need not state.
    Absolute,
}

impl QlogTrace {
    fn new(trace: &Value, witness: &mut Witness) -> Self {
        let common = &trace["common_fields"];
        let columns = trace["event_fields"].as_array().map(|columns| {
            let names = columns.iter().filter_map(Value::as_str);
            names.map(str::to_lowercase).collect::<Vec<_>>()
        });
        let columns = columns.unwrap_or_default();
        let format = match common["time_format"].as_str() {
            Some("delta" | "relative_to_previous_event") => QlogFormat::Delta,
            Some("absolute") => QlogFormat::Absolute,
            None if columns.iter().any(|name| name == "delta_time") => QlogFormat::Delta,
            None if common["reference_time"].is_null()
                && !columns.iter().any(|name| name == "relative_time") =>
            {
                QlogFormat::Absolute
            }
            _ => QlogFormat::Relative,
        };
        let unit = match trace["configuration"]["time_units"].as_str() {
            Some("us") => 1e-3,
            _ => 1.0,
        };
        let reference = &common["reference_time"];
        let reference = [
            reference,
            &reference["wall_clock_time"],
            &reference["epoch"],
        ];
        let started = reference.into_iter().find_map(|reference| {
            let told = reference.as_str().and_then(time);
            told.or_else(|| nanoseconds(number(reference)? * unit))
        });
        if format != QlogFormat::Absolute {
            witness.started = witness.started.or(started.filter(|started| *started > 0));
        }
        let ids = [
            &common["group_id"],
            &common["ODCID"],
            &common["odcid"],
            &trace["title"],
        ];
        let id = ids.into_iter().find_map(text).unwrap_or_default();
        witness.connections.push(ToldConnection {
            id,
            ..ToldConnection::default()
        });
        Self {
            clock: QlogClock {
                unit,
                format,
                from: None,
            },
            columns,
            connection: witness.connections.len() - 1,
            groups: HashMap::new(),
        }
    }

    fn take(&mut self, event: &Value, witness: &mut Witness) {
        let by_column;
        let event = match event {
            Value::Array(values) => {
                let pairs = self.columns.iter().cloned().zip(values.iter().cloned());
                by_column = Value::Object(pairs.collect());
                &by_column
            }
            other => other,
        };
        let times = ["time", "relative_time", "delta_time", "reference_time"];
        let time = times.iter().find_map(|name| number(&event[*name]));
        let names = [&event["name"], &event["event"], &event["event_type"]];
        let name = names.into_iter().find_map(Value::as_str);
        let (Some(time), Some(name)) = (time, name) else {
            witness.damaged += 1;
            return;
        };
        let at = self.clock.moment(time, witness);
        let group = [&event["group_id"], &event["odcid"]]
            .into_iter()
            .find_map(text);
        let connection = self.connection_of(group, witness).filter(|connection| {
            let known = witness.connections.get(*connection);
            known.is_some_and(|known| known.events.len() < MAX_KEPT)
        });
        let Some(connection) = connection else {
            witness.damaged += 1;
            return;
        };
        // The namespace has changed between drafts, but the names have not.
        let name = name.rsplit(':').next().unwrap_or(name).to_lowercase();
        let at = (at, self.clock.unit);
        read_event(witness, connection, at, &name, &event["data"]);
    }

    /// The index of a connection; `None` beyond the limit.
    fn connection_of(&mut self, group: Option<String>, witness: &mut Witness) -> Option<usize> {
        let Some(group) = group else {
            return Some(self.connection);
        };
        let all = &mut witness.connections;
        if let Some(first) = all.get_mut(self.connection)
            && (first.id.is_empty() || first.id == group)
        {
            first.id = group;
            return Some(self.connection);
        }
        if let Some(known) = self.groups.get(&group) {
            return Some(*known);
        }
        (all.len() < MAX_KEPT).then(|| {
            self.groups.insert(group.clone(), all.len());
            all.push(ToldConnection {
                id: group,
                ..ToldConnection::default()
            });
            all.len() - 1
        })
    }
}

impl QlogClock {
    /// Milliseconds are fractions in most logs.
    fn moment(&mut self, time: f64, witness: &mut Witness) -> LogTime {
        let time = time * self.unit;
        let since = match self.format {
            QlogFormat::Relative => time,
            QlogFormat::Delta => {
                let last = self.from.unwrap_or(0.0) + time;
                self.from = Some(last);
                last
            }
            QlogFormat::Absolute => {
                if self.from.is_none() {
                    witness.started = witness.started.or(nanoseconds(time));
                }
                time - *self.from.get_or_insert(time)
            }
        };
        nanoseconds(since).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
