//! Runs a command at the near end of an emulated path, and if asked a server at its far end:
//!
//! ```text
//! behind --rtt 50ms --serve 'python3 -m http.server 80' --wait 80 -- curl http://198.18.0.2/
//! ```
//! Exits as the command does; 2 for wrong usage, 1 when there is no path. Both commands find the addresses in
//! `CLIENT_V4`, `CLIENT_V6`, `SERVER_V4` and `SERVER_V6`. When it ends, so does all that they started.

use std::error::Error;
use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roundtrip_path::{Builder, Direction, Namespace, Path, Tally};

const USAGE: &str = "\
usage: behind [OPTIONS] -- COMMAND [ARGUMENT...]
  --rtt TIME             round-trip time, half of it each way (50ms, 1.5s, 200us)
  --up TIME --down TIME  the delay of each direction instead
  --mtu BYTES            longest IP packet, 1280 or more [1500]
  --drop up:N|down:N     lose the N-th packet of a direction (repeatable)
  --strip-fast-open      take the TCP fast-open option out of SYNs
  --sysctl NAME=VALUE    set net.* on both sides (repeatable)
  --serve 'COMMAND'      run this with sh -c on the far side first
  --wait PORT            until something listens there on this TCP port
  -v                     say on stderr what crossed";

type Failure = Box<dyn Error>;

#[derive(Default)]
struct Options {
    up: Duration,
    down: Duration,
    mtu: Option<u16>,
    drops: Vec<(Direction, u64)>,
    strip_fast_open: bool,
    settings: Vec<(String, String)>,
    serve: Option<String>,
    wait: Option<u16>,
    verbose: bool,
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("behind: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(code) => code,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}"));
            eprintln!("behind: {error}{}", cause.unwrap_or_default());
            ExitCode::from(1)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Failure> {
    let path = builder(options).build()?;
    for (name, value) in &options.settings {
        path.client().sysctl(name, value)?;
        path.server().sysctl(name, value)?;
    }
    let mut server = match &options.serve {
        Some(line) => Some(start(&path, path.server(), "sh", ["-c", line])?),
        None => None,
    };
    if let (Some(port), Some(server)) = (options.wait, &mut server) {
        await_listener(path.server(), server, port)?;
    }
    let (program, arguments) = options.command.split_first().ok_or("no COMMAND given")?;
    let status = start(&path, path.client(), program, arguments)?.wait()?;
    if options.verbose {
        let counters = path.counters();
        report("up", &counters.up);
        report("down", &counters.down);
    }
    // Ended by a signal: as a shell tells it.
    let code = status.code().or_else(|| {
        std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal)
    });
    Ok(ExitCode::from(
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
    ))
}

fn builder(options: &Options) -> Builder {
    let mut builder = Path::builder().delay(options.up, options.down);
    if options.strip_fast_open
        && let Ok(middlebox) = "strip-fast-open".parse()
    {
        builder = builder.middlebox(middlebox);
    }
    if let Some(mtu) = options.mtu {
        builder = builder.mtu(mtu);
    }
    for (direction, number) in &options.drops {
        builder = builder.drop_nth(*direction, *number);
    }
    builder
}

fn start<A: AsRef<std::ffi::OsStr>>(
    path: &Path,
    side: &Namespace,
    program: impl AsRef<std::ffi::OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Child, Failure> {
    let name = program.as_ref().to_string_lossy().into_owned();
    let mut command: Command = side.command(program);
    for (prefix, side) in [("CLIENT", path.client()), ("SERVER", path.server())] {
        command.env(format!("{prefix}_V4"), side.address_v4().to_string());
        command.env(format!("{prefix}_V6"), side.address_v6().to_string());
    }
    let command = command.args(arguments).stdin(Stdio::inherit());
    command
        .spawn()
        .map_err(|error| format!("cannot start {name}: {error}").into())
}

/// Looks into the far side's own table of sockets, so that no packet crosses before the command's. The server may have
/// become a daemon by then: its end is no failure unless it says so.
fn await_listener(side: &Namespace, server: &mut Child, port: u16) -> Result<(), Failure> {
    let limit = Instant::now() + Duration::from_secs(30);
    while Instant::now() < limit {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let output = side.command("cat").args(tables).output()?;
        if is_listening(&String::from_utf8_lossy(&output.stdout), port) {
            return Ok(());
        }
        let failed = server.try_wait()?.filter(|status| !status.success());
        if let Some(status) = failed {
            return Err(
                format!("the server ended ({status}) before it listened on port {port}").into(),
            );
        }
        sleep(Duration::from_millis(5));
    }
    Err(format!("nothing listens on port {port} after 30 s").into())
}

/// Whether a table as in `/proc/net/tcp` has this local port in state 0A.
fn is_listening(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&port)) && fields.nth(1) == Some("0A")
    })
}

fn report(direction: &str, tally: &Tally) {
    eprintln!(
        "behind: {direction} {} packets, {} bytes, {} dropped, {} missed; released late by {:?} (p50), {:?} (p99), {:?} (max)",
        tally.packets,
        tally.bytes,
        tally.dropped,
        tally.missed,
        tally.lateness.p50,
        tally.lateness.p99,
        tally.lateness.max,
    );
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, Failure> {
    let mut options = Options::default();
    while let Some(flag) = arguments.next() {
        let flag = flag
            .into_string()
            .map_err(|flag| format!("{} is no flag", flag.display()))?;
        let mut value = || {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{flag} wants a value"))?;
            value
                .into_string()
                .map_err(|value| format!("{} is not text", value.display()))
        };
        match flag.as_str() {
            "--rtt" => {
                let rtt = duration(&value()?)?;
                options.up = rtt / 2;
                options.down = rtt.saturating_sub(options.up);
            }
            "--up" => options.up = duration(&value()?)?,
            "--down" => options.down = duration(&value()?)?,
            "--mtu" => options.mtu = Some(value()?.parse()?),
            "--drop" => options.drops.push(drop_rule(&value()?)?),
            "--strip-fast-open" => options.strip_fast_open = true,
            "--sysctl" => {
                let value = value()?;
                let (name, value) = value.split_once('=').ok_or("--sysctl wants NAME=VALUE")?;
                options.settings.push((name.into(), value.into()));
            }
            "--serve" => options.serve = Some(value()?),
            "--wait" => options.wait = Some(value()?.parse()?),
            "-v" => options.verbose = true,
            "--" => {
                options.command = arguments.collect();
                break;
            }
            _ => return Err(format!("{flag} is no flag of this").into()),
        }
    }
    if options.command.is_empty() {
        return Err("no COMMAND given".into());
    }
    Ok(options)
}

fn drop_rule(text: &str) -> Result<(Direction, u64), Failure> {
    match text.split_once(':') {
        Some(("up", number)) => Ok((Direction::Up, number.parse()?)),
        Some(("down", number)) => Ok((Direction::Down, number.parse()?)),
        _ => Err("--drop wants up:N or down:N".into()),
    }
}

fn duration(text: &str) -> Result<Duration, Failure> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match text.get(digits.len()..) {
        Some("s") => 1.0,
        Some("ms") => 1e-3,
        Some("us") => 1e-6,
        _ => return Err(format!("{text} is no time such as 50ms").into()),
    };
    Ok(Duration::try_from_secs_f64(digits.parse::<f64>()? * unit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, Failure> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn times_have_units() {
        let options = options("--rtt 50ms --down 200us -- true").unwrap();
        assert_eq!(options.up, Duration::from_millis(25));
        assert_eq!(options.down, Duration::from_micros(200));
        assert!(duration("50").is_err() && duration("ms").is_err() && duration("-1s").is_err());
    }

    #[test]
    fn what_follows_the_dashes_is_the_commands() {
        let options = options("--drop up:3 --drop down:1 -- curl --rtt 9").unwrap();
        assert_eq!(options.command, ["curl", "--rtt", "9"]);
        assert_eq!(options.drops, [(Direction::Up, 3), (Direction::Down, 1)]);
    }

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let line = |state| format!("   0: 00000000:0050 00000000:0000 {state} 00000000:00000000");
        assert!(is_listening(&line("0A"), 80));
        assert!(!is_listening(&line("01"), 80));
        assert!(!is_listening(&line("0A"), 8080));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "",
            "--rtt",
            "--rtt 1ms",
            "--",
            "--fast -- true",
            "--drop 3 -- true",
            "--sysctl x -- true",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }
}
