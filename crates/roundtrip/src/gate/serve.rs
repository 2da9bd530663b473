//! `gate run`: the configuration, the findings about it, and the messages while it serves.

use std::io;

use roundtrip_gate::check::CheckReport;
use roundtrip_gate::config::Config;
use roundtrip_gate::{Gate, GateError, News};
use roundtrip_report::terminal::clean_lines;

use super::{introduction, source};
use crate::cli::{GateAuthzArgs, GateConfigArgs, GateRunArgs, OtlpArgs, ServerLogArgs};
use crate::log;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::{qlog, telemetry};

pub(super) fn run(args: &GateRunArgs) -> Outcome {
    serve(&args.from, args.quiet, &args.logs, &args.otlp, || {
        read(args)
    })
}

pub(super) fn answer_proxies(args: &GateAuthzArgs) -> Outcome {
    let nowhere = OtlpArgs::default();
    serve(&args.from, args.quiet, &args.logs, &nowhere, || {
        let mut config = source::read(&args.from)?;
        if args.from.config.is_none() {
            // The routes of a gate without a file have a backend.
            config.route.clear();
            config.upstream.clear();
        }
        config.only_answer_proxies();
        Ok(config)
    })
}

fn serve(
    from: &GateConfigArgs,
    quiet: bool,
    logs: &ServerLogArgs,
    otlp: &OtlpArgs,
    read: impl Fn() -> Result<Config, GateError>,
) -> Outcome {
    log::start(logs.log);
    if let Err(error) = qlog::start(&logs.qlog) {
        return failed(&error);
    }
    let collector = match telemetry::settings(otlp, "roundtrip-gate") {
        Ok(collector) => collector,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let config = match read() {
        Ok(config) => config,
        Err(error) => return failed(&error),
    };
    let mut report = source::examine(from, &config);
    source::locate(from, &mut report);
    if !report.passes() {
        // All errors, each with its key.
        tell_all(from, &report);
        let name = source::name(from);
        return failed(&format!("{name}: it cannot start with this configuration"));
    }
    let started = |gate: &Gate| {
        tell_all(from, &report);
        if !quiet {
            let file = from.config.as_deref();
            let lines = introduction::lines(&found(&config, gate), file);
            OutputStream::Err.print(clean_lines(&lines));
        }
    };
    match roundtrip_gate::run(config.clone(), collector, &read, started, told) {
        Ok(()) => Outcome::Done,
        Err(error) => failed(&advised(&error, from)),
    }
}

/// The file or, without one, the default changed by flags.
fn read(args: &GateRunArgs) -> Result<Config, GateError> {
    let mut config = source::read(&args.from)?;
    if let Some(place) = args.http {
        config.listen.http = place.0.into_iter().collect();
    }
    if let Some(place) = args.https {
        config.listen.https = place.0.into_iter().collect();
        config.listen.h3 &= place.0.is_some();
    }
    if let Some(place) = args.admin {
        config.admin.listen = place.0;
    }
    if let Some(backend) = &args.backend {
        config.serve(backend);
    }
    Ok(config)
}

/// The configuration with the ports that the system chose for port 0.
fn found(config: &Config, gate: &Gate) -> Config {
    let mut found = config.clone();
    let addresses = gate.addresses();
    found.listen.http.clone_from(&addresses.http);
    found.listen.https.clone_from(&addresses.https);
    found.authz.http.clone_from(&addresses.authz_http);
    found.authz.grpc.clone_from(&addresses.authz_grpc);
    found.authz.https.clone_from(&addresses.authz_https);
    found.admin.listen = addresses.admin;
    found
}

/// Adds advice if the address is in use.
fn advised(error: &GateError, from: &GateConfigArgs) -> String {
    match error {
        GateError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            let advice = match &from.config {
                Some(path) => format!("name another in {}", path.display()),
                None => "choose others with --http, --https and --admin".into(),
            };
            format!("{error}; {advice}")
        }
        GateError::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            format!(
                "{error}; ports under 1024 need CAP_NET_BIND_SERVICE, or a service manager that grants it"
            )
        }
        _ => error.to_string(),
    }
}

fn told(news: News) {
    let what: String = match news {
        News::Reloaded => "the configuration was reloaded".into(),
        News::NotReloaded(error) => format!("{error}; the previous configuration stays in use"),
        News::Certificate(path) => format!("the certificate in {} was replaced", path.display()),
        News::BadCertificate(error) => format!("{error}; the previous certificate stays in use"),
        News::BadKeys(error) => format!("{error}; the previous keys stay in use"),
        News::Condition(line) => line,
        News::Draining(within) => format!("ending; open exchanges have {} s", within.as_secs()),
        News::Ended { cut: 0 } => "ended".into(),
        News::Ended { cut } => format!("ended; {cut} connections were cut"),
    };
    say(&what);
}

fn tell_all(from: &GateConfigArgs, report: &CheckReport) {
    for finding in &report.findings {
        say(&source::told(from, finding));
    }
}
