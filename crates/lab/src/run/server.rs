//! The far end: the origin in this process, or a program with its configuration, in the server's
//! network.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::Path;

use super::scene::{SampleError, fill, last_words};
use super::tools::Tools;
use super::{hop::TcpRelay, usage};
use crate::Stop;
use crate::experiment::{FarServer, LabServer, ReadySign, ServerKind, UrlScheme};

const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A server that listens; dropping it stops it.
pub(super) struct RunningServer {
    pub(super) http: Option<SocketAddr>,
    pub(super) https: Option<SocketAddr>,
    pub(super) echo: Option<SocketAddr>,
    origin: Option<Running>,
    process: Option<Child>,
    // Dropped after the server.
    _company: DependedServers,
}

/// The servers that a server depends on, in the order in which they end.
struct DependedServers {
    _beside: Vec<RunningServer>,
    _far: Option<Distant>,
}

/// The server behind a further path, the relay to it, and that path.
struct Distant {
    _hop: TcpRelay,
    _serving: Box<RunningServer>,
    _path: Path,
}

impl RunningServer {
    pub(super) fn start(
        server: &LabServer,
        path: &Path,
        directory: &FilePath,
        tools: &Tools,
        stop: &Stop,
    ) -> Result<Self, SampleError> {
        let far = server.far.as_ref();
        let far = far.map(|far| distant(far, path, directory, tools, stop));
        let far = far.transpose()?;
        let mut beside = Vec::new();
        for other in &server.beside {
            beside.push(Self::start(other, path, directory, tools, stop)?);
        }
        let company = DependedServers {
            _beside: beside,
            _far: far,
        };
        match &server.kind {
            ServerKind::Within => Ok(Self::nobody(company)),
            ServerKind::Origin(knobs) => Self::origin(knobs, path, directory, company),
            ServerKind::Program { .. } => {
                let mut serving = Self::program(server, path, directory, tools, company)?;
                serving.await_ready(server, directory, stop)?;
                Ok(serving)
            }
        }
    }

    fn program(
        server: &LabServer,
        path: &Path,
        directory: &FilePath,
        tools: &Tools,
        company: DependedServers,
    ) -> Result<Self, SampleError> {
        let ServerKind::Program {
            command,
            files,
            port,
            tls_port,
            ..
        } = &server.kind
        else {
            return Err(SampleError::NoDoor("command"));
        };
        let address = path.server().address_v4();
        let ourselves = std::env::current_exe();
        let ourselves = ourselves.map_err(|e| SampleError::Io("roundtrip".into(), e))?;
        let known = [
            ("address", &*address.to_string()),
            ("directory", &*directory.display().to_string()),
            ("roundtrip", &*ourselves.display().to_string()),
        ];
        for (name, text) in files {
            write(&directory.join(name), &fill(text, &known)?)?;
        }
        let words: Result<Vec<String>, SampleError> =
            command.iter().map(|word| fill(word, &known)).collect();
        let log = directory.join(log_of(&server.name));
        let process = spawn(path, &words?, &log, tools)?;
        Ok(Self {
            http: Some((address, *port).into()),
            https: tls_port.map(|port| (address, port).into()),
            echo: None,
            origin: None,
            process: Some(process),
            _company: company,
        })
    }

    fn nobody(company: DependedServers) -> Self {
        Self {
            http: None,
            https: None,
            echo: None,
            origin: None,
            process: None,
            _company: company,
        }
    }

    /// The processor time of its processes so far, if the server is a program.
    pub(super) fn cpu(&self) -> Option<Duration> {
        usage::cpu(self.process.as_ref()?.id())
    }

    /// The number of requests that the server has received, if it is ours.
    pub(super) fn requests(&self) -> Option<u64> {
        self.origin.as_ref().map(|origin| origin.stats().requests)
    }

    fn origin(
        knobs: &Knobs,
        path: &Path,
        directory: &FilePath,
        company: DependedServers,
    ) -> Result<Self, SampleError> {
        let mut knobs = knobs.clone();
        let address = path.server().address_v4();
        knobs.listen.bind = vec![address.into()];
        knobs.tls.names.push(address.to_string());
        let running = path.server().run(move || Origin::spawn_thread(knobs))??;
        write(&directory.join("ca.pem"), &running.ca_pem)?;
        Ok(Self {
            http: Some(running.http),
            https: Some(running.https),
            echo: running.echo,
            origin: Some(running),
            process: None,
            _company: company,
        })
    }

    /// Waits until the server listens. Nothing may connect before the client does, so other signs
    /// are used.
    fn await_ready(
        &mut self,
        server: &LabServer,
        directory: &FilePath,
        stop: &Stop,
    ) -> Result<(), SampleError> {
        let (began, name) = (Instant::now(), &server.name);
        let log = directory.join(log_of(name));
        let sign = sign(&server.kind, directory);
        while began.elapsed() < START_TIMEOUT {
            let process = self.process.as_ref().map(Child::id);
            if sign.is_there(process) {
                return Ok(());
            }
            if stop.is_set() {
                return Err(SampleError::Stopped);
            }
            if let Some(process) = &mut self.process
                && let Ok(Some(status)) = process.try_wait()
            {
                let said = format!(
                    "{} {}",
                    last_words(&log),
                    last_words(&log.with_file_name("error.log"))
                );
                return Err(SampleError::Ended(
                    name.clone(),
                    status,
                    said.trim().to_owned(),
                ));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(SampleError::TooLong(
            format!("{name} (starting)"),
            START_TIMEOUT.as_secs(),
        ))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended already; the processes that it started end with the path.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The sign that a server listens.
enum ListeningSign {
    File(PathBuf),
    Port(u16),
    Nothing,
}

fn sign(kind: &ServerKind, directory: &FilePath) -> ListeningSign {
    match kind {
        ServerKind::Origin(_) | ServerKind::Within => ListeningSign::Nothing,
        ServerKind::Program {
            ready,
            port,
            tls_port,
            ..
        } => match ready {
            ReadySign::File(name) => ListeningSign::File(directory.join(name)),
            ReadySign::Port => ListeningSign::Port(tls_port.unwrap_or(*port)),
        },
    }
}

impl ListeningSign {
    fn is_there(&self, process: Option<u32>) -> bool {
        match self {
            Self::File(file) => fs::metadata(file).is_ok_and(|file| file.len() > 0),
            Self::Port(port) => process.is_some_and(|process| usage::listens(process, *port)),
            Self::Nothing => true,
        }
    }
}

/// Starts the far server; its files are in a separate directory.
fn distant(
    far: &FarServer,
    path: &Path,
    directory: &FilePath,
    tools: &Tools,
    stop: &Stop,
) -> Result<Distant, SampleError> {
    let directory = directory.join("far");
    fs::create_dir_all(&directory).map_err(|e| SampleError::Io("far".into(), e))?;
    let further = far.path.builder(0)?.build()?;
    for (name, value) in &far.server.sysctl {
        further.server().sysctl(name, value)?;
    }
    let serving = RunningServer::start(&far.server, &further, &directory, tools, stop)?;
    let there = match far.scheme {
        UrlScheme::Https => serving.https.ok_or(SampleError::NoDoor("HTTPS")),
        UrlScheme::Http => serving.http.ok_or(SampleError::NoDoor("HTTP")),
        UrlScheme::Tcp => serving.echo.ok_or(SampleError::NoDoor("echo")),
    }?;
    let here = (path.server().address_v4(), far.port).into();
    let hop = TcpRelay::open((path.server(), here), (further.client(), there))
        .map_err(|e| SampleError::Io("the path to the far server".into(), e))?;
    Ok(Distant {
        _hop: hop,
        _serving: Box::new(serving),
        _path: further,
    })
}

/// The name of the log: `server.log`, or one that differs from those of other servers in the
/// directory.
fn log_of(name: &str) -> String {
    format!("{}.log", name.replace([' ', '/'], "-"))
}

fn spawn(
    path: &Path,
    words: &[String],
    log: &FilePath,
    tools: &Tools,
) -> Result<Child, SampleError> {
    let (program, arguments) = words.split_first().ok_or(SampleError::NoDoor("command"))?;
    let failed = |e| SampleError::Io(program.clone(), e);
    let log = File::create(log).map_err(failed)?;
    let mut first = tools.server(program)?;
    let mut command = path.server().command(first.remove(0));
    tools.surround(&mut command);
    command
        .args(first)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        .spawn()
        .map_err(failed)
}

fn write(file: &FilePath, text: &str) -> Result<(), SampleError> {
    let failed = |e| SampleError::Io(file.display().to_string(), e);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(file, text).map_err(failed)
}
