//! Runs one case on a new path, with our prober at one end and a new origin at the other. All of it
//! is removed afterwards.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use roundtrip_model::{Exchange, Security, Target};
use roundtrip_origin::{Origin, Running};
use roundtrip_path::{Namespace, Path};
use roundtrip_probe::{Family, Options, Override, Prober, Proxy};
use roundtrip_tls::Roots;

use super::draw::{ExchangeSetting, FaultCase};
use super::entry::FirstAddress;
use super::foreign::ForeignServer;
use super::machine::{self, RunDelays};
use super::peer::{FaultyPeer, PeerKind, Surroundings};
use super::{FaultsError, names};

const NAME: &str = "shop.example";
const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// An exchange, and by how much the machine may have delayed it.
pub(super) struct Staged {
    pub(super) exchange: Exchange,
    pub(super) machine: Duration,
}

/// Injects the fault. If there is a file for the packets, those at both ends are recorded.
pub(super) fn run(
    case: &FaultCase,
    seed: u64,
    record: Option<PathBuf>,
) -> Result<Staged, FaultsError> {
    let mut builder = Path::builder().seed(seed);
    if let Some(file) = record {
        builder = builder.record(file);
    }
    builder.set("rtt", &format!("{}ms", case.rtt_ms))?;
    for said in &case.words {
        let (word, value) = said.split_once('=').unwrap_or((said, ""));
        builder.set(word, value)?;
    }
    let path = builder.build()?;
    for side in [path.client(), path.server()] {
        side.sysctl("net.ipv4.tcp_fastopen", "3")?;
        // Every network namespace can use reno; a controller with pacing would not send a window at
        // once.
        side.sysctl(CONGESTION_CONTROL, "reno")?;
    }
    set(path.client(), &case.client_sysctls)?;
    set(path.server(), &case.server_sysctls)?;
    let address = path.server().address_v4();
    let mut knobs = case.knobs.clone();
    knobs.listen.bind = vec![address.into()];
    knobs.listen.fast_open = 64;
    knobs.tls.names = vec![NAME.into()];
    let origin = path.server().run(move || Origin::spawn_thread(knobs))??;
    let others = Others::start(case, &path, &origin)?;
    let server = ServerEnd::new(&origin, others.server.as_ref());
    let target = Target::parse(&url(case, &server, others.peer.as_ref()))?;
    let options = options(case, &server, &path, &target, &others)?;
    if others.server.is_some() {
        warm_up(&path, options.clone(), &target)?;
    }
    let before = RunDelays::now();
    let (exchange, client) = path.client().run(move || {
        let before = machine::of_this_thread();
        let exchange = ask(options, &target, case);
        exchange.map(|exchange| (exchange, machine::of_this_thread().saturating_sub(before)))
    })??;
    let machine = before.longest_since().max(client);
    let machine = machine.max(machine::lateness(&path.counters()));
    Ok(Staged { exchange, machine })
}

fn set(side: &Namespace, sysctls: &[String]) -> Result<(), FaultsError> {
    for said in sysctls {
        let (name, value) = said.split_once('=').unwrap_or((said, ""));
        match side.sysctl(name, value) {
            // Only the host decides which controls namespaces can use.
            Err(_) if name == CONGESTION_CONTROL => {}
            set => set?,
        }
    }
    Ok(())
}

/// Other servers that take part. They end before the path does.
struct Others {
    peer: Option<FaultyPeer>,
    names: Option<FaultyPeer>,
    server: Option<ForeignServer>,
}

impl Others {
    fn start(case: &FaultCase, path: &Path, origin: &Running) -> Result<Self, FaultsError> {
        let address = path.server().address_v4();
        let setting = &case.setting;
        let around = Surroundings {
            origin: origin.https,
            address,
            late: setting.late,
        };
        let peer = setting.peer.map(|kind| {
            let spawned = path.server().run(move || FaultyPeer::spawn(kind, around));
            spawned.map(|peer| peer.map_err(FaultsError::Peer))
        });
        let late = setting.late;
        let names = setting.names.map(|manner| {
            let at = if manner.is_far() {
                path.server()
            } else {
                path.client()
            };
            let place = at.address_v4();
            let spawned = at.run(move || names::spawn(manner, place, address, late));
            spawned.map(|names| names.map_err(FaultsError::Peer))
        });
        let place = &setting.place;
        let server = setting.server;
        let server = server.map(|kind| ForeignServer::start(kind, path.server(), NAME, place));
        Ok(Self {
            peer: peer.transpose()?.transpose()?,
            names: names.transpose()?.transpose()?,
            server: server.transpose()?,
        })
    }
}

/// Where the server listens, and the authority of its certificate.
struct ServerEnd {
    http: SocketAddr,
    https: SocketAddr,
    ca_pem: String,
}

impl ServerEnd {
    fn new(origin: &Running, foreign: Option<&ForeignServer>) -> Self {
        let (http, https, ca_pem) = match foreign {
            Some(server) => (server.http, server.https, &server.ca_pem),
            None => (origin.http, origin.https, &origin.ca_pem),
        };
        Self {
            http,
            https,
            ca_pem: ca_pem.clone(),
        }
    }
}

/// Asks once without the path: the first answer of some programs takes longer.
fn warm_up(path: &Path, options: Options, target: &Target) -> Result<(), FaultsError> {
    path.server().run(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut prober = Prober::new(options);
            prober.run(target, 0, &mut io::sink()).await;
            prober.retire().await;
        });
        Ok(())
    })?
}

/// A peer that answers itself, or stands in front of the origin, receives the request instead of
/// the origin.
fn url(case: &FaultCase, server: &ServerEnd, peer: Option<&FaultyPeer>) -> String {
    let place = &case.setting.place;
    let is_asked = !matches!(
        case.setting.peer,
        Some(PeerKind::Tunnel | PeerKind::Resolver)
    );
    let port = peer.filter(|_| is_asked).map(|peer| peer.place.port());
    if case.strategy.security == Security::Clear {
        let port = port.unwrap_or(server.http.port());
        format!("http://{NAME}:{port}{place}")
    } else {
        let port = port.unwrap_or(server.https.port());
        format!("https://{NAME}:{port}{place}")
    }
}

fn options(
    case: &FaultCase,
    end: &ServerEnd,
    path: &Path,
    target: &Target,
    others: &Others,
) -> Result<Options, FaultsError> {
    let (setting, server) = (&case.setting, path.server());
    let address = server.address_v4();
    let mut addresses: Vec<IpAddr> = vec![address.into()];
    match setting.first {
        Some(FirstAddress::Dead) => {
            addresses.insert(0, Ipv4Addr::from(u32::from(address) + 1).into());
        }
        Some(FirstAddress::Refusing) => addresses.insert(0, server.address_v6().into()),
        None => {}
    }
    let mut options = Options {
        strategy: case.strategy,
        cold: setting.cold,
        hello_delay: setting.hello_delay,
        method: setting.method.clone(),
        headers: headers(setting),
        body: vec![b'x'; setting.body].into(),
        roots: Roots::Pem(end.ca_pem.clone()),
        max_time: EXCHANGE_TIMEOUT,
        ..Options::default()
    };
    let place = others.peer.as_ref().map(|peer| peer.place);
    match (setting.peer, place) {
        (Some(PeerKind::Tunnel), Some(place)) => {
            options.proxy = Some(Proxy(Target::parse(&format!("http://{place}/"))?));
        }
        (Some(PeerKind::Resolver), Some(place)) => {
            options.doh = Some(Target::parse(&format!("http://{place}/dns-query"))?);
            options.family = Family::V4;
            return Ok(options);
        }
        _ => {}
    }
    if let Some(names) = &others.names {
        options.name_servers = vec![names.place];
    } else {
        options.overrides = vec![Override {
            host: NAME.into(),
            port: target.port,
            addresses,
        }];
    }
    Ok(options)
}

fn headers(setting: &ExchangeSetting) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut header = |name: &str, value: String| headers.push((name.into(), value));
    if setting.expect {
        header("Expect", "100-continue".into());
    }
    if setting.cookie > 0 {
        header("Cookie", format!("c={}", "x".repeat(setting.cookie)));
    }
    if setting.peer == Some(PeerKind::Preflight) {
        header("Origin", "https://elsewhere.example".into());
        header("Access-Control-Request-Method", "PUT".into());
    }
    headers
}

/// The last run and, if it has several hops, the one that is judged.
fn ask(options: Options, target: &Target, case: &FaultCase) -> Result<Exchange, FaultsError> {
    let setting = &case.setting;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        let mut last = Exchange::default();
        if !setting.stopped.is_zero() {
            tokio::spawn(stop(
                Duration::from_secs_f64(case.rtt_ms / 1e3),
                setting.stopped,
            ));
        }
        for run in 0..setting.runs {
            if run > 0 {
                tokio::time::sleep(setting.pause).await;
            }
            let mut hops = prober
                .run(target, run, &mut SlowSink(setting.output))
                .await
                .into_iter();
            let judged = if setting.first_hop {
                hops.next()
            } else {
                hops.last()
            };
            last = judged.unwrap_or_default();
        }
        prober.retire().await;
        Ok(last)
    })
}

/// In clear text, the answer is due after two round trips. The client's thread stops half a round
/// trip before that, until `late` after it.
async fn stop(rtt: Duration, late: Duration) {
    tokio::time::sleep(rtt.mul_f64(1.5)).await;
    std::thread::sleep(rtt / 2 + late);
}

/// A sink whose first write is slow.
struct SlowSink(Duration);

impl io::Write for SlowSink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let late = std::mem::take(&mut self.0);
        if !late.is_zero() {
            std::thread::sleep(late);
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
