//! A gate in the foreground. It serves until a signal ends it: SIGHUP reads the configuration
//! again; SIGTERM and SIGINT let open exchanges finish; a second one ends the process at once.

use roundtrip_net::InheritedSockets;
use roundtrip_otlp::OtlpSettings;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::gate::{Gate, News};
use super::notify::{notify, reloading};
use crate::GateError;
use crate::config::Config;

/// `collector` is where spans go; `reread` reads the configuration again; `started` is called once
/// clients are accepted.
pub fn run(
    config: Config,
    collector: Option<OtlpSettings>,
    reread: impl Fn() -> Result<Config, GateError>,
    started: impl FnOnce(&Gate),
    told: impl Fn(News) + Clone + Send + 'static,
) -> Result<(), GateError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(GateError::Thread)?;
    let told = move |news: News| {
        news.log();
        told(news);
    };
    runtime.block_on(async {
        let mut signals = Signals::new().map_err(GateError::Thread)?;
        let inherited = InheritedSockets::from_environment()?;
        let gate = Gate::start_service(config, inherited, collector, told.clone())?;
        started(&gate);
        notify("READY=1");
        while signals.is_reload().await {
            reloading();
            told(match reread().and_then(|config| gate.reload(config)) {
                Ok(()) => News::Reloaded,
                Err(error) => News::NotReloaded(error),
            });
            notify("READY=1");
        }
        notify("STOPPING=1");
        let patience = gate.patience();
        told(News::Draining(patience));
        let draining = tokio::task::spawn_blocking(move || gate.drain(patience));
        let cut = tokio::select! {
            cut = draining => cut.unwrap_or_default(),
            () = signals.end() => std::process::exit(1),
        };
        told(News::Ended { cut });
        Ok(())
    })
}

struct Signals {
    /// A write beyond the limit of a file's size fails, and does not end the process.
    _file_size: Signal,
    reload: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let file_size = rustix::process::Signal::XFSZ.as_raw();
        Ok(Self {
            _file_size: signal(SignalKind::from_raw(file_size))?,
            reload: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal; returns whether it asks for a reload.
    async fn is_reload(&mut self) -> bool {
        tokio::select! {
            _ = self.reload.recv() => true,
            _ = self.terminate.recv() => false,
            _ = self.interrupt.recv() => false,
        }
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
