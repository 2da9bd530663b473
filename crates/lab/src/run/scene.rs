//! Takes one sample: a path, a server at its far end and a client at its near end, all of them new.

use std::io;
use std::path::Path as FilePath;
use std::time::Duration;

use roundtrip_path::{Path, WordError};

use super::server::RunningServer;
use super::tools::{MissingToolError, Tools};
use super::{ours, program, transfer};
use crate::Stop;
use crate::experiment::{ArmClient, Cell, Experiment, UrlScheme};
use crate::outcome::RunSample;
use crate::packets::{self, RecordingError, TracedPacket};

const RECORDING: &str = "path.pcapng";
/// The time that both ends may need to close their connections, in addition to the path's delay.
const CLOSE_TIME: Duration = Duration::from_millis(20);

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub(super) enum SampleError {
    #[error(transparent)]
    Missing(#[from] MissingToolError),
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    Path(#[from] roundtrip_path::PathError),
    #[error("{0}")]
    Word(#[from] WordError),
    #[error("the origin: {0}")]
    Origin(#[from] roundtrip_origin::OriginError),
    #[error("the server has no {0} port")]
    NoDoor(&'static str),
    #[error("invalid URL: {0}")]
    Target(#[from] roundtrip_model::TargetError),
    #[error("request {0}: {1}")]
    Exchange(usize, String),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("{0}")]
    Transfer(#[from] roundtrip_perf::PerfError),
    #[error("the transfer carried nothing that could be measured")]
    Nothing,
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    #[error("{0} ended with {1}: {2}")]
    Ended(String, std::process::ExitStatus, String),
    #[error("{0} had not finished after {1} s")]
    TooLong(String, u64),
    #[error("{0} printed {1} figures instead of {2}: {3}")]
    Figures(String, usize, usize, String),
    #[error("{0} printed '{1} {2}', which must be 0")]
    NotZero(String, String, f64),
    #[error(
        "'{0}' is not a placeholder; known are @url@, @urls@, @each@, @ca@, @requests@, @concurrency@, @address@, @directory@, @roundtrip@"
    )]
    Placeholder(String),
}

/// A sample, and the data that belongs to it.
pub(super) struct TakenSample {
    pub(super) sample: RunSample,
    pub(super) notes: Vec<String>,
}

/// The facts that a client needs.
pub(super) struct SampleScene<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) cell: &'a Cell,
    // The server must end before its network does.
    pub(super) serving: RunningServer,
    pub(super) path: Path,
    pub(super) directory: tempfile::TempDir,
    pub(super) stop: &'a Stop,
}

/// The result of a run, and the server's observations of it.
pub(super) struct ServedRun {
    pub(super) taken: Result<TakenSample, SampleError>,
    pub(super) requests: Option<u64>,
}

pub(super) fn sample(
    experiment: &Experiment,
    cell: &Cell,
    tools: &mut Tools,
    seed: u64,
    stop: &Stop,
) -> Result<ServedRun, SampleError> {
    if let ArmClient::Transfer(said) = &cell.arm.client {
        return Ok(ServedRun {
            taken: transfer::sample(said, cell, seed),
            requests: None,
        });
    }
    let scene = set(experiment, cell, tools, seed, stop, false)?;
    Ok(ServedRun {
        taken: scene.ask(tools),
        requests: scene.serving.requests(),
    })
}

/// Records the packets of a run, whether or not it was answered.
pub(super) fn record(
    experiment: &Experiment,
    cell: &Cell,
    tools: &mut Tools,
    seed: u64,
    stop: &Stop,
) -> Result<Vec<TracedPacket>, SampleError> {
    let scene = set(experiment, cell, tools, seed, stop, true)?;
    if let Err(SampleError::Stopped) = scene.ask(tools) {
        return Err(SampleError::Stopped);
    }
    // The last packets are still in transit.
    let rtt = cell.path.rtt().unwrap_or_default();
    std::thread::sleep(CLOSE_TIME + rtt + rtt / 2);
    let file = scene.directory.path().join(RECORDING);
    drop(scene.serving);
    scene.path.close()?;
    let recorded = std::fs::read(&file).map_err(|e| SampleError::Io("the recording".into(), e))?;
    Ok(packets::read(&recorded)?)
}

fn set<'a>(
    experiment: &'a Experiment,
    cell: &'a Cell,
    tools: &mut Tools,
    seed: u64,
    stop: &'a Stop,
    recorded: bool,
) -> Result<SampleScene<'a>, SampleError> {
    // Report missing programs before anything is created.
    tools.needed(experiment, cell, stop)?;
    let directory =
        tempfile::tempdir().map_err(|e| SampleError::Io("a temporary directory".into(), e))?;
    let mut builder = cell.path.builder(seed)?;
    if recorded {
        builder = builder.record(directory.path().join(RECORDING));
    }
    let path = builder.build()?;
    for (name, value) in &cell.arm.sysctl {
        path.client().sysctl(name, value)?;
    }
    for (name, value) in &cell.arm.server.sysctl {
        path.server().sysctl(name, value)?;
    }
    let serving = RunningServer::start(&cell.arm.server, &path, directory.path(), tools, stop)?;
    std::thread::sleep(cell.arm.server.settle);
    Ok(SampleScene {
        experiment,
        cell,
        serving,
        path,
        directory,
        stop,
    })
}

impl SampleScene<'_> {
    fn ask(&self, tools: &Tools) -> Result<TakenSample, SampleError> {
        let before = self.serving.cpu();
        let mut taken = self.answer(tools)?;
        let rounds = if self.cell.arm.warm { 2.0 } else { 1.0 };
        let requests = rounds * f64::from(self.cell.requests.max(1));
        let used = before.and_then(|before| self.serving.cpu()?.checked_sub(before));
        taken.sample.cpu_us = used.map(|used| used.as_secs_f64() * 1e6 / requests);
        Ok(taken)
    }

    fn answer(&self, tools: &Tools) -> Result<TakenSample, SampleError> {
        match &self.cell.arm.client {
            ArmClient::Ours {
                strategy,
                manner,
                hello_delay,
                max_time,
                headers,
            } => {
                let times = (*hello_delay, *max_time);
                ours::sample(self, *strategy, *manner, times, headers)
            }
            ArmClient::Program(program) => program::sample(self, program, tools),
            ArmClient::Transfer(said) => transfer::sample(said, self.cell, 0),
        }
    }

    pub(super) fn url(&self, scheme: UrlScheme) -> Result<String, SampleError> {
        let door = match scheme {
            UrlScheme::Https => self.serving.https.ok_or(SampleError::NoDoor("HTTPS")),
            UrlScheme::Http => self.serving.http.ok_or(SampleError::NoDoor("HTTP")),
            UrlScheme::Tcp => self.serving.echo.ok_or(SampleError::NoDoor("echo")),
        }?;
        let place = &self.cell.arm.server.place;
        Ok(match scheme {
            UrlScheme::Https => format!("https://{door}{place}"),
            UrlScheme::Http => format!("http://{door}{place}"),
            UrlScheme::Tcp => format!("tcp://{door}"),
        })
    }

    pub(super) fn ca(&self) -> std::path::PathBuf {
        self.directory.path().join("ca.pem")
    }
}

/// Replaces each `@word@`. An unknown word is an error; other `@` are kept.
pub(super) fn fill(text: &str, known: &[(&str, &str)]) -> Result<String, SampleError> {
    let mut filled = text.to_owned();
    for (word, value) in known {
        filled = filled.replace(&format!("@{word}@"), value);
    }
    let unknown =
        filled.split('@').skip(1).step_by(2).find(|word| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        });
    match unknown {
        Some(word) if filled.contains(&format!("@{word}@")) => {
            Err(SampleError::Placeholder(format!("@{word}@")))
        }
        _ => Ok(filled),
    }
}

/// The last two lines of a log, which usually say why its writer failed.
pub(super) fn last_words(file: &FilePath) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(2)..)
        .unwrap_or_default();
    last.join(" / ").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_or_refused() {
        let known = [("url", "http://x/"), ("requests", "3")];
        assert_eq!(
            fill("@url@?[1-@requests@]", &known).unwrap(),
            "http://x/?[1-3]"
        );
        assert_eq!(fill("me@home", &known).unwrap(), "me@home");
        assert_eq!(fill("a @ b @ c", &known).unwrap(), "a @ b @ c");
        let refused = fill("@uri@", &known).unwrap_err().to_string();
        assert!(
            refused.contains("'@uri@' is not a placeholder"),
            "{refused}"
        );
    }
}
