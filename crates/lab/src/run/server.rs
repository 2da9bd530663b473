//! The far end: the origin in this process, or a program with its configuration, in the server's network.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::Path;

use super::Stop;
use super::scene::{Mishap, fill, last_words};
use super::tools::Tools;
use crate::experiment::{Server, ServerKind};

const START: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(5);

/// A server that listens; dropping it stops it.
pub(super) struct Serving {
    pub(super) http: Option<SocketAddr>,
    pub(super) https: Option<SocketAddr>,
    pub(super) echo: Option<SocketAddr>,
    origin: Option<Running>,
    process: Option<Child>,
}

impl Serving {
    pub(super) fn start(
        server: &Server,
        path: &Path,
        directory: &FilePath,
        tools: &Tools,
        stop: &Stop,
    ) -> Result<Self, Mishap> {
        match &server.kind {
            ServerKind::Origin(knobs) => Self::origin(knobs, path, directory),
            ServerKind::Program {
                command,
                files,
                ready,
                port,
                ..
            } => {
                let address = path.server().address_v4();
                let known = [
                    ("address", &*address.to_string()),
                    ("directory", &*directory.display().to_string()),
                ];
                for (name, text) in files {
                    write(&directory.join(name), &fill(text, &known)?)?;
                }
                let words: Result<Vec<String>, Mishap> =
                    command.iter().map(|word| fill(word, &known)).collect();
                let process = spawn(path, &words?, directory, tools)?;
                let mut serving = Self {
                    http: Some((address, *port).into()),
                    https: None,
                    echo: None,
                    origin: None,
                    process: Some(process),
                };
                serving.await_ready(&directory.join(ready), directory, &server.name, stop)?;
                Ok(serving)
            }
        }
    }

    /// How many requests it has seen, where it is ours.
    pub(super) fn requests(&self) -> Option<u64> {
        self.origin.as_ref().map(|origin| origin.stats().requests)
    }

    fn origin(knobs: &Knobs, path: &Path, directory: &FilePath) -> Result<Self, Mishap> {
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
        })
    }

    /// Nobody may connect before the client does: the server says by a file that it listens.
    fn await_ready(
        &mut self,
        ready: &FilePath,
        directory: &FilePath,
        name: &str,
        stop: &Stop,
    ) -> Result<(), Mishap> {
        let began = Instant::now();
        let log = directory.join("server.log");
        while began.elapsed() < START {
            if fs::metadata(ready).is_ok_and(|file| file.len() > 0) {
                return Ok(());
            }
            if stop.is_set() {
                return Err(Mishap::Stopped);
            }
            if let Some(process) = &mut self.process
                && let Ok(Some(status)) = process.try_wait()
            {
                let said = format!(
                    "{} {}",
                    last_words(&log),
                    last_words(&directory.join("error.log"))
                );
                return Err(Mishap::Ended(
                    name.to_owned(),
                    status,
                    said.trim().to_owned(),
                ));
            }
            std::thread::sleep(STEP);
        }
        Err(Mishap::TooLong(
            format!("{name} (starting)"),
            START.as_secs(),
        ))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended on its own; what it started ends with the path.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn spawn(
    path: &Path,
    words: &[String],
    directory: &FilePath,
    tools: &Tools,
) -> Result<Child, Mishap> {
    let (program, arguments) = words.split_first().ok_or(Mishap::NoDoor("command"))?;
    let failed = |e| Mishap::Io(program.clone(), e);
    let log = File::create(directory.join("server.log")).map_err(failed)?;
    let mut command = path.server().command(tools.place(program)?);
    tools.surround(&mut command);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        .spawn()
        .map_err(failed)
}

fn write(file: &FilePath, text: &str) -> Result<(), Mishap> {
    let failed = |e| Mishap::Io(file.display().to_string(), e);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(file, text).map_err(failed)
}
