//! Other clients: programs in the client's network, measured by their output or by their run time.

use std::fs::{self, File};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::scene::{SampleError, SampleScene, TakenSample, fill, last_words};
use super::tools::Tools;
use crate::experiment::{Measure, OutputUnit, Program};
use crate::outcome::RunSample;

const MAX_RUN_TIME: Duration = Duration::from_mins(2);
/// An argument with this text is repeated for each request, with its number.
const EACH_MARK: &str = "@each@";
/// The resolution at which run times are measured.
const POLL_INTERVAL: Duration = Duration::from_micros(500);

pub(super) fn sample(
    scene: &SampleScene<'_>,
    program: &Program,
    tools: &Tools,
) -> Result<TakenSample, SampleError> {
    if scene.cell.arm.warm {
        round(scene, program, tools)?;
    }
    let (ms, notes) = round(scene, program, tools)?;
    let requests = f64::from(scene.cell.requests.max(1));
    let value = match scene.experiment.measure {
        Measure::Total | Measure::Rate | Measure::Cost => ms,
        Measure::Mean | Measure::Appconnect => ms / requests,
    };
    let sample = RunSample {
        run: 0,
        value,
        round_trips: None,
        waited: None,
        cpu_us: None,
        carried: None,
        phases: Vec::new(),
    };
    Ok(TakenSample { sample, notes })
}

/// Runs the program for all requests of one run. Returns how many milliseconds that took, and
/// notes.
fn round(
    scene: &SampleScene<'_>,
    program: &Program,
    tools: &Tools,
) -> Result<(f64, Vec<String>), SampleError> {
    let (times, each) = if program.each {
        (scene.cell.requests, 1)
    } else {
        (1, scene.cell.requests)
    };
    let mut ms = 0.0;
    let mut notes = Vec::new();
    for _ in 0..times {
        let (mut command, name) = command(scene, program, tools, each)?;
        ms += life(scene, &mut command, &name, program, each)?;
    }
    let said = fs::read(scene.directory.path().join("client.err")).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    notes.extend(
        said.lines()
            .filter_map(|line| Some(line.strip_prefix("note: ")?.to_owned())),
    );
    Ok((ms, notes))
}

fn command(
    scene: &SampleScene<'_>,
    program: &Program,
    tools: &Tools,
    requests: u32,
) -> Result<(Command, String), SampleError> {
    let url = scene.url(program.scheme)?;
    let known = [
        ("url", url.as_str()),
        ("ca", &*scene.ca().display().to_string()),
        ("requests", &*requests.to_string()),
        ("concurrency", &*scene.cell.concurrency.to_string()),
        ("address", &*scene.path.server().address_v4().to_string()),
        ("directory", &*scene.directory.path().display().to_string()),
    ];
    let mut words = tools.client(&program.name)?;
    let name = program.name.clone();
    for argument in &program.arguments {
        if argument == "@urls@" {
            words.extend((0..requests).map(|_| url.clone().into()));
        } else if argument.contains(EACH_MARK) {
            for number in 1..=requests {
                let numbered = argument.replace(EACH_MARK, &number.to_string());
                words.push(fill(&numbered, &known)?.into());
            }
        } else {
            words.push(fill(argument, &known)?.into());
        }
    }
    let first = words.remove(0);
    let place = if program.at_server {
        scene.path.server()
    } else {
        scene.path.client()
    };
    let mut command = place.command(first);
    command.args(words);
    tools.surround(&mut command);
    Ok((command, name))
}

/// Runs the program to its end, and returns how long it ran.
fn life(
    scene: &SampleScene<'_>,
    command: &mut Command,
    name: &str,
    program: &Program,
    requests: u32,
) -> Result<f64, SampleError> {
    let file = |kind: &str| scene.directory.path().join(kind);
    let failed = |e| SampleError::Io(name.to_owned(), e);
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(file("client.out")).map_err(failed)?)
        .stderr(File::create(file("client.err")).map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let ended = await_end(&mut child, scene, name);
    let took = began.elapsed();
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = ended?;
    if !status.success() {
        let said = format!(
            "{} {}",
            last_words(&file("client.err")),
            last_words(&file("client.out"))
        );
        return Err(SampleError::Ended(
            name.to_owned(),
            status,
            said.trim().to_owned(),
        ));
    }
    let Some(output) = &program.output else {
        return Ok(took.as_secs_f64() * 1e3);
    };
    let text = fs::read(file("client.out")).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    for bad in &output.zero {
        let seen = figures(&text, Some(bad), 1.0);
        if let Some(count) = seen.iter().find(|count| **count > 0.0) {
            return Err(SampleError::NotZero(name.to_owned(), bad.clone(), *count));
        }
    }
    let figures = figures(&text, output.after.as_deref(), scale(output.unit));
    let wanted = if output.after.is_some() && !output.once {
        requests as usize
    } else {
        1
    };
    if figures.len() < wanted {
        let said = last_words(&file("client.out"));
        return Err(SampleError::Figures(
            name.to_owned(),
            figures.len(),
            wanted,
            said,
        ));
    }
    Ok(figures.iter().sum())
}

fn await_end(
    child: &mut std::process::Child,
    scene: &SampleScene<'_>,
    name: &str,
) -> Result<ExitStatus, SampleError> {
    let began = Instant::now();
    loop {
        let seen = child.try_wait();
        if let Some(status) = seen.map_err(|e| SampleError::Io(name.to_owned(), e))? {
            return Ok(status);
        }
        if scene.stop.is_set() {
            return Err(SampleError::Stopped);
        }
        if began.elapsed() > MAX_RUN_TIME {
            return Err(SampleError::TooLong(
                name.to_owned(),
                MAX_RUN_TIME.as_secs(),
            ));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The factor to milliseconds; 1 for rates.
fn scale(unit: OutputUnit) -> f64 {
    match unit {
        OutputUnit::Ms | OutputUnit::PerSecond => 1.0,
        OutputUnit::S => 1e3,
    }
}

fn figures(text: &str, after: Option<&str>, scale: f64) -> Vec<f64> {
    let figure = |line: &str| {
        let rest = match after {
            None => line.trim(),
            Some(after) => line.split_once(after)?.1.trim_start(),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let alone = after.is_some() || behind.is_empty();
        alone.then(|| number.parse::<f64>().ok())?
    };
    text.lines().filter_map(figure).map(|n| n * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found() {
        let seconds = scale(OutputUnit::S);
        assert_eq!(
            figures("0.25\nhello\n0.5\n1 apple\n", None, seconds),
            [250.0, 500.0]
        );
        let text =
            "connected to x (160 bytes), seq=0 time=  2.29 ms \nround-trip min/avg/max = 1.7\n";
        assert_eq!(figures(text, Some("time="), 1.0), [2.29]);
        assert!(figures("time=soon\n", Some("time="), 1.0).is_empty());
        let text = "timing: h2 · 91.2 ms = 1.0 round trip\ntiming: 3 lookups in 270.413 ms\n";
        assert_eq!(figures(text, Some("lookups in "), 1.0), [270.413]);
        let text = "Failed requests:        0\nRequests per second:    5012.31 [#/sec] (mean)\n";
        let rate = scale(OutputUnit::PerSecond);
        assert_eq!(figures(text, Some("Requests per second:"), rate), [5012.31]);
        assert_eq!(figures(text, Some("Failed requests:"), 1.0), [0.0]);
    }
}
