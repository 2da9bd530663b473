//! Apache as Debian packages it, unprivileged, in a separate directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::{Authority, await_pid, await_port, free_port};
use crate::probe::run::{self, Job};

const MODULES: &str = "/usr/lib/apache2/modules";

pub(crate) struct Apache {
    pub(crate) http: u16,
    pub(crate) https: u16,
    directory: tempfile::TempDir,
    _job: Job,
}

impl Apache {
    /// On free ports of the loopback. `more` goes into its configuration.
    pub(crate) fn start(more: &str) -> Self {
        for _ in 0..5 {
            let (http, https) = (free_port(), free_port());
            let directory = prepare("127.0.0.1", http, https, more);
            let mut job = Job::start(command(&directory, nobody("apache2")));
            if await_port(&mut job, https) {
                return Self {
                    http,
                    https,
                    directory,
                    _job: job,
                };
            }
            eprintln!("apache2: {}", job.finish().err);
        }
        panic!("apache2 does not start");
    }

    /// On these ports, wherever the command for `program` runs.
    pub(crate) fn within(
        there: impl FnOnce(&str) -> Command,
        address: &str,
        (http, https): (u16, u16),
        more: &str,
    ) -> Self {
        let directory = prepare(address, http, https, more);
        // Apache does not serve as root, and a namespace with only root has no other user: it gets
        // one here.
        let mut unshare = there("unshare");
        unshare.args(["--user", "--map-user=33", "--map-group=33", "apache2"]);
        let mut job = Job::start(command(&directory, run::cleaned(unshare)));
        await_pid(&mut job, &directory.path().join("pid"));
        Self {
            http,
            https,
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

/// Runs the program as an ordinary user, even if root runs the test.
fn nobody(program: &str) -> Command {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return run::command(program);
    }
    let mut command = run::command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
    command
}

fn command(directory: &tempfile::TempDir, mut apache: Command) -> Command {
    apache
        .arg("-X")
        .arg("-d")
        .arg(directory.path())
        .arg("-f")
        .arg(directory.path().join("apache.conf"));
    apache
}

fn prepare(address: &str, http: u16, https: u16, more: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    // The server's user must be able to write its logs and read its key.
    fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    Authority::issue(&["localhost", "127.0.0.1", "198.18.0.2"]).write(place);
    fs::create_dir(place.join("www")).unwrap();
    let page = place.join("www/page");
    fs::write(&page, "Apache says hello\n").unwrap();
    // If a file is younger than a second, its ETag is weak, and the head two bytes longer.
    let page = fs::File::options().append(true).open(page).unwrap();
    page.set_modified(SystemTime::now() - Duration::from_mins(1))
        .unwrap();
    let at = place.display();
    let modules = [
        "mpm_event",
        "authz_core",
        "alias",
        "socache_shmcb",
        "ssl",
        "http2",
        "mime",
    ]
    .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
    .concat();
    let text = format!(
        "{modules}ServerName localhost\nPidFile {at}/pid\nErrorLog {at}/error.log\nDefaultRuntimeDir {at}\n\
         Mutex pthread\nTypesConfig /etc/mime.types\n\
         DocumentRoot {at}/www\nForceType text/plain\nRedirect 301 /old /page\nSSLSessionCache shmcb:{at}/cache(65536)\n\
         Listen {address}:{http}\nListen {address}:{https}\nProtocols h2 h2c http/1.1\n{more}\n\
         <VirtualHost {address}:{https}>\nSSLEngine on\nSSLCertificateFile {at}/chain.pem\n\
         SSLCertificateKeyFile {at}/key.pem\n</VirtualHost>\n"
    );
    fs::write(place.join("apache.conf"), text).unwrap();
    directory
}
