//! nginx and HAProxy before the same backend, with as many connections to it as gate has, and set up to wait for bodies.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::limits::{CONNECTIONS, soon};
use crate::skip;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Haproxy,
}

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    child: Child,
    _directory: tempfile::TempDir,
}

impl Peer {
    /// `None` where it is not installed, which is said.
    pub(crate) fn start(make: Make, backend: SocketAddr) -> Option<Self> {
        let program = match make {
            Make::Nginx => "nginx",
            Make::Haproxy => "haproxy",
        };
        if !PATH
            .split(':')
            .any(|at| Path::new(at).join(program).exists())
        {
            skip::lacking("what is scarce, beside others", program);
            return None;
        }
        for _ in 0..5 {
            let directory = tempfile::tempdir().unwrap();
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
            let address = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap();
            let file = directory.path().join("settings");
            let mut command = Command::new(program);
            let settings = match make {
                Make::Nginx => {
                    command
                        .arg("-p")
                        .arg(directory.path())
                        .arg("-e")
                        .arg(directory.path().join("log"))
                        .arg("-c");
                    nginx(directory.path(), address, backend)
                }
                Make::Haproxy => {
                    command.arg("-db").arg("-f");
                    haproxy(address, backend)
                }
            };
            fs::write(&file, settings).unwrap();
            command.arg(file).env_clear().env("PATH", PATH);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let mut ended = false;
            let up = soon(|| {
                ended = child.try_wait().unwrap().is_some();
                ended || TcpStream::connect(address).is_ok()
            });
            let peer = Self {
                address,
                child,
                _directory: directory,
            };
            if up && !ended {
                return Some(peer);
            }
        }
        panic!("{make:?} does not start");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nginx(place: &Path, at: SocketAddr, backend: SocketAddr) -> String {
    let place = place.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {place}/{name};\n"))
        .concat();
    format!(
        "user root;\ndaemon off;\nmaster_process off;\npid {place}/pid;\nevents {{}}\nhttp {{\n{temporary}\
         access_log off;\nupstream b {{ server {backend} max_conns={CONNECTIONS}; keepalive {CONNECTIONS}; }}\n\
         server {{ listen {at} backlog=1024; client_max_body_size 16m; location / {{\nproxy_pass http://b;\n\
         proxy_http_version 1.1;\nproxy_set_header Connection \"\";\nproxy_request_buffering on;\n}} }}\n}}\n"
    )
}

fn haproxy(at: SocketAddr, backend: SocketAddr) -> String {
    format!(
        "defaults\n mode http\n timeout client 60s\n timeout server 60s\n timeout connect 20s\n timeout queue 2s\n\
         timeout http-request 60s\n option http-buffer-request\n option abortonclose\n\
         frontend f\n bind {at}\n default_backend b\nbackend b\n server s {backend} maxconn {CONNECTIONS}\n"
    )
}
