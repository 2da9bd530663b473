//! Servers of other makes, each in a directory of its own. Node tells what it understood; nginx, Apache and HAProxy pass it
//! on, as they understood it, to an echo that reads strictly.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::skip;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Apache,
    Haproxy,
    Node,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
    _directory: tempfile::TempDir,
}

impl Server {
    /// `None` where it is not installed, which is said.
    pub(crate) fn start(make: Make, echo: SocketAddr) -> Option<Self> {
        let program = make.program();
        if !is_installed(program) {
            skip::lacking(&format!("smuggling past gate to {make:?}"), program);
            return None;
        }
        for _ in 0..5 {
            let directory = tempfile::tempdir().unwrap();
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
            let address = free_address();
            let file = directory.path().join("settings");
            fs::write(&file, make.settings(directory.path(), address, echo)).unwrap();
            let mut command = make.command(directory.path(), &file);
            command.env_clear().env("PATH", PATH).stdin(Stdio::null());
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            if answers(&mut child, address) {
                return Some(Self {
                    address,
                    child,
                    _directory: directory,
                });
            }
        }
        panic!("{make:?} does not start");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Make {
    fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache2",
            Self::Haproxy => "haproxy",
            Self::Node => "node",
        }
    }

    fn command(self, directory: &Path, file: &Path) -> Command {
        let mut command = Command::new(self.program());
        match self {
            Self::Nginx => command
                .arg("-p")
                .arg(directory)
                .arg("-e")
                .arg(directory.join("log"))
                .arg("-c"),
            Self::Apache => {
                command = ordinary(self.program());
                command.arg("-X").arg("-d").arg(directory).arg("-f")
            }
            Self::Haproxy => command.arg("-db").arg("-f"),
            Self::Node => &mut command,
        }
        .arg(file);
        command
    }

    fn settings(self, directory: &Path, at: SocketAddr, echo: SocketAddr) -> String {
        let place = directory.display();
        match self {
            Self::Nginx => {
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|name| format!("{name}_temp_path {place}/{name};\n"))
                    .concat();
                // Nothing is dropped silently: what would be is to be seen.
                format!(
                    "user root;\ndaemon off;\nmaster_process off;\npid {place}/pid;\nevents {{}}\nhttp {{\n{temporary}\
                     access_log off;\nunderscores_in_headers on;\nignore_invalid_headers off;\n\
                     server {{ listen {at}; location / {{\nproxy_pass http://{echo};\nproxy_http_version 1.1;\n\
                     proxy_set_header Host $http_host;\nproxy_set_header Connection \"\";\n}} }}\n}}\n"
                )
            }
            Self::Apache => {
                let modules = ["mpm_event", "authz_core", "proxy", "proxy_http"]
                    .map(|name| {
                        format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
                    })
                    .concat();
                format!(
                    "{modules}ServerName localhost\nPidFile {place}/pid\nErrorLog {place}/log\nDefaultRuntimeDir {place}\n\
                     Mutex pthread\nListen {at}\nAllowEncodedSlashes NoDecode\nMergeSlashes Off\nProxyPreserveHost On\nProxyAddHeaders Off\n\
                     ProxyPass / http://{echo}/ nocanon\n"
                )
            }
            Self::Haproxy => format!(
                "defaults\n mode http\n timeout client 20s\n timeout server 20s\n timeout connect 20s\n\
                 frontend f\n bind {at}\n default_backend b\nbackend b\n server s {echo}\n"
            ),
            Self::Node => NODE.replace("PORT", &at.port().to_string()),
        }
    }
}

/// As `echo.rs` does.
const NODE: &str = r"
const http = require('http');
http.createServer((request, response) => {
    const parts = [];
    const field = (name) => `${name}: ${request.headers[name] ?? ''}\n`;
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
        const names = ['host', 'authorization', 'cookie', 'x-forwarded-for', 'x_forwarded_for', 'x-injected'];
        const body = Buffer.concat(parts).toString('hex');
        response.end(`${request.method} ${request.url}\n` + names.map(field).join('') + `body: ${body}\n`);
    });
}).listen(PORT, '127.0.0.1');
";

/// Apache serves nobody as root.
fn ordinary(program: &str) -> Command {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
    command
}

fn is_installed(program: &str) -> bool {
    PATH.split(':')
        .any(|directory| Path::new(directory).join(program).exists())
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn answers(child: &mut Child, address: SocketAddr) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
