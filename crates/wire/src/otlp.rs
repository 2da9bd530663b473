//! Writes OTLP: spans and metrics as OpenTelemetry's collectors read them, in protobuf; and reads
//! what is in their answers.
//!
//! Field numbers are those of `opentelemetry-proto` 1.x, whose stable messages never change their
//! numbers.

use std::borrow::Cow;
use std::time::Duration;

use crate::protobuf::{Field, bytes, fields, fixed64, message, number, varint};

/// The path of the gRPC method that takes spans, and the one that takes metrics.
pub const GRPC_TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub const GRPC_METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

const RETRY_INFO: &[u8] = b"/google.rpc.RetryInfo";
const STATUS_ERROR: u64 = 2;
const CUMULATIVE: u64 = 2;

/// A fact about a span, an event, a point or the sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    pub key: Cow<'static, str>,
    pub value: AttributeValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Text(Cow<'static, str>),
    Bool(bool),
    Int(i64),
    Float(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// A piece of work with its time, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub start: u64,
    pub end: u64,
    pub attributes: Vec<Attribute>,
    pub events: Vec<SpanEvent>,
    /// Why the span's operation failed.
    pub error: Option<Cow<'static, str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    pub time: u64,
    pub name: Cow<'static, str>,
    pub attributes: Vec<Attribute>,
}

/// A histogram since the start of the process, with a point for each set of attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramMetric {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    /// The upper limits of the buckets; a last bucket has none.
    pub bounds: &'static [f64],
    pub start: u64,
    pub time: u64,
    pub points: Vec<HistogramPoint>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HistogramPoint {
    pub attributes: Vec<Attribute>,
    pub sum: f64,
    /// The number of values in each bucket: one more than there are bounds.
    pub counts: Vec<u64>,
}

impl Attribute {
    pub fn new(key: impl Into<Cow<'static, str>>, value: impl Into<AttributeValue>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        bytes(out, 1, self.key.as_bytes());
        message(out, 2, |value| match &self.value {
            AttributeValue::Text(text) => bytes(value, 1, text.as_bytes()),
            AttributeValue::Bool(is) => number(value, 2, (*is).into()),
            AttributeValue::Int(int) => number(value, 3, int.cast_unsigned()),
            AttributeValue::Float(float) => fixed64(value, 4, float.to_bits()),
        });
    }
}

impl From<&'static str> for AttributeValue {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Cow<'static, str>> for AttributeValue {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for AttributeValue {
    fn from(is: bool) -> Self {
        Self::Bool(is)
    }
}

impl From<i64> for AttributeValue {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<f64> for AttributeValue {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

/// An `ExportTraceServiceRequest`.
pub fn traces(resource: &[Attribute], version: &str, spans: &[Span]) -> Vec<u8> {
    export(resource, version, |scope| {
        for span in spans {
            message(scope, 2, |out| span.write(out));
        }
    })
}

/// An `ExportMetricsServiceRequest`.
pub fn metrics(resource: &[Attribute], version: &str, metrics: &[HistogramMetric]) -> Vec<u8> {
    export(resource, version, |scope| {
        for metric in metrics {
            message(scope, 2, |out| metric.write(out));
        }
    })
}

/// The pause that a gRPC server asks for in `google.rpc.Status`: its `RetryInfo`.
pub fn retry_delay(status: &[u8]) -> Option<Duration> {
    let inside = |message: &[u8], field: u64| {
        let found = fields(message).filter(|(number, _)| *number == field);
        let found = found.filter_map(|(_, field)| match field {
            Field::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    let details = inside(status, 3).into_iter();
    let info = details.filter(|any| inside(any, 1).iter().any(|kind| kind.ends_with(RETRY_INFO)));
    let info = info.flat_map(|any| inside(&any, 2)).next()?;
    let delay = inside(&info, 1).pop().unwrap_or_default();
    let part = |field: u64| {
        let found = fields(&delay).find(|(number, _)| *number == field);
        match found {
            Some((_, Field::Number(number))) => number,
            _ => 0,
        }
    };
    let nanoseconds = u32::try_from(part(2)).ok()?.min(999_999_999);
    // A negative time would be a very large number here, so it does not count as a pause.
    let seconds = i64::try_from(part(1)).ok()?;
    Some(Duration::new(seconds.unsigned_abs(), nanoseconds))
}

/// How many spans or points a collector rejected although it took the request, and why.
pub fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let partial = fields(answer).find_map(|(number, field)| match field {
        Field::Bytes(partial) if number == 1 => Some(partial),
        _ => None,
    })?;
    let (mut count, mut why) = (0, String::new());
    for (number, field) in fields(partial) {
        match field {
            Field::Number(rejected) if number == 1 => count = rejected,
            Field::Bytes(text) if number == 2 => why = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (count > 0).then_some((count, why))
}

fn export(resource: &[Attribute], version: &str, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, 1, |of_resource| {
        message(of_resource, 1, |out| attributes(out, 1, resource));
        message(of_resource, 2, |scope| {
            message(scope, 1, |out| {
                bytes(out, 1, b"roundtrip");
                bytes(out, 2, version.as_bytes());
            });
            write(scope);
        });
    });
    out
}

fn attributes(out: &mut Vec<u8>, field: u64, all: &[Attribute]) {
    for attribute in all {
        message(out, field, |out| attribute.write(out));
    }
}

impl Span {
    fn write(&self, out: &mut Vec<u8>) {
        bytes(out, 1, &self.trace_id);
        bytes(out, 2, &self.span_id);
        if let Some(parent) = &self.parent {
            bytes(out, 4, parent);
        }
        bytes(out, 5, self.name.as_bytes());
        number(out, 6, self.kind as u64);
        fixed64(out, 7, self.start);
        fixed64(out, 8, self.end);
        attributes(out, 9, &self.attributes);
        for event in &self.events {
            message(out, 11, |out| {
                fixed64(out, 1, event.time);
                bytes(out, 2, event.name.as_bytes());
                attributes(out, 3, &event.attributes);
            });
        }
        if let Some(error) = &self.error {
            message(out, 15, |out| {
                bytes(out, 2, error.as_bytes());
                number(out, 3, STATUS_ERROR);
            });
        }
    }
}

impl HistogramMetric {
    fn write(&self, out: &mut Vec<u8>) {
        bytes(out, 1, self.name.as_bytes());
        bytes(out, 2, self.description.as_bytes());
        bytes(out, 3, self.unit.as_bytes());
        message(out, 9, |out| {
            for point in &self.points {
                message(out, 1, |out| self.write_point(point, out));
            }
            number(out, 2, CUMULATIVE);
        });
    }

    fn write_point(&self, point: &HistogramPoint, out: &mut Vec<u8>) {
        fixed64(out, 2, self.start);
        fixed64(out, 3, self.time);
        fixed64(out, 4, point.counts.iter().sum());
        fixed64(out, 5, point.sum.to_bits());
        packed(out, 6, point.counts.iter().copied());
        packed(out, 7, self.bounds.iter().map(|bound| bound.to_bits()));
        attributes(out, 9, &point.attributes);
    }
}

/// Writes a repeated field of eight bytes each.
fn packed(out: &mut Vec<u8>, field: u64, values: impl ExactSizeIterator<Item = u64>) {
    varint(out, field << 3 | 2);
    varint(out, values.len() as u64 * 8);
    for value in values {
        out.extend(value.to_le_bytes());
    }
}
