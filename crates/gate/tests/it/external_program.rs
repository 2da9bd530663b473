//! Other implementations' servers and proxies: each gets a free port and an empty directory, and
//! ends with its test.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::skip;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A JVM on a busy machine is slow to start.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Another program may take the free port first.
const MAX_TRIES: usize = 5;

pub(crate) struct ExternalProgram {
    pub(crate) address: SocketAddr,
    child: Child,
    _directory: tempfile::TempDir,
}

impl ExternalProgram {
    /// Starts the command that `prepare` makes for a directory and an address, and waits until it
    /// listens there. `None`, with a note for `test`, if one of the `needed` files is not
    /// installed.
    pub(crate) fn start(
        test: &str,
        needed: &[&str],
        prepare: impl Fn(&Path, SocketAddr) -> Command,
    ) -> Option<Self> {
        if let Some(missing) = needed.iter().find(|file| !is_installed(file)) {
            skip::lacking(test, missing);
            return None;
        }
        for _ in 0..MAX_TRIES {
            let directory = tempfile::tempdir().unwrap();
            let address = free_address();
            let mut command = prepare(directory.path(), address);
            open_to_all(directory.path());
            command.env_clear().env("PATH", PATH).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut external_program = Self {
                address,
                child: command.spawn().unwrap(),
                _directory: directory,
            };
            if external_program.listens() {
                return Some(external_program);
            }
        }
        panic!("{test}: {needed:?} does not start");
    }

    fn listens(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < START_TIMEOUT {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for ExternalProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nginx with its files in the directory, and its configuration in `file`.
pub(crate) fn nginx(directory: &Path, file: &Path) -> Command {
    let mut command = Command::new("nginx");
    command.arg("-p").arg(directory);
    command.arg("-e").arg(directory.join("log"));
    command.arg("-c").arg(file);
    command
}

/// The beginning of nginx's configuration, up to the inside of `http`.
pub(crate) fn nginx_head(directory: &Path) -> String {
    let place = directory.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {place}/{name};\n"))
        .concat();
    format!(
        "user root;\ndaemon off;\nmaster_process off;\npid {place}/pid;\nevents {{}}\nhttp {{\n{temporary}\
         access_log off;\n"
    )
}

/// Apache with its files in the directory, and its configuration in `file`.
pub(crate) fn apache(directory: &Path, file: &Path) -> Command {
    let mut command = ordinary("apache2");
    command.arg("-X").arg("-d").arg(directory);
    command.arg("-f").arg(file);
    command
}

/// The beginning of Apache's configuration.
pub(crate) fn apache_head(directory: &Path, modules: &[&str]) -> String {
    let place = directory.display();
    let load =
        |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules: String = modules.iter().map(load).collect();
    format!(
        "{modules}ServerName localhost\nPidFile {place}/pid\nErrorLog {place}/log\nDefaultRuntimeDir {place}\n\
         Mutex pthread\n"
    )
}

/// Some programs do not run as root.
pub(crate) fn ordinary(program: &str) -> Command {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
    command
}

fn is_installed(file: &str) -> bool {
    PATH.split(':')
        .any(|directory| Path::new(directory).join(file).exists())
}

/// An address where nothing listens yet.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Lets every user read, and write logs.
fn open_to_all(place: &Path) {
    fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    if place.is_dir() {
        for entry in fs::read_dir(place).unwrap() {
            open_to_all(&entry.unwrap().path());
        }
    }
}
