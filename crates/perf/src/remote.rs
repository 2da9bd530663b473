//! A measurement between two machines: over TCP, with one line of JSON in each direction, client
//! and server prepare each visit, and the server reports its half of the account. The measured
//! connections use another port.
//!
//! ```text
//! client: {"arm":{…},"work":{…}}   →   server: {"ready":{"port":…,"certificate":[…]}}
//! client: the work, by the arm's engine
//!                                      server: {"done":{…}}, or at any time {"failed":"…"}
//! ```
//! The server serves one client at a time and trusts none: arms and work are checked as if they had
//! been typed, lines are short, and reads have a timeout.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::account::readings;
use crate::engine::{self, Job, PEER_TIMEOUT, Pulse, SideReport};
use crate::error::PerfError;
use crate::identity::{ServerIdentity, Trust};
use crate::outcome::{PerfOutcome, Visit};
use crate::pauses::Pauses;
use crate::plan::{Arm, PerfPlan, SideRole, Work};
use crate::run::{PerfProgress, in_turn};
use crate::scene::keep_on;
use crate::stop::Stop;

/// The default port of a server.
pub const PORT: u16 = 5210;
/// The longest message, in bytes.
const MAX_LINE_BYTES: u64 = 64 * 1024;
/// How often progress is reported.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Serialize, Deserialize)]
struct VisitRequest {
    arm: Arm,
    work: Work,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ServerReply {
    Ready { port: u16, certificate: Vec<u8> },
    Done(Box<SideReport>),
    Failed(String),
}

/// Listens for clients.
pub struct PerfServer {
    listener: TcpListener,
    identity: ServerIdentity,
    core: Option<usize>,
}

impl PerfServer {
    pub fn listen(at: SocketAddr, core: Option<usize>) -> Result<Self, PerfError> {
        readings::counts_apart();
        Ok(Self {
            listener: TcpListener::bind(at).map_err(|source| PerfError::Listen { at, source })?,
            identity: ServerIdentity::make()?,
            core,
        })
    }

    pub fn address(&self) -> Result<SocketAddr, PerfError> {
        self.listener
            .local_addr()
            .map_err(PerfError::io("cannot tell where the server listens"))
    }

    /// Serves the next client until it leaves. The result contains the client's mistake, or the
    /// failure.
    pub fn serve_one(&self) -> Result<(), PerfError> {
        keep_on(self.core)?;
        let (stream, _) = self
            .listener
            .accept()
            .map_err(PerfError::io("cannot accept a client"))?;
        let mut talk = Talk::over(stream)?;
        while let Some(request) = talk.hear()? {
            match self.visit(&request, &mut talk) {
                Ok(side) => talk.say(&ServerReply::Done(Box::new(side)))?,
                Err(error) => {
                    talk.say(&ServerReply::Failed(error.to_string()))?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn visit(&self, request: &VisitRequest, talk: &mut Talk) -> Result<SideReport, PerfError> {
        request.arm.check()?;
        request.work.check()?;
        let job = Job {
            work: request.work,
            knobs: request.arm.knobs,
            core: self.core,
            pulse: Pulse::default(),
        };
        let mut at = talk.local()?;
        at.set_port(0);
        let station = engine::by_name(request.arm.engine).listen(at, &self.identity, &job)?;
        talk.say(&ServerReply::Ready {
            port: station.address().port(),
            certificate: self.identity.trust().certificate().to_vec(),
        })?;
        station.serve()
    }
}

/// Runs the client's half of the whole plan against the server at `host`, which may include a port.
pub fn visit(
    plan: PerfPlan,
    host: &str,
    watch: &mut dyn FnMut(PerfProgress<'_>),
) -> Result<PerfOutcome, PerfError> {
    visit_until(plan, host, &Stop::default(), watch)
}

/// Like [`visit`], until `stop` is set.
pub fn visit_until(
    plan: PerfPlan,
    host: &str,
    stop: &Stop,
    watch: &mut dyn FnMut(PerfProgress<'_>),
) -> Result<PerfOutcome, PerfError> {
    plan.check()?;
    readings::counts_apart();
    let at = resolve(host)?;
    let stream = TcpStream::connect_timeout(&at, PEER_TIMEOUT)
        .map_err(|source| PerfError::Connect { to: at, source })?;
    let mut talk = Talk::over(stream)?;
    in_turn(plan, |plan, arm, round| {
        let pulse = Pulse::default();
        let job = plan.job(arm, SideRole::Client, &pulse);
        let rounds = plan.rounds;
        let began = Instant::now();
        let mut tell = |pauses: &mut Pauses| {
            pauses.see(pulse.total(), began.elapsed());
            watch(PerfProgress {
                arm,
                round,
                rounds,
                bytes: pulse.total(),
                elapsed: began.elapsed(),
            });
        };
        call(&mut talk, at, arm, &job, stop, &mut tell)
    })
}

fn call(
    talk: &mut Talk,
    server: SocketAddr,
    arm: &Arm,
    job: &Job,
    stop: &Stop,
    tell: &mut dyn FnMut(&mut Pauses),
) -> Result<Visit, PerfError> {
    talk.say(&VisitRequest {
        arm: arm.clone(),
        work: job.work,
    })?;
    let (port, certificate) = match talk.hear()? {
        Some(ServerReply::Ready { port, certificate }) => (port, certificate),
        other => return Err(unexpected(other)),
    };
    let to = SocketAddr::new(server.ip(), port);
    let (engine, job) = (arm.engine, job.clone());
    let driving = std::thread::spawn(move || {
        keep_on(job.core)?;
        engine::by_name(engine).drive(to, &Trust::new(certificate), &job)
    });
    let mut pauses = Pauses::default();
    while !driving.is_finished() {
        if stop.is_set() {
            return Err(PerfError::Interrupted);
        }
        tell(&mut pauses);
        std::thread::sleep(POLL_INTERVAL);
    }
    let client = driving
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    match talk.hear()? {
        Some(ServerReply::Done(server)) => Ok(Visit {
            server: *server,
            client,
            pause: pauses.longest(),
        }),
        other => Err(unexpected(other)),
    }
}

fn unexpected(reply: Option<ServerReply>) -> PerfError {
    match reply {
        Some(ServerReply::Failed(why)) => PerfError::Peer(why),
        Some(_) => PerfError::Language("an answer came out of turn".into()),
        None => PerfError::Language("it ended the conversation".into()),
    }
}

fn resolve(host: &str) -> Result<SocketAddr, PerfError> {
    let named = |source| PerfError::Name {
        host: host.into(),
        source,
    };
    let found = match host.to_socket_addrs() {
        Ok(mut found) => found.next(),
        // The host has no port.
        Err(_) => (host, PORT).to_socket_addrs().map_err(named)?.next(),
    };
    found.ok_or_else(|| named(std::io::ErrorKind::NotFound.into()))
}

/// Exchanges lines of JSON.
struct Talk {
    reader: BufReader<TcpStream>,
}

impl Talk {
    fn over(stream: TcpStream) -> Result<Self, PerfError> {
        let prepared = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_write_timeout(Some(PEER_TIMEOUT)))
            // The server answers late only while a visit is under way; otherwise the timeout is
            // short.
            .and_then(|()| stream.set_read_timeout(Some(PEER_TIMEOUT * 2)));
        prepared.map_err(PerfError::io("cannot prepare the conversation"))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }

    fn local(&self) -> Result<SocketAddr, PerfError> {
        let local = self.reader.get_ref().local_addr();
        local.map_err(PerfError::io("the conversation broke"))
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), PerfError> {
        let mut line =
            serde_json::to_vec(message).map_err(|error| PerfError::Language(error.to_string()))?;
        line.push(b'\n');
        let sent = self.reader.get_mut().write_all(&line);
        sent.map_err(PerfError::io("the conversation broke"))
    }

    /// Reads a message; `None` if the peer has closed.
    fn hear<T: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<T>, PerfError> {
        let mut line = Vec::new();
        self.reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(PerfError::io("the conversation broke"))?;
        if line.is_empty() {
            return Ok(None);
        }
        let message = serde_json::from_slice(&line);
        message
            .map(Some)
            .map_err(|error| PerfError::Language(error.to_string()))
    }
}
