//! Real exchanges over an emulated path, recorded at both ends and read without hints: the comments
//! of the recording say what happened, and `trace` does not look at them.

use std::path::Path as File;
use std::time::Duration;

use roundtrip_model::{Exchange, PhaseName, Target, Waited};
use roundtrip_origin::{Knobs, Origin};
use roundtrip_path::{Builder, Path};
use roundtrip_probe::{Options, Prober};
use roundtrip_tls::Roots;
use roundtrip_trace::{Conversation, Trace, VantagePoint};
use roundtrip_wire::capture::CaptureReader;

const RTT: Duration = Duration::from_millis(60);
/// The interfaces of a recording.
const ENDS: [(u32, VantagePoint); 2] = [(0, VantagePoint::Client), (1, VantagePoint::Server)];

/// An exchange as `probe` saw it, and its recording.
struct Recorded {
    probed: Exchange,
    folder: tempfile::TempDir,
}

impl Recorded {
    fn new(
        path: impl FnOnce(Builder) -> Builder,
        knobs: impl FnOnce(&mut Knobs),
        strategy: &str,
        place: &str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("packets.pcapng");
        let path = path(Path::builder().rtt(RTT))
            .record(&file)
            .build()
            .unwrap();
        let mut settings = Knobs::default();
        settings.listen.bind = vec![path.server().address_v4().into()];
        settings.tls.names = vec![path.server().address_v4().to_string()];
        knobs(&mut settings);
        let origin = path
            .server()
            .run(move || Origin::spawn_thread(settings))
            .unwrap()
            .unwrap();
        let strategy = strategy.parse().unwrap();
        let is_clear = strategy == "h1+clear".parse().unwrap();
        let base = if is_clear {
            format!("http://{}", origin.http)
        } else {
            format!("https://{}", origin.https)
        };
        let target = Target::parse(&format!("{base}{place}")).unwrap();
        let options = Options {
            strategy,
            roots: Roots::Pem(origin.ca_pem.clone()),
            max_time: Duration::from_secs(20),
            ..Options::default()
        };
        let asked = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut prober = Prober::new(options);
                let mut hops = prober.run(&target, 0, &mut std::io::sink()).await;
                prober.retire().await;
                hops.pop().unwrap()
            })
        };
        let probed = path.client().run(asked).unwrap();
        assert!(probed.ok(), "{:?}", probed.failure);
        drop(origin);
        path.close().unwrap();
        Self { probed, folder }
    }

    /// What one end saw.
    fn read(&self, interface: u32) -> Vec<Conversation> {
        read(&self.folder.path().join("packets.pcapng"), Some(interface))
    }

    /// The one exchange that one end saw.
    fn exchange(&self, interface: u32) -> (Conversation, Exchange) {
        let mut all = self.read(interface);
        all.retain(|conversation| !conversation.exchanges.is_empty());
        assert_eq!(all.len(), 1, "{all:#?}");
        let conversation = all.remove(0);
        assert_eq!(conversation.exchanges.len(), 1, "{conversation:#?}");
        let exchange = conversation.exchanges[0].clone();
        (conversation, exchange)
    }
}

fn read(file: &File, interface: Option<u32>) -> Vec<Conversation> {
    let mut reader = CaptureReader::new();
    let mut trace = Trace::new(roundtrip_trace::Options {
        interface,
        ..roundtrip_trace::Options::default()
    });
    reader.push(&std::fs::read(file).unwrap());
    while let Some(item) = reader.item().unwrap() {
        trace.take(item);
    }
    trace.end().0
}

fn ids(exchange: &Exchange) -> Vec<&'static str> {
    exchange.findings.iter().map(|finding| finding.id).collect()
}

fn of(exchange: &Exchange, name: PhaseName) -> Waited {
    let phases = exchange.phases();
    phases
        .iter()
        .find(|p| p.name == name)
        .map(|p| p.waited)
        .unwrap_or_default()
}

/// The phases cover the exchange, whatever it is.
fn assert_tiled(exchange: &Exchange) {
    let sum: f64 = exchange
        .phases()
        .iter()
        .map(roundtrip_model::Phase::ms)
        .sum();
    let total = exchange.total().as_secs_f64() * 1e3;
    assert!((sum - total).abs() < 0.001, "{sum} of {total}");
}

#[test]
fn either_end_tells_the_round_trips_that_the_client_measured() {
    for strategy in ["h1+clear", "h1+tls1.3", "h1+tls1.2", "h2+tls1.3", "h3"] {
        let recorded = Recorded::new(|path| path, |_| (), strategy, "/bytes/3000");
        for (interface, place) in ENDS {
            let (conversation, exchange) = recorded.exchange(interface);
            assert_eq!(conversation.vantage.place, place, "{strategy}");
            let expected = recorded.probed.round_trips();
            assert_eq!(
                exchange.round_trips(),
                expected,
                "{strategy} {place:?}: {exchange:#?}"
            );
            assert_tiled(&exchange);
            let rtt = exchange.rtt.unwrap().as_secs_f64() / RTT.as_secs_f64();
            assert!((0.98..1.5).contains(&rtt), "{strategy} {place:?}: {rtt}");
        }
    }
}

#[test]
fn requests_in_the_clear_are_read() {
    let recorded = Recorded::new(|path| path, |_| (), "h1+clear", "/bytes/3000");
    let (_, exchange) = recorded.exchange(0);
    let http = exchange.http.as_ref().unwrap();
    assert_eq!(
        (http.method.as_str(), http.status, http.downloaded),
        ("GET", 200, 3000)
    );
    assert!(exchange.url.starts_with("http://") && exchange.url.ends_with("/bytes/3000"));
}

#[test]
fn the_time_that_the_server_thinks_is_its_own_seen_from_either_end() {
    let slow = |knobs: &mut Knobs| knobs.http.think = Duration::from_millis(300);
    for strategy in ["h1+clear", "h1+tls1.3"] {
        let recorded = Recorded::new(|path| path, slow, strategy, "/bytes/3000");
        for (interface, place) in ENDS {
            let (_, exchange) = recorded.exchange(interface);
            // The client may have been busy for longer, before it asked.
            let mut findings = exchange.findings.iter();
            let found = findings.find(|finding| finding.id == "server-think-time");
            let found = found.map_or(0.0, |finding| finding.ms);
            let server = of(&exchange, PhaseName::FirstByte).server;
            let said = ids(&exchange);
            // No longer than the client itself waited, on a busy machine.
            let most = of(&recorded.probed, PhaseName::FirstByte).sum() + 5.0;
            for ms in [found, server] {
                assert!(
                    (290.0..most).contains(&ms),
                    "{strategy} {place:?}: {ms} of {most}, {said:?}"
                );
            }
        }
    }
}

#[test]
fn a_lost_syn_is_the_paths_seen_from_the_client() {
    let lossy = |path: Builder| {
        let mut path = path;
        path.set("loss", "up:syn").unwrap();
        path
    };
    let recorded = Recorded::new(lossy, |_| (), "h1+tls1.3", "/bytes/3000");
    let (_, exchange) = recorded.exchange(0);
    assert_eq!(ids(&exchange).first(), Some(&"syn-lost"));
    // The server's end never saw the first one, so nothing is reported about it.
    let (_, exchange) = recorded.exchange(1);
    assert!(!ids(&exchange).contains(&"syn-lost"));
    assert!(of(&exchange, PhaseName::Tcp).loss < 1.0);
}

#[test]
fn a_segment_lost_beyond_the_capture_is_found_by_its_copy() {
    let lossy = |path: Builder| {
        let mut path = path;
        path.set("loss", "down:data").unwrap();
        path
    };
    let recorded = Recorded::new(lossy, |_| (), "h1+clear", "/bytes/20000");
    let (_, exchange) = recorded.exchange(0);
    let phases = exchange.phases();
    let lost: f64 = phases.iter().map(|phase| phase.waited.loss).sum();
    let least = 0.5 * RTT.as_secs_f64() * 1e3;
    assert!(lost >= least, "{lost}: {exchange:#?}");
    // The server's end saw the original as well.
    let (conversation, _) = recorded.exchange(1);
    let again = |step: &roundtrip_trace::LadderStep| step.again && !step.from_client;
    assert!(conversation.steps.iter().any(again), "{conversation:#?}");
}

#[test]
fn both_ends_in_one_file_are_one_connection() {
    let recorded = Recorded::new(|path| path, |_| (), "h1+clear", "/bytes/3000");
    let all = read(&recorded.folder.path().join("packets.pcapng"), None);
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].number, all[0].vantage.place),
        (1, VantagePoint::Client)
    );
}

#[test]
fn what_both_ends_saw_is_told_once_also_as_it_comes() {
    let recorded = Recorded::new(|path| path, |_| (), "h1+clear", "/bytes/3000");
    let bytes = std::fs::read(recorded.folder.path().join("packets.pcapng")).unwrap();
    let mut reader = CaptureReader::new();
    let mut trace = Trace::new(roundtrip_trace::Options::default());
    let mut told = Vec::new();
    reader.push(&bytes);
    while let Some(item) = reader.item().unwrap() {
        trace.take(item);
        told.extend(trace.finished());
    }
    let (rest, counts) = trace.end();
    told.extend(rest);
    told.retain(|conversation| !conversation.exchanges.is_empty());
    let seen: Vec<_> = told.iter().map(|c| (c.number, c.vantage.place)).collect();
    assert_eq!(seen, [(1, VantagePoint::Client)]);
    assert_eq!(counts.connections, 1);
}

#[test]
fn a_second_hello_over_quic_is_known_from_the_first_packets() {
    let retries = |knobs: &mut Knobs| knobs.tls.groups = vec![roundtrip_origin::Group::Secp384r1];
    let recorded = Recorded::new(|path| path, retries, "h3", "/bytes/300");
    for (interface, _) in ENDS {
        let (_, exchange) = recorded.exchange(interface);
        let tls = exchange.tls.as_ref().unwrap();
        assert_eq!((tls.hello_retry, tls.group.as_str()), (true, "secp384r1"));
        assert_eq!(exchange.extra_trips, 1);
    }
}

/// Each datagram of the first flight is answered by a Retry, and the client follows the first.
#[test]
fn a_first_flight_of_two_datagrams_does_not_hide_the_path_behind_two_retries() {
    let retry = |knobs: &mut Knobs| knobs.listen.quic_retry = true;
    let recorded = Recorded::new(|path| path, retry, "h3", "/bytes/300");
    for (interface, _) in ENDS {
        let (_, exchange) = recorded.exchange(interface);
        let rtt = exchange.rtt.unwrap();
        assert!(rtt >= RTT * 9 / 10, "interface {interface}: {rtt:?}");
        let mut found = exchange.findings.iter();
        assert!(found.any(|finding| finding.id == "quic-retry"));
    }
}
