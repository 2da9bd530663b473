//! A path with a capture at its client's end, and probes from there.

use std::process::Command;
use std::time::Duration;

use roundtrip_path::Path;

use super::capture::Capture;
use super::witness::{Witness, witnesses};
use crate::probe::report::Report;
use crate::probe::run;

pub(super) struct Scene {
    pub(super) path: Path,
    capture: Option<Capture>,
}

/// What was asked for, what `probe` reported, and what the wire showed.
pub(super) struct Seen {
    pub(super) report: Report,
    pub(super) wire: Witness,
}

impl Scene {
    /// `fast_open` is the server's setting; the client may always use it.
    pub(super) fn start(fast_open: &str) -> Self {
        let path = Path::builder()
            .rtt(Duration::from_millis(20))
            .build()
            .unwrap();
        let set = |side: &roundtrip_path::Namespace, value| {
            side.sysctl("net.ipv4.tcp_fastopen", value).unwrap();
        };
        set(path.client(), "1");
        set(path.server(), fast_open);
        let capture = Some(Capture::start(&path));
        Self { path, capture }
    }

    pub(super) fn server(&self, program: &str) -> Command {
        self.path.server().command(program)
    }

    pub(super) fn probe(&self, ca: &str, word: &str, url: &str) -> Report {
        let client = self.path.client();
        let mut command = run::cleaned(client.command(env!("CARGO_BIN_EXE_roundtrip")));
        command.args(["probe", "--json", "--cacert", ca, "--strategy", word, url]);
        Report::from(run::said(command))
    }

    /// Ends the capture, and finds the connection of each report in it.
    pub(super) fn judge(mut self, reports: Vec<Report>) -> Vec<Seen> {
        let packets = self.capture.take().unwrap().finish();
        let wires = witnesses(&packets);
        let mut seen = Vec::new();
        for report in reports {
            let local = report.at("/tcp/local").as_str().unwrap();
            let port: u16 = local.rsplit(':').next().unwrap().parse().unwrap();
            let wire = wires
                .get(&port)
                .unwrap_or_else(|| panic!("{local} was not captured"));
            seen.push(Seen {
                wire: wire.clone(),
                report,
            });
        }
        seen
    }
}

impl Seen {
    /// Asserts that the facts of the report are those of the wire.
    pub(super) fn assert_facts(&self) {
        let (report, wire) = (&self.report, &self.wire);
        let word = report.at("/asked");
        let fast_open = report.at("/tcp/fast_open");
        assert_eq!(
            fast_open["data_acked"], wire.syn_data_acked,
            "{word}: {fast_open}"
        );
        if fast_open["saved_round_trips"] == 1 {
            assert_eq!(fast_open["data_sent"], wire.syn_data, "{word}");
        } else {
            assert!(wire.syn_data == 0 || wire.syn_data < fast_open["data_sent"].as_u64().unwrap());
        }
        // The wire also shows retransmissions after the report, from the close.
        let retransmits = report.at("/tcp/retransmits").as_u64().unwrap();
        assert!(retransmits <= wire.retransmissions, "{word}");
        let tls = report.at("/tls");
        if tls.is_null() {
            assert_eq!(wire.version, "", "{word}");
            return;
        }
        assert_eq!(tls["version"], wire.version.as_str(), "{word}");
        assert_eq!(tls["resumed"], wire.resumed, "{word}");
        assert_eq!(tls["hello_retry"], wire.hello_retry, "{word}");
        assert_eq!(tls["early_data"], wire.early_data, "{word}");
        assert_eq!(tls["flights"], wire.flights, "{word}: {:?}", wire.turns);
    }

    /// Asserts that the strategy was used as requested, in as many round trips as its arithmetic
    /// says.
    pub(super) fn assert_as_asked(&self) {
        let report = &self.report;
        report.assert_status(200);
        let word = report.at("/asked").as_str().unwrap();
        assert_eq!(report.at("/strategy"), word);
        let expected = report.at("/expected_round_trips");
        assert_eq!(
            report.at("/round_trips"),
            expected,
            "{word}: {}",
            report.at("/phases")
        );
    }
}
