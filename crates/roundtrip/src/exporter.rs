//! `roundtrip exporter`: answers probes until it is stopped.

use roundtrip_exporter::{Exporter, ExporterOptions, ProbeModules};
use roundtrip_report::{clean, count};
use tokio::runtime::Builder;

use crate::cli::{ExporterArgs, ExporterCommand};
use crate::ctrl_c::told_to_stop;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::telemetry::Tracing;

pub(crate) fn run(args: &ExporterArgs) -> Outcome {
    if let Some(ExporterCommand::Check { file }) = &args.command {
        return check(file);
    }
    if args.foreign.config_check {
        return match &args.config.config {
            Some(file) => check(file),
            None => failed(&"--config.check needs --config.file"),
        };
    }
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(serve(args)) {
        Ok(()) => Outcome::Done,
        Err(error) => failed(&error),
    }
}

fn check(file: &str) -> Outcome {
    match ProbeModules::read(file, false) {
        Ok(modules) => {
            let names: Vec<&str> = modules.names().collect();
            let modules = count(names.len() as u64, "module", "modules");
            let shown = format!("{file} is fine: {modules} ({})", names.join(", "));
            OutputStream::Out.print(clean(&shown) + "\n");
            Outcome::Done
        }
        Err(error) => failed(&error),
    }
}

async fn serve(args: &ExporterArgs) -> Result<(), Box<dyn std::error::Error>> {
    let tracing = Tracing::start(&args.otlp, "roundtrip-exporter")?;
    let exporter = Exporter::open(ExporterOptions {
        config: args.config.config.clone(),
        skip_unsupported: args.config.skip_unsupported,
        listen: args.listen,
        timeout_offset: args.timeout_offset,
        history: args.history,
        probes: args.max_probes,
        prefix: args.prefix(),
        telemetry: tracing.telemetry(),
    })
    .await?;
    for line in exporter.left_out() {
        say(&format!("left out: {line}"));
    }
    OutputStream::Out.print(format!("exporter http://{}/\n", exporter.address()));
    let reloaded = |outcome: Result<(), _>| match outcome {
        Ok(()) => say(&"the configuration was read again"),
        Err(error) => say(&format!("the configuration stays as it was: {error}")),
    };
    exporter.serve(told_to_stop(), reloaded).await?;
    tracing.finish().await;
    Ok(())
}
