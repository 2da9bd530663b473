//! An origin at the far end of an emulated path, for tests that ask from the near one; included by
//! them (`#[path = "../../../../tests/far.rs"] mod far`). The tests decide who asks, and how.

use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::Path;

pub(crate) struct Far {
    pub(crate) path: Path,
    pub(crate) origin: Running,
    ca: tempfile::NamedTempFile,
}

impl Far {
    /// Both sides may use fast open. The origin behaves and listens as its knobs say, and is also
    /// called `far.test`.
    pub(crate) fn new(path: Path, mut knobs: Knobs) -> Self {
        for side in [path.client(), path.server()] {
            side.sysctl("net.ipv4.tcp_fastopen", "3").unwrap();
        }
        knobs.tls.names = vec![path.server().address_v4().to_string(), "far.test".into()];
        let origin = path
            .server()
            .run(move || Origin::spawn_thread(knobs))
            .unwrap()
            .unwrap();
        let ca = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(ca.path(), &origin.ca_pem).unwrap();
        Self { path, origin, ca }
    }

    /// The file of the authority that the origin's certificate is from.
    pub(crate) fn ca(&self) -> std::path::PathBuf {
        self.ca.path().to_owned()
    }

    /// Does this at the near end, in a separate runtime.
    pub(crate) fn near<F: Future>(&self, work: impl FnOnce() -> F + Send) -> F::Output
    where
        F::Output: Send,
    {
        let all = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(work())
        };
        self.path.client().run(all).unwrap()
    }
}
