//! One case: a path and an origin of its own, and our prober in between, all of it gone afterwards.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use roundtrip_model::{Exchange, Security, Target};
use roundtrip_origin::{Origin, Running};
use roundtrip_path::Path;
use roundtrip_probe::{Options, Override, Prober};
use roundtrip_tls::Roots;

use super::FaultsError;
use super::draw::Case;

const NAME: &str = "shop.example";
const LONGEST: Duration = Duration::from_secs(30);

pub(super) fn run(case: &Case, seed: u64) -> Result<Exchange, FaultsError> {
    let mut builder = Path::builder().seed(seed);
    builder.set("rtt", &format!("{}ms", case.rtt_ms))?;
    for said in &case.words {
        let (word, value) = said.split_once('=').unwrap_or((said, ""));
        builder.set(word, value)?;
    }
    let path = builder.build()?;
    for side in [path.client(), path.server()] {
        side.sysctl("net.ipv4.tcp_fastopen", "3")?;
        // The one that every network namespace may have; with pacing, a window does not arrive at once.
        side.sysctl("net.ipv4.tcp_congestion_control", "reno")?;
    }
    let address = path.server().address_v4();
    let mut knobs = case.knobs.clone();
    knobs.listen.bind = vec![address.into()];
    knobs.listen.fast_open = 64;
    knobs.tls.names = vec![NAME.into()];
    let origin = path.server().run(move || Origin::spawn_thread(knobs))??;
    let url = url(case, &origin);
    let target = Target::parse(&url)?;
    let options = options(case, &origin, address, &target);
    path.client()
        .run(move || ask(options, &target, case.runs))?
}

fn url(case: &Case, origin: &Running) -> String {
    let place = &case.place;
    if case.strategy.security == Security::Clear {
        format!("http://{NAME}:{}{place}", origin.http.port())
    } else {
        format!("https://{NAME}:{}{place}", origin.https.port())
    }
}

fn options(case: &Case, origin: &Running, address: Ipv4Addr, target: &Target) -> Options {
    let dead = Ipv4Addr::from(u32::from(address) + 1);
    let mut addresses: Vec<IpAddr> = vec![address.into()];
    if case.dead_first {
        addresses.insert(0, dead.into());
    }
    Options {
        strategy: case.strategy,
        cold: case.cold,
        hello_delay: case.hello_delay,
        roots: Roots::Pem(origin.ca_pem.clone()),
        overrides: vec![Override {
            host: NAME.into(),
            port: target.port,
            addresses,
        }],
        max_time: LONGEST,
        ..Options::default()
    }
}

/// The last hop of the last run.
fn ask(options: Options, target: &Target, runs: u32) -> Result<Exchange, FaultsError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        let mut last = Exchange::default();
        for run in 0..runs {
            let hops = prober.run(target, run, &mut Vec::new()).await;
            last = hops.into_iter().last().unwrap_or_default();
        }
        prober.retire().await;
        Ok(last)
    })
}
