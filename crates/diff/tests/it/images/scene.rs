//! An origin behind a path, and the clients of two images that ask it: one with TLS 1.2, whose
//! library computes before it sends anything, and one with TLS 1.3, whose library does not.

use std::time::Duration;

use roundtrip_model::{Exchange, Target};
use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::Path;
use roundtrip_probe::{Options, Override, Prober};
use roundtrip_tls::Roots;

const NAME: &str = "shop.example";
const PORT: u16 = 443;

pub(crate) struct Scene {
    // Dropped in this order: the origin goes before its network is taken down.
    origin: Running,
    path: Path,
}

/// A client: its strategy, and how long it computes between the TCP handshake and its ClientHello.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    pub(crate) strategy: &'static str,
    pub(crate) hello_delay: Duration,
}

pub(crate) const OLD: Image = Image {
    strategy: "h1+tls1.2-pq",
    hello_delay: Duration::from_millis(130),
};
pub(crate) const NEW: Image = Image {
    strategy: "h1+tls1.3",
    hello_delay: Duration::ZERO,
};

impl Scene {
    pub(crate) fn set(rtt: Duration) -> Self {
        let path = Path::builder().rtt(rtt).build().unwrap();
        let mut knobs = Knobs::default();
        knobs.listen.bind = vec![path.server().address_v4().into()];
        knobs.listen.https_port = PORT;
        knobs.tls.names = vec![NAME.into()];
        let spawned = path.server().run(move || Origin::spawn_thread(knobs));
        let origin = spawned.unwrap().unwrap();
        Self { origin, path }
    }

    /// Asks for both images in turn, so that drift affects both alike; returns the document of
    /// each.
    pub(crate) fn ask(&self, images: [Image; 2], runs: u32) -> [Vec<u8>; 2] {
        let options = images.map(|image| Options {
            strategy: image.strategy.parse().unwrap(),
            hello_delay: image.hello_delay,
            roots: Roots::Pem(self.origin.ca_pem.clone()),
            overrides: vec![Override {
                host: NAME.into(),
                port: PORT,
                addresses: vec![self.path.server().address_v4().into()],
            }],
            ..Options::default()
        });
        let asked = self.path.client().run(move || ask(options, runs)).unwrap();
        asked.map(|exchanges| {
            let failed = exchanges.iter().find_map(|e| e.failure.as_ref());
            assert!(failed.is_none(), "{failed:?}");
            roundtrip_report::json::document(&exchanges)
                .to_string()
                .into_bytes()
        })
    }
}

fn ask(options: [Options; 2], runs: u32) -> [Vec<Exchange>; 2] {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let target = Target::parse(&format!("https://{NAME}/bytes/1000")).unwrap();
    let [mut first, mut second] = options.map(Prober::new);
    runtime.block_on(async {
        let mut asked = [Vec::new(), Vec::new()];
        for run in 0..runs {
            let mut sink = std::io::sink();
            asked[0].extend(first.run(&target, run, &mut sink).await);
            asked[1].extend(second.run(&target, run, &mut sink).await);
        }
        asked
    })
}
