//! An arm that carries bytes: how it is written, and what of an arm says nothing to it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_perf::plan::{Amount, size};
use toml::Spanned;

use super::{At, FlawKind, Unplaced, parts, refuse};
use crate::experiment::format::{self, File, Measure};
use crate::experiment::{Arm, Cell, Client, Server, ServerKind, Transfer};

/// Unless the file says how long, or how much.
const USUAL: Duration = Duration::from_secs(1);

pub(super) fn arm(
    arm: &format::Arm,
    word: &Spanned<String>,
    file: &File,
) -> Result<Arm, Unplaced> {
    if arm.strategy.is_some() || arm.program.is_some() {
        let name = arm.name.get_ref().clone();
        return refuse(arm.name.span(), FlawKind::Client(name));
    }
    if file.measure != Measure::Cost {
        return refuse(word.span(), FlawKind::Cost);
    }
    if let Some(foreign) = foreign(arm, file) {
        return refuse(word.span(), FlawKind::NoTransfer(foreign));
    }
    let transfer = Transfer {
        arm: word.get_ref().parse().at(word.span())?,
        amount: amount(&file.transfer)?,
    };
    Ok(Arm {
        client: Client::Transfer(transfer),
        server: Arc::new(within()),
        warm: false,
        sysctl: std::collections::BTreeMap::default(),
        fails: arm.fails.clone(),
        note: arm.note.clone(),
    })
}

/// What a plan refuses is refused before anything is measured.
pub(super) fn check(cell: &Cell, at: Range<usize>) -> Result<(), Unplaced> {
    let Client::Transfer(transfer) = &cell.arm.client else {
        return Ok(());
    };
    let plan = transfer.plan(&cell.path, cell.offload, 0).at(at.clone())?;
    plan.check().at(at)
}

/// Said of the arm or of all, and heard by none.
fn foreign(arm: &format::Arm, file: &File) -> Option<&'static str> {
    [
        (arm.server.is_some(), "server"),
        (arm.manner.is_some(), "manner"),
        (arm.hello_delay.is_some(), "hello-delay"),
        (arm.max_time.is_some(), "max-time"),
        (!arm.arguments.is_empty(), "arguments"),
        (arm.output.is_some(), "output"),
        (!arm.headers.is_empty(), "headers"),
        (arm.at_server, "at-server"),
        (arm.warm, "warm"),
        (arm.requests.is_some(), "requests"),
        (!arm.sysctl.is_empty(), "sysctl"),
        (!file.client.sysctl.is_empty(), "sysctl"),
        (arm.packets, "packets"),
    ]
    .into_iter()
    .find_map(|(said, what)| said.then_some(what))
}

fn amount(said: &format::Transfer) -> Result<Amount, Unplaced> {
    match (&said.time, &said.bytes) {
        (Some(time), Some(_)) => refuse(time.span(), FlawKind::Amount),
        (_, Some(bytes)) => Ok(Amount::Bytes(size(bytes.get_ref()).at(bytes.span())?)),
        (time, None) => Ok(Amount::For(parts::time(time.as_ref(), USUAL)?)),
    }
}

fn within() -> Server {
    Server {
        name: "a receiver of its own".into(),
        kind: ServerKind::Within,
        sysctl: std::collections::BTreeMap::default(),
        place: String::new(),
        beside: Vec::new(),
        far: None,
        settle: Duration::ZERO,
    }
}
