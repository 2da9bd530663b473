//! `roundtrip origin`: serves until it is stopped.

use std::fmt::Display;

use roundtrip_origin::{Echo, Origin, OriginError};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::cli::{OriginArgs, OriginCommand};
use crate::ctrl_c::told_to_stop;
use crate::log;
use crate::output::{Outcome, OutputStream, failed};
use crate::qlog;

pub(crate) fn run(args: OriginArgs) -> Outcome {
    if let Err(error) = qlog::start(&args.logs.qlog) {
        return failed(&error);
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

async fn serve(args: OriginArgs) -> Result<(), OriginError> {
    log::start(args.logs.log);
    if let Some(OriginCommand::Echo {
        knobs,
        json: machine,
    }) = args.command
    {
        let echo = Echo::start(&knobs)?;
        let shown = format!("echo {}", echo.address);
        announce(&shown, machine.then(|| json!({ "echo": echo.address })));
        told_to_stop().await;
        return Ok(());
    }
    let running = Origin::start(args.knobs).await?;
    announce(&running, args.json.then(|| running.to_json()));
    told_to_stop().await;
    running.stop().await;
    Ok(())
}

/// Announces the addresses, for people or for programs.
fn announce(addresses: &dyn Display, json: Option<Value>) {
    let line = json.map_or_else(|| addresses.to_string(), |json| json.to_string());
    OutputStream::Out.print(line + "\n");
}
