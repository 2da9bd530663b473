//! The exporter: accepts connections, and reloads its file when a signal asks for it.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

use crate::config::ConfigError;
use crate::connections::Connections;
use crate::server;
use crate::state::{ExporterOptions, ExporterState};

/// The pause after a failed accept, which usually means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot listen at {at}: {source}")]
    Listen {
        at: SocketAddr,
        source: std::io::Error,
    },
    #[error("cannot receive signals: {0}")]
    Signal(#[source] std::io::Error),
}

/// An exporter, which listens from [`open`](Self::open) on, and answers while
/// [`serve`](Self::serve) runs.
pub struct Exporter {
    listener: TcpListener,
    state: Rc<ExporterState>,
}

impl Exporter {
    pub async fn open(options: ExporterOptions) -> Result<Self, ExporterError> {
        let at = options.listen;
        let state = Rc::new(ExporterState::new(options)?);
        let listener = TcpListener::bind(at).await;
        let listener = listener.map_err(|source| ExporterError::Listen { at, source })?;
        Ok(Self { listener, state })
    }

    pub fn address(&self) -> SocketAddr {
        self.listener
            .local_addr()
            .unwrap_or(self.state.options.listen)
    }

    /// The modules that were left out (`skip_unsupported`), one line each.
    pub fn left_out(&self) -> Vec<String> {
        let modules = self.state.modules();
        modules
            .unsupported()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// Serves until `stop` completes. SIGHUP reloads the configuration; `reloaded` receives the
    /// result.
    pub async fn serve(
        self,
        stop: impl Future<Output = ()>,
        reloaded: impl Fn(Result<(), ConfigError>) + 'static,
    ) -> Result<(), ExporterError> {
        let mut hangups = signal(SignalKind::hangup()).map_err(ExporterError::Signal)?;
        let local = LocalSet::new();
        let state = self.state.clone();
        local.spawn_local(async move {
            while hangups.recv().await.is_some() {
                reloaded(state.reload());
            }
        });
        let serving = self.accept();
        tokio::select! {
            () = local.run_until(serving) => {}
            () = stop => {}
        }
        Ok(())
    }

    async fn accept(&self) {
        let connections = Rc::new(Connections::new(self.state.max_connections));
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = open.join_next(), if !open.is_empty() => {}
                accepted = self.listener.accept(), if connections.has_room() => match accepted {
                    Ok((stream, _)) => {
                        let _ = stream.set_nodelay(true);
                        let own = connections.open();
                        open.spawn_local(server::serve(stream, own, self.state.clone()));
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}
