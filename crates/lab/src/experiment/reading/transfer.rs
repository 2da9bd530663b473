//! Reads arms that carry bytes, and rejects fields that do not apply to them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_perf::PlanError;
use roundtrip_perf::plan::{Amount, size};
use toml::Spanned;

use super::{At, ExperimentErrorKind, UnplacedError, parts, refuse};
use crate::experiment::format::{self, ExperimentFile, Measure};
use crate::experiment::{Arm, ArmClient, Cell, LabServer, ServerKind, Transfer};

/// The default duration of a transfer.
const DEFAULT_DURATION: Duration = Duration::from_secs(1);

pub(super) fn arm(
    arm: &format::ArmTable,
    word: &Spanned<String>,
    file: &ExperimentFile,
) -> Result<Arm, UnplacedError> {
    if arm.strategy.is_some() || arm.program.is_some() {
        let name = arm.name.get_ref().clone();
        return refuse(arm.name.span(), ExperimentErrorKind::Client(name));
    }
    if file.measure != Measure::Cost {
        return refuse(word.span(), ExperimentErrorKind::Cost);
    }
    if let Some(foreign) = foreign(arm, file) {
        return refuse(word.span(), ExperimentErrorKind::NoTransfer(foreign));
    }
    let transfer = Transfer {
        arm: word.get_ref().parse().at(word.span())?,
        amount: amount(&file.transfer)?,
    };
    Ok(Arm {
        client: ArmClient::Transfer(transfer),
        server: Arc::new(within()),
        warm: false,
        sysctl: std::collections::BTreeMap::default(),
        fails: arm.fails.clone(),
        note: arm.note.clone(),
    })
}

/// Rejects, before any measurement, whatever the plan of `perf` would reject.
pub(super) fn check(cell: &Cell, at: Range<usize>) -> Result<(), UnplacedError> {
    let ArmClient::Transfer(transfer) = &cell.arm.client else {
        return Ok(());
    };
    let plan = transfer.plan(&cell.path, cell.offload, 0).at(at.clone())?;
    match plan.check() {
        // The other arms can be measured. This one is reported as not run, like one whose program
        // is missing.
        Err(PlanError::Absent(_)) => Ok(()),
        checked => checked.at(at),
    }
}

/// The first field, of the arm or of the file, that does not apply to transfers.
fn foreign(arm: &format::ArmTable, file: &ExperimentFile) -> Option<&'static str> {
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

fn amount(said: &format::TransferTable) -> Result<Amount, UnplacedError> {
    match (&said.time, &said.bytes) {
        (Some(time), Some(_)) => refuse(time.span(), ExperimentErrorKind::Amount),
        (_, Some(bytes)) => Ok(Amount::Bytes(size(bytes.get_ref()).at(bytes.span())?)),
        (time, None) => Ok(Amount::For(parts::time(time.as_ref(), DEFAULT_DURATION)?)),
    }
}

fn within() -> LabServer {
    LabServer {
        name: "a separate receiver".into(),
        kind: ServerKind::Within,
        sysctl: std::collections::BTreeMap::default(),
        place: String::new(),
        beside: Vec::new(),
        far: None,
        settle: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_perf::plan::Terrain;

    use super::*;
    use crate::experiment::{Experiment, read};

    const ARMS: &str = "question = 'Why?'\narticle = 'A0'\nmeasure = 'cost'\nruns = 3\nbaseline = 'tls'\n\
        [[arm]]\nname = 'tls'\ntransfer = 'tls'\n[[arm]]\nname = 'quic'\ntransfer = 'quic+ack10+datagram1460'\n";

    fn flaw(text: &str) -> String {
        read("x", "x.toml", text).unwrap_err().to_string()
    }

    fn transfer(experiment: &Experiment, place: usize) -> (&Transfer, &Cell) {
        let cell = &experiment.cells[place];
        match &cell.arm.client {
            ArmClient::Transfer(transfer) => (transfer, cell),
            other => panic!("{other:?} carries nothing"),
        }
    }

    #[test]
    fn transfers_need_no_server_and_follow_their_variant() {
        let text = format!(
            "{ARMS}[[variant]]\nname = '@offload'\noffload = true\n\
             [[variant]]\nname = '@far'\npath = {{ preset = 'dsl', rtt = '9ms' }}\n"
        );
        let experiment = read("x", "x.toml", &text).unwrap();
        assert_eq!(experiment.unit, "s/GB");
        let told = experiment
            .cells
            .iter()
            .map(|c| (c.name.as_str(), c.offload));
        let told: Vec<_> = told.collect();
        let expected = [
            ("tls", false),
            ("quic", false),
            ("tls@offload", true),
            ("quic@offload", true),
            ("tls@far", false),
            ("quic@far", false),
            ("tls (A/A)", false),
        ];
        assert_eq!(told, expected);
        let (said, cell) = transfer(&experiment, 3);
        let plan = said.plan(&cell.path, cell.offload, 1).unwrap();
        assert!(matches!(plan.terrain, Terrain::Bare(ends) if ends.offload));
        assert_eq!(plan.arms[0].to_string(), "quic+ack10+datagram1460");
        assert_eq!(plan.work.amount, Amount::For(DEFAULT_DURATION));
        let (said, cell) = transfer(&experiment, 5);
        let Terrain::Emulated(words, _) = said.plan(&cell.path, false, 7).unwrap().terrain else {
            panic!("a path with words is emulated");
        };
        let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["preset", "rtt", "seed"]);
    }

    #[test]
    fn a_transfer_has_a_time_or_a_number_of_bytes() {
        let amount = |said: &str| {
            let experiment = read("x", "x.toml", &format!("{ARMS}[transfer]\n{said}\n")).unwrap();
            transfer(&experiment, 0).0.amount
        };
        assert_eq!(
            amount("time = '200ms'"),
            Amount::For(Duration::from_millis(200))
        );
        assert_eq!(amount("bytes = '3MB'"), Amount::Bytes(3_000_000));
        for (said, words) in [
            ("time = '1s'\nbytes = '1MB'", "either the time or the bytes"),
            ("time = 'soon'", "not a time span"),
            ("bytes = 'many'", "not a valid size"),
            ("bytes = '0'", "--bytes must be from 1"),
            ("speed = 1", "unknown field"),
        ] {
            let told = flaw(&format!("{ARMS}[transfer]\n{said}\n"));
            assert!(told.contains(words), "{said}: {told}");
        }
    }

    #[test]
    fn fields_without_effect_on_a_transfer_are_refused_with_their_line() {
        for (wrong, words) in [
            (
                "transfer = 'tls+gso10'",
                "x.toml:13: invalid transfer: `tls+gso10`",
            ),
            ("transfer = 'sctp'", "not a way to carry bytes"),
            (
                "transfer = 'quic+datagram1473'",
                "--datagram must be from 1200 to 1472",
            ),
            (
                "transfer = 'tls'\nwarm = true",
                "warm has no effect on a transfer",
            ),
            (
                "transfer = 'tls'\nsysctl = { a = 1 }",
                "sysctl has no effect",
            ),
            (
                "transfer = 'tls'\nstrategy = 'h1'",
                "needs either a strategy, a program",
            ),
            ("strategy = 'h1'", "must be `cost` for transfers"),
        ] {
            let told = flaw(&format!("{ARMS}[[arm]]\nname = 'x'\n{wrong}\n").replacen(
                "baseline = 'tls'\n",
                "",
                1,
            ));
            assert!(told.contains(words), "{wrong}: {told}");
        }
        let told = flaw(&ARMS.replace("'cost'", "'total'"));
        assert!(told.contains("must be `cost` for transfers"), "{told}");
        let told = flaw(&format!(
            "{ARMS}[[sweep]]\nword = 'requests'\nvalues = [1]\narms = ['tls']\n"
        ));
        assert!(
            told.contains("requests has no effect on a transfer"),
            "{told}"
        );
        let told = flaw(
            "question = 'Why?'\narticle = 'A0'\nmeasure = 'total'\nruns = 3\n[[server]]\nname = 'o'\nknobs = {}\n\
             [[arm]]\nname = 'a'\nstrategy = 'h1'\n[[variant]]\nname = '@x'\noffload = true\n",
        );
        assert!(
            told.contains("offload is for arms with a transfer"),
            "{told}"
        );
        let path = format!("{ARMS}[[variant]]\nname = '@small'\npath = {{ mtu = 1400 }}\n");
        let told = flaw(&path);
        assert!(
            told.contains("x.toml:13: invalid transfer: --datagram"),
            "{told}"
        );
    }
}
