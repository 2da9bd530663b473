//! The far end: the user's command, the built-in origin, or nothing.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use clap::FromArgMatches;
use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_path::{Path, SERVER_NAMES};

use super::{Ending, listener, near_end, tell};
use crate::cli::PathArgs;

pub(super) enum FarEnd {
    Nothing,
    Command(Child),
    Origin(Box<Serving>),
}

pub(super) struct Serving {
    running: Running,
    /// The authority's certificate, in memory, so that no file has to be removed.
    authority: OwnedFd,
    /// Whether other servers can be reached, so that other authorities have to be trusted as well.
    others_are_reached: bool,
}

impl FarEnd {
    pub(super) fn start(
        path: &Path,
        args: &PathArgs,
        knobs: Option<Knobs>,
    ) -> Result<Self, Ending> {
        if let Some(knobs) = knobs {
            return serve(path, knobs, args.uplink);
        }
        let Some(line) = &args.serve else {
            return Ok(Self::Nothing);
        };
        let mut child = start_command(path, line)
            .map_err(|error| Ending::Failed(format!("--serve: cannot start sh: {error}")))?;
        let ended = || child.try_wait().ok().flatten();
        listener::wait_for(path.server(), args.wait, ended)
            .map_err(|why| Ending::Failed(format!("--serve: {why}")))?;
        Ok(Self::Command(child))
    }

    /// The variables that the command gets in its environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Origin(serving) => serving.environment(),
            _ => Vec::new(),
        }
    }

    pub(super) fn introduce(&self) {
        match self {
            Self::Origin(serving) => tell(format!(
                "at the far end: {}",
                serving.running.to_string().replace('\n', ", ")
            )),
            Self::Command(child) => tell(format!("at the far end: process {}", child.id())),
            Self::Nothing => {}
        }
    }

    /// Reports a server that ended before the command did.
    pub(super) fn check(&mut self) {
        if let Self::Command(child) = self
            && let Ok(Some(status)) = child.try_wait()
            && !status.success()
        {
            tell(format!(
                "--serve: the server ended ({status}) before the command did"
            ));
        }
    }
}

fn start_command(path: &Path, line: &str) -> io::Result<Child> {
    let mut command = path.server().command("sh");
    near_end::name_ends(&mut command, path);
    // Standard output and the terminal belong to the command: the server's output goes to standard
    // error, and Ctrl-C does not reach it.
    let beside = io::stderr().as_fd().try_clone_to_owned()?;
    command
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(beside)
        .process_group(0)
        .spawn()
}

fn serve(path: &Path, knobs: Knobs, others_are_reached: bool) -> Result<FarEnd, Ending> {
    let failed = |why: String| Ending::Failed(format!("--origin: {why}"));
    let running = path
        .server()
        .run(|| Origin::spawn_thread(knobs))
        .map_err(|error| failed(error.to_string()))?
        .map_err(|error| failed(error.to_string()))?;
    let authority = in_memory(running.ca_pem.as_bytes())
        .map_err(|error| failed(format!("its certificate cannot be kept: {error}")))?;
    Ok(FarEnd::Origin(Box::new(Serving {
        running,
        authority,
        others_are_reached,
    })))
}

fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    use io::Write;
    let file = rustix::fs::memfd_create("origin-ca.pem", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(content)?;
    Ok(file.into())
}

impl Serving {
    fn environment(&self) -> Vec<(&'static str, String)> {
        let at = |scheme: &str, address: SocketAddr, usual: u16| match address.port() {
            port if port == usual => format!("{scheme}://server/"),
            port => format!("{scheme}://server:{port}/"),
        };
        let process = std::process::id();
        let authority = format!("/proc/{process}/fd/{}", self.authority.as_raw_fd());
        let mut all = vec![
            ("ORIGIN_URL", at("https", self.running.https, 443)),
            ("ORIGIN_HTTP_URL", at("http", self.running.http, 80)),
            ("ORIGIN_CA", authority.clone()),
        ];
        if let Some(echo) = self.running.echo {
            all.push(("ORIGIN_ECHO", format!("tcp://server:{}", echo.port())));
        }
        if !self.others_are_reached {
            all.extend(TRUST.map(|name| (name, authority.clone())));
        }
        all
    }
}

/// The variables that tell clients which authority to trust: OpenSSL, Go and roundtrip; curl;
/// Python's requests; Node.js.
const TRUST: [&str; 4] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

/// The knobs of the origin, in the style of the path's words: `early-data=on quic-retry`.
pub(super) fn knobs(args: &PathArgs) -> Result<Option<Knobs>, Ending> {
    let Some(text) = &args.origin else {
        return Ok(None);
    };
    let mut line: Vec<String> = ["--http-port=80", "--https-port=443"]
        .map(Into::into)
        .into();
    let names = SERVER_NAMES.iter().map(ToString::to_string);
    line.extend(
        names
            .chain(args.name.iter().cloned())
            .map(|name| format!("--name={name}")),
    );
    for address in ["198.18.0.2", "2001:2::2"] {
        line.push(format!("--bind={address}"));
        line.push(format!("--name={address}"));
    }
    line.extend(
        text.split_whitespace()
            .map(|knob| format!("--{}", knob.trim_start_matches('-'))),
    );
    let command = <Knobs as clap::Args>::augment_args(clap::Command::new("origin"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .args_override_self(true);
    let knobs = command
        .try_get_matches_from(line)
        .and_then(|matches| Knobs::from_arg_matches(&matches))
        .map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let what = first.trim_start_matches("error: ");
            Ending::Usage(format!(
                "--origin: {what}; knobs are those of `roundtrip origin`, as in 'early-data=on think=5ms'"
            ))
        })?;
    Ok(Some(knobs))
}
