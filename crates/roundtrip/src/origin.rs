//! `roundtrip origin`: serves until it is told to stop.

use std::fmt::Display;

use roundtrip_origin::{Echo, Origin, OriginError};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{OriginArgs, OriginCommand};
use crate::output::{Outcome, Stream};

pub fn run(args: OriginArgs) -> Outcome {
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
    if let Some(OriginCommand::Echo { knobs, json }) = args.command {
        let echo = Echo::start(knobs).await?;
        announce(if json {
            echo.to_json()
        } else {
            echo.to_string()
        });
        told_to_stop().await;
        echo.stop().await;
        return Ok(());
    }
    let running = Origin::start(args.knobs).await?;
    announce(if args.json {
        running.to_json()
    } else {
        running.to_string()
    });
    told_to_stop().await;
    running.stop().await;
    Ok(())
}

fn announce(addresses: String) {
    Stream::Out.print(addresses + "\n");
}

async fn told_to_stop() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

fn failed(error: &dyn Display) -> Outcome {
    Stream::Err.print(format!("roundtrip: {error}\n"));
    Outcome::Failed
}
