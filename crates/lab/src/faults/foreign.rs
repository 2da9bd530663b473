//! Other makers' servers at the far end. Each is a program that must be installed; its files are in
//! a directory that is removed with it.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path as FilePath;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use roundtrip_model::{Http, Memory, Security, Strategy};
use roundtrip_path::Namespace;
use serde::Deserialize;

use super::FaultsError;
use crate::run::installed;

const START_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const HTTP_PORT: u16 = 8080;
const HTTPS_PORT: u16 = 8443;

const NGINX: &str = "\
daemon off;
master_process off;
pid @directory@/nginx.pid;
error_log @directory@/error.log;
events { worker_connections 64; }
http {
    client_body_temp_path @directory@/body;
    proxy_temp_path @directory@/proxy;
    fastcgi_temp_path @directory@/fastcgi;
    uwsgi_temp_path @directory@/uwsgi;
    scgi_temp_path @directory@/scgi;
    access_log off;
    server {
        listen @address@:@http@;
        listen @address@:@https@ ssl http2;
        ssl_certificate @directory@/cert.pem;
        ssl_certificate_key @directory@/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        root @directory@/www;
    }
}
";
const CADDY: &str = "\
{
	admin off
	auto_https off
	storage file_system @directory@/caddy
}
http://:@http@ {
	bind @address@
	root * @directory@/www
	file_server
}
https://@name@:@https@ {
	bind @address@
	tls @directory@/cert.pem @directory@/key.pem
	root * @directory@/www
	file_server
}
";
/// `think` is in ms, and so is `stall`, the pause in the middle of the body.
const NODE: &str = "\
const fs = require('fs'), http = require('http'), https = require('https');
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function answer(request, response) {
  request.resume();
  const url = new URL(request.url, 'http://localhost');
  const of = (name) => Number(url.searchParams.get(name) || 0);
  const body = 'x'.repeat(Number(url.pathname.split('/')[2] || 0));
  if (of('think')) await wait(of('think'));
  response.setHeader('Content-Length', body.length);
  const half = of('stall') ? body.length / 2 : 0;
  if (half) {
    response.write(body.slice(0, half));
    await wait(of('stall'));
  }
  response.end(body.slice(half));
}
const file = (name) => fs.readFileSync('@directory@/' + name);
const tls = { cert: file('cert.pem'), key: file('key.pem') };
http.createServer(answer).listen(@http@, '@address@');
https.createServer(tls, answer).listen(@https@, '@address@');
";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ForeignKind {
    Nginx,
    Caddy,
    Node,
}

impl ForeignKind {
    pub(super) const ALL: [Self; 3] = [Self::Nginx, Self::Caddy, Self::Node];

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Node => "node",
        }
    }

    pub(super) fn is_installed(self) -> bool {
        installed(self.program()).is_some()
    }

    /// Whether a healthy exchange with this server can be made in this way.
    pub(super) fn is_healthy_over(self, strategy: Strategy) -> bool {
        let resumes = strategy.memory == Memory::Resume && self == Self::Nginx;
        let plain = !strategy.fast_open && (strategy.memory == Memory::Cold || resumes);
        let clear = strategy.security == Security::Clear;
        let http = match (strategy.http, self) {
            (Http::H1, Self::Nginx | Self::Caddy | Self::Node) => true,
            (Http::H2, Self::Nginx | Self::Caddy) => !clear,
            _ => false,
        };
        plain && http
    }
}

/// The programs that are missing here.
pub(super) fn not_installed() -> Vec<&'static str> {
    let missing = ForeignKind::ALL
        .into_iter()
        .filter(|kind| !kind.is_installed());
    missing.map(ForeignKind::program).collect()
}

/// A running program, which ends when this is dropped.
pub(super) struct ForeignServer {
    pub(super) http: SocketAddr,
    pub(super) https: SocketAddr,
    pub(super) ca_pem: String,
    process: Child,
    // Removed after the program has ended.
    directory: tempfile::TempDir,
}

impl ForeignServer {
    /// Starts the server at an end of the path, and waits until it listens.
    pub(super) fn start(
        kind: ForeignKind,
        side: &Namespace,
        name: &str,
        place: &str,
    ) -> Result<Self, FaultsError> {
        let failed = |error| FaultsError::Foreign(kind.program(), error);
        let directory = tempfile::tempdir().map_err(failed)?;
        let address = side.address_v4();
        let ca_pem = prepare(kind, directory.path(), address, name, place).map_err(failed)?;
        let program =
            installed(kind.program()).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut command = side.command(program);
        words(kind, &mut command, directory.path());
        let log = fs::File::create(directory.path().join("log")).map_err(failed)?;
        command
            .env("HOME", directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let process = command.spawn().map_err(failed)?;
        let mut server = Self {
            http: (address, HTTP_PORT).into(),
            https: (address, HTTPS_PORT).into(),
            ca_pem,
            process,
            directory,
        };
        server.await_ready(kind, side)?;
        Ok(server)
    }

    fn await_ready(&mut self, kind: ForeignKind, side: &Namespace) -> Result<(), FaultsError> {
        let began = Instant::now();
        let addresses = [self.http, self.https];
        loop {
            let all = addresses;
            let listens = side.run(move || all.iter().all(|at| TcpStream::connect(at).is_ok()))?;
            if listens {
                return Ok(());
            }
            let ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            if ended || began.elapsed() >= START_TIMEOUT {
                let said = fs::read_to_string(self.directory.path().join("log"));
                let said = said
                    .unwrap_or_default()
                    .chars()
                    .take(300)
                    .collect::<String>();
                let error = io::Error::other(format!("it does not listen: {}", said.trim()));
                return Err(FaultsError::Foreign(kind.program(), error));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ForeignServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes the files of the server, and returns the certificate of its authority.
fn prepare(
    kind: ForeignKind,
    directory: &FilePath,
    address: Ipv4Addr,
    name: &str,
    place: &str,
) -> io::Result<String> {
    let write = |file: &str, text: &[u8]| fs::write(directory.join(file), text);
    let own =
        rcgen::generate_simple_self_signed(vec![name.to_owned()]).map_err(io::Error::other)?;
    let certificate = own.cert.pem();
    write("cert.pem", certificate.as_bytes())?;
    write("key.pem", own.signing_key.serialize_pem().as_bytes())?;
    fs::create_dir_all(directory.join("www/bytes"))?;
    let wanted = place.strip_prefix("/bytes/").and_then(|of| of.parse().ok());
    if let Some(size) = wanted {
        write(&format!("www/bytes/{size}"), &vec![b'x'; size])?;
    }
    let configuration = match kind {
        ForeignKind::Nginx => NGINX,
        ForeignKind::Caddy => CADDY,
        ForeignKind::Node => NODE,
    };
    let filled = configuration
        .replace("@directory@", &directory.display().to_string())
        .replace("@address@", &address.to_string())
        .replace("@name@", name)
        .replace("@https@", &HTTPS_PORT.to_string())
        .replace("@http@", &HTTP_PORT.to_string());
    write("configuration", filled.as_bytes())?;
    Ok(certificate)
}

/// The arguments of the server.
fn words(kind: ForeignKind, command: &mut Command, directory: &FilePath) {
    let configuration = directory.join("configuration");
    match kind {
        ForeignKind::Nginx => {
            command
                .arg("-p")
                .arg(directory)
                .arg("-c")
                .arg(configuration);
            command.arg("-e").arg(directory.join("error.log"));
        }
        ForeignKind::Caddy => {
            command
                .args(["run", "--adapter", "caddyfile", "--config"])
                .arg(configuration);
        }
        ForeignKind::Node => {
            command.arg(configuration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_only_in_ways_that_it_has() {
        let over = |kind: ForeignKind, word: &str| kind.is_healthy_over(word.parse().unwrap());
        assert!(over(ForeignKind::Nginx, "h2+tls1.3") && over(ForeignKind::Caddy, "h1+clear"));
        // Caddy of 2022 drops the second datagram of a post-quantum hello.
        assert!(!over(ForeignKind::Caddy, "h3"));
        assert!(over(ForeignKind::Node, "h1+clear") && !over(ForeignKind::Node, "h2+tls1.3"));
        assert!(!over(ForeignKind::Nginx, "h1+tls1.3+0rtt") && !over(ForeignKind::Nginx, "h3"));
    }

    #[test]
    fn the_files_name_their_directory_and_address() {
        let directory = tempfile::tempdir().unwrap();
        let here = Ipv4Addr::new(198, 18, 0, 1);
        for kind in ForeignKind::ALL {
            let pem = prepare(kind, directory.path(), here, "shop.example", "/bytes/7").unwrap();
            assert!(pem.contains("BEGIN CERTIFICATE"));
            let body = fs::read(directory.path().join("www/bytes/7")).unwrap();
            assert_eq!(body, b"xxxxxxx");
            let text = fs::read_to_string(directory.path().join("configuration")).unwrap();
            assert!(
                text.contains("198.18.0.1") && !text.contains("@address@"),
                "{text}"
            );
        }
    }
}
