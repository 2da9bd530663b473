//! The setting of the demo: a path, and a well-behaved origin at its far end, both inside this
//! process.

use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use roundtrip_model::Strategy;
use roundtrip_origin::{EarlyData, Knobs, Origin, Running};
use roundtrip_path::Path;
use roundtrip_probe::{Options, Override};
use roundtrip_tls::Roots;

use super::{DemoError, DemoEvent, asking};

const NAME: &str = "shop.example";
const PORT: u16 = 443;
/// Tickets sent with each handshake, so that a client does not have to reconnect for more; the
/// client keeps at most eight.
pub(super) const TICKETS: u8 = 8;
/// The time limit of a request beyond the path's round trips: far more than it needs.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct DemoScene {
    // Dropped in this order: the origin must end before its network is removed.
    origin: Running,
    path: Path,
    rtt: Duration,
}

impl DemoScene {
    pub(super) fn set(rtt: Duration) -> Result<Self, DemoError> {
        let path = Path::builder().rtt(rtt).build()?;
        for side in [path.client(), path.server()] {
            side.sysctl("net.ipv4.tcp_fastopen", "3")?;
        }
        let knobs = knobs(path.server().address_v4().into());
        let origin = path.server().run(move || Origin::spawn_thread(knobs))??;
        Ok(Self { origin, path, rtt })
    }

    /// Measures the ways in this order from the client's side, and reports progress.
    pub(super) fn ask(
        &self,
        strategies: &[Strategy],
        order: &[usize],
        tell: Sender<DemoEvent>,
    ) -> Result<(), DemoError> {
        let options = self.options();
        let url = format!("https://{NAME}:{PORT}/bytes/1000");
        let work = move || asking::ask(&url, &options, strategies, order, &tell);
        self.path.client().run(work)?
    }

    fn options(&self) -> Options {
        Options {
            roots: Roots::Pem(self.origin.ca_pem.clone()),
            overrides: vec![Override {
                host: NAME.into(),
                port: PORT,
                addresses: vec![self.path.server().address_v4().into()],
            }],
            max_time: REQUEST_TIMEOUT + self.rtt * 20,
            ..Options::default()
        }
    }
}

fn knobs(address: IpAddr) -> Knobs {
    let mut knobs = Knobs::default();
    knobs.listen.bind = vec![address];
    knobs.listen.https_port = PORT;
    knobs.listen.fast_open = 64;
    knobs.tls.names = vec![NAME.into()];
    knobs.tls.early_data = EarlyData::On;
    knobs.tls.ticket_count = TICKETS;
    // The kept connection must survive the turns of the other ways, however slow the path is.
    knobs.http.keep_alive = Duration::from_hours(1);
    knobs
}
