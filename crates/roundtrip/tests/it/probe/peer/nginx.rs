//! nginx as Debian packages it, unprivileged, in a separate directory.

use std::fs;
use std::process::Command;

use super::{Authority, await_pid, await_port, free_port};
use crate::probe::run::{self, Job};

/// The content of its page.
pub(crate) const PAGE: &str = "nginx says hello\n";

pub(crate) struct Nginx {
    pub(crate) http: u16,
    pub(crate) https: u16,
    directory: tempfile::TempDir,
    _job: Job,
}

impl Nginx {
    /// On free ports of the loopback. `more` goes into its server block.
    pub(crate) fn start(more: &str) -> Self {
        for _ in 0..5 {
            let (http, https) = (free_port(), free_port());
            let directory = prepare("127.0.0.1", http, https, "", more);
            let mut job = Job::start(command(&directory, run::command("nginx")));
            if await_port(&mut job, https) {
                return Self {
                    http,
                    https,
                    directory,
                    _job: job,
                };
            }
            eprintln!("nginx: {}", job.finish().err);
        }
        panic!("nginx does not start");
    }

    /// On ports 80 and 443, wherever `command_there` runs. `more` may end the server block and
    /// begin another.
    pub(crate) fn within(command_there: Command, address: &str, listen: &str, more: &str) -> Self {
        let directory = prepare(address, 80, 443, listen, more);
        let mut job = Job::start(command(&directory, run::cleaned(command_there)));
        await_pid(&mut job, &directory.path().join("pid"));
        Self {
            http: 80,
            https: 443,
            directory,
            _job: job,
        }
    }

    pub(crate) fn ca(&self) -> String {
        self.directory.path().join("ca.pem").display().to_string()
    }

    pub(crate) fn http(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.http)
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.https)
    }
}

fn command(directory: &tempfile::TempDir, mut nginx: Command) -> Command {
    let place = directory.path();
    nginx
        .arg("-p")
        .arg(place)
        .arg("-c")
        .arg(place.join("nginx.conf"))
        .arg("-e")
        .arg(place.join("error.log"));
    nginx
}

/// A single process without a master: killing it ends everything, and it does not change users.
/// `root` is the only user in a path's namespaces; nginx ignores the setting, with a note, unless
/// it is root there.
fn prepare(address: &str, http: u16, https: u16, listen: &str, more: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    Authority::issue(&["localhost", "127.0.0.1", "198.18.0.2"]).write(place);
    fs::write(place.join("page"), PAGE).unwrap();
    let at = place.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {at}/{name};\n"))
        .concat();
    let text = format!(
        "user root;\ndaemon off;\nmaster_process off;\npid {at}/pid;\nevents {{ worker_connections 128; }}\n\
         http {{\n{temporary}access_log off;\n\
         server {{\nlisten {address}:{http} {listen};\nlisten {address}:{https} ssl http2 {listen};\n\
         ssl_protocols TLSv1.2 TLSv1.3;\nssl_certificate {at}/chain.pem;\nssl_certificate_key {at}/key.pem;\n\
         root {at};\ndefault_type text/plain;\n\
         location /old {{ return 301 /page; }}\n\
         location /older {{ return 302 /old; }}\n{more}\n}}\n}}\n"
    );
    fs::write(place.join("nginx.conf"), text).unwrap();
    directory
}
