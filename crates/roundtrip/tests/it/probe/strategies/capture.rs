//! Packets as dumpcap records them and tshark reads them.

use std::path::PathBuf;
use std::time::Duration;

use roundtrip_path::Path;

use crate::probe::run::{self, Job};
use crate::process::await_some;

/// dumpcap writes what it has at least this often.
const FLUSH: Duration = Duration::from_millis(700);

pub(super) struct Capture {
    file: PathBuf,
    job: Job,
    _directory: tempfile::TempDir,
}

/// One packet, with the fields that a test looks at.
#[derive(Debug, Default)]
pub(super) struct Packet {
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) syn: bool,
    pub(super) length: u64,
    /// Relative to the first, as tshark shows them.
    pub(super) acknowledged: u64,
    pub(super) retransmission: bool,
    pub(super) handshake_types: Vec<u64>,
    pub(super) extensions: Vec<u64>,
    pub(super) versions: Vec<String>,
    pub(super) content_types: Vec<u64>,
    pub(super) randoms: Vec<String>,
}

const FIELDS: [&str; 12] = [
    "tcp.srcport",
    "tcp.dstport",
    "tcp.flags.syn",
    "tcp.len",
    "tcp.ack",
    "tcp.analysis.retransmission",
    "tls.handshake.type",
    "tls.handshake.extension.type",
    "tls.handshake.extensions.supported_version",
    "tls.record.content_type",
    "tls.record.opaque_type",
    "tls.handshake.random",
];

impl Capture {
    /// Records at the client's end of the path, until it is finished.
    pub(super) fn start(path: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("packets.pcapng");
        let mut command = run::cleaned(path.client().command("dumpcap"));
        command
            .args(["-q", "-i", "eth0", "-f", "tcp", "-w"])
            .arg(&file);
        let mut job = Job::start(command);
        await_some("a capture", || {
            assert!(!job.has_ended(), "dumpcap may not capture");
            std::fs::metadata(&file)
                .is_ok_and(|m| m.len() > 0)
                .then_some(())
        });
        Self {
            file,
            job,
            _directory: directory,
        }
    }

    pub(super) fn finish(self) -> Vec<Packet> {
        std::thread::sleep(FLUSH);
        self.job.interrupt();
        let said = self.job.finish();
        assert_eq!(said.code, 0, "{}", said.err);
        let mut command = run::command("tshark");
        command.arg("-r").arg(&self.file);
        // Servers on unusual ports use the same protocol.
        command.args(["-d", "tcp.port==8443,tls", "-d", "tcp.port==8444,tls"]);
        command.args(["-o", "tcp.relative_sequence_numbers:TRUE", "-T", "fields"]);
        command.args([
            "-E",
            "separator=/t",
            "-E",
            "occurrence=a",
            "-E",
            "aggregator=,",
        ]);
        for field in FIELDS {
            command.args(["-e", field]);
        }
        let read = run::said(command);
        assert_eq!(read.code, 0, "{}", read.err);
        read.out.lines().map(packet).collect()
    }
}

fn packet(line: &str) -> Packet {
    let columns: Vec<&str> = line.split('\t').collect();
    let [
        source,
        destination,
        syn,
        length,
        ack,
        again,
        types,
        extensions,
        versions,
        content,
        opaque,
        random,
    ] = columns[..]
    else {
        panic!("{line}");
    };
    let numbers = |list: &str| {
        list.split(',')
            .filter_map(|n| n.parse().ok())
            .collect::<Vec<u64>>()
    };
    let words = |list: &str| {
        let parts = list.split(',').filter(|w| !w.is_empty());
        parts.map(str::to_owned).collect::<Vec<_>>()
    };
    Packet {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        syn: syn == "1" || syn == "True",
        length: length.parse().unwrap(),
        acknowledged: ack.parse().unwrap_or(0),
        retransmission: !again.is_empty(),
        handshake_types: numbers(types),
        extensions: numbers(extensions),
        versions: words(versions),
        content_types: [numbers(content), numbers(opaque)].concat(),
        randoms: words(random),
    }
}
