//! Reads the parts of a file: path words, settings, servers, clients.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_origin::Knobs;
use toml::{Spanned, Value};

use super::{At, ExperimentErrorKind, UnplacedError, refuse};
use crate::experiment::words::span;
use crate::experiment::{
    Arm, ArmClient, FarServer, LabServer, PathWords, Program, ReadySign, ServerKind, format, knobs,
};

type Servers = BTreeMap<String, Arc<LabServer>>;

/// The time limit of our own client, unless an arm sets one.
const DEFAULT_MAX_TIME: Duration = Duration::from_secs(30);

pub(super) fn words(said: &BTreeMap<String, Spanned<Value>>) -> Result<PathWords, UnplacedError> {
    let mut words = PathWords::default();
    for (word, value) in said {
        words.say(word, values(value.get_ref()).at(value.span())?);
        let mut alone = PathWords::default();
        alone.say(word, values(value.get_ref()).at(value.span())?);
        alone.builder(0).at(value.span())?;
    }
    Ok(words)
}

/// Reads one value, or a list of values.
pub(super) fn values(value: &Value) -> Result<Vec<String>, ExperimentErrorKind> {
    match value {
        Value::Array(values) => values.iter().map(scalar).collect(),
        other => Ok(vec![scalar(other)?]),
    }
}

pub(super) fn scalar(value: &Value) -> Result<String, ExperimentErrorKind> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        other => Err(ExperimentErrorKind::Value(other.type_str().to_owned())),
    }
}

pub(super) fn settings(
    settings: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, String>, UnplacedError> {
    let one = |(name, value): (&String, &Value)| Ok((name.clone(), scalar(value).at(0..0)?));
    settings.iter().map(one).collect()
}

/// Reads a server. `known` contains the servers defined above it in the file.
pub(super) fn server(
    server: &format::ServerTable,
    known: &Servers,
) -> Result<LabServer, UnplacedError> {
    let kind = match (&server.knobs, &server.command) {
        (Some(said), None) => ServerKind::Origin(Box::new(knobs(said)?)),
        (None, Some(command)) if !command.is_empty() => ServerKind::Program {
            command: command.clone(),
            needs: needs(&server.needs, command),
            files: server.files.clone(),
            ready: match server.ready.as_deref() {
                Some("port") => ReadySign::Port,
                other => ReadySign::File(other.unwrap_or("pid").to_owned()),
            },
            port: server.port.unwrap_or(80),
            tls_port: server.tls_port,
        },
        _ => {
            let what = ExperimentErrorKind::Server(server.name.get_ref().clone());
            return refuse(server.name.span(), what);
        }
    };
    Ok(LabServer {
        name: server.name.get_ref().clone(),
        kind,
        sysctl: settings(&server.sysctl)?,
        place: server.place.clone().unwrap_or_else(|| "/".into()),
        beside: {
            let named = server.beside.iter();
            named
                .map(|name| find(name, known))
                .collect::<Result<_, _>>()?
        },
        settle: time(server.settle.as_ref(), Duration::ZERO)?,
        far: server
            .far
            .as_ref()
            .map(|far| distant(far, known))
            .transpose()?,
    })
}

fn distant(far: &format::FarTable, known: &Servers) -> Result<FarServer, UnplacedError> {
    Ok(FarServer {
        server: find(&far.server, known)?,
        scheme: far.scheme,
        port: far.port,
        path: words(&far.path)?,
    })
}

fn find(name: &Spanned<String>, known: &Servers) -> Result<Arc<LabServer>, UnplacedError> {
    known
        .get(name.get_ref())
        .cloned()
        .ok_or_else(|| UnplacedError {
            at: name.span(),
            what: ExperimentErrorKind::Unknown(
                "server",
                name.get_ref().clone(),
                super::listed(known.keys().map(String::as_str)),
            ),
        })
}

fn needs(named: &[String], command: &[String]) -> Vec<String> {
    if named.is_empty() {
        return command.iter().take(1).cloned().collect();
    }
    named.to_vec()
}

/// Reads the knobs. Each is a flag of `roundtrip origin`.
fn knobs(said: &BTreeMap<String, Spanned<Value>>) -> Result<Knobs, UnplacedError> {
    let mut all = Vec::new();
    for (name, value) in said {
        let flags: Vec<String> = match value.get_ref() {
            Value::Boolean(true) => vec![format!("--{name}")],
            Value::Boolean(false) => Vec::new(),
            other => {
                let values = values(other).at(value.span())?;
                values
                    .iter()
                    .map(|value| format!("--{name}={value}"))
                    .collect()
            }
        };
        parse(&flags).at(value.span())?;
        all.extend(flags);
    }
    parse(&all).at(0..0)
}

fn parse(flags: &[String]) -> Result<Knobs, ExperimentErrorKind> {
    knobs::parse(flags.iter().cloned()).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        ExperimentErrorKind::Knob(first.trim_start_matches("error: ").to_owned())
    })
}

pub(super) fn arm(
    arm: &format::ArmTable,
    every: &format::ClientTable,
    servers: &Servers,
    first: Option<&Arc<LabServer>>,
) -> Result<Arm, UnplacedError> {
    let server = match &arm.server {
        None => match first {
            Some(first) => first.clone(),
            None => return refuse(0..0, ExperimentErrorKind::Nothing("server")),
        },
        Some(name) => find(name, servers)?,
    };
    Ok(Arm {
        client: client(arm)?,
        server,
        warm: arm.warm,
        sysctl: {
            let mut all = settings(&every.sysctl)?;
            all.extend(settings(&arm.sysctl)?);
            all
        },
        fails: arm.fails.clone(),
        note: arm.note.clone(),
    })
}

fn client(arm: &format::ArmTable) -> Result<ArmClient, UnplacedError> {
    match (&arm.strategy, &arm.program) {
        (Some(word), None) => {
            if arm.output.is_some() || !arm.arguments.is_empty() {
                return refuse(
                    word.span(),
                    ExperimentErrorKind::Misplaced("output or arguments", "program"),
                );
            }
            if arm.at_server {
                return refuse(
                    word.span(),
                    ExperimentErrorKind::Misplaced("at-server", "program"),
                );
            }
            Ok(ArmClient::Ours {
                strategy: word.get_ref().parse().at(word.span())?,
                manner: arm.manner.unwrap_or_default(),
                hello_delay: time(arm.hello_delay.as_ref(), Duration::ZERO)?,
                max_time: time(arm.max_time.as_ref(), DEFAULT_MAX_TIME)?,
                headers: arm.headers.clone().into_iter().collect(),
            })
        }
        (None, Some(program)) => {
            if !arm.headers.is_empty() {
                return refuse(
                    program.span(),
                    ExperimentErrorKind::Misplaced("headers", "strategy"),
                );
            }
            for (said, what) in [
                (&arm.hello_delay, "hello-delay"),
                (&arm.max_time, "max-time"),
            ] {
                if let Some(said) = said {
                    return refuse(
                        said.span(),
                        ExperimentErrorKind::Misplaced(what, "strategy"),
                    );
                }
            }
            Ok(ArmClient::Program(Program {
                name: program.get_ref().clone(),
                arguments: arm.arguments.clone(),
                scheme: arm.scheme,
                at_server: arm.at_server,
                each: arm.manner.unwrap_or(format::Sequencing::Kept) == format::Sequencing::Each,
                output: arm.output.clone(),
            }))
        }
        _ => {
            let name = arm.name.get_ref().clone();
            refuse(arm.name.span(), ExperimentErrorKind::Client(name))
        }
    }
}

pub(super) fn time(
    said: Option<&Spanned<String>>,
    otherwise: Duration,
) -> Result<Duration, UnplacedError> {
    let Some(text) = said else {
        return Ok(otherwise);
    };
    let parsed = span(text.get_ref());
    parsed
        .ok_or_else(|| ExperimentErrorKind::Span(text.get_ref().clone()))
        .at(text.span())
}
