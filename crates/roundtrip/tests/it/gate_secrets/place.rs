//! Where a gate with canaries runs: its files, its Redis, its backend, and all its output.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use tempfile::TempDir;

use crate::gate_secrets::canaries::Canaries;
use crate::process::{Process, TIMEOUT, await_some, eventually};
use crate::servers::{answering, ok};

pub(crate) struct Place {
    // Ended before its folder is removed.
    redis: Mutex<Process>,
    folder: TempDir,
    password: String,
}

pub(crate) struct Said(Output);

impl Said {
    #[track_caller]
    pub(crate) fn free_of(&self, canaries: &Canaries) {
        let Output { stdout, stderr, .. } = &self.0;
        assert!(!stdout.is_empty() || !stderr.is_empty());
        canaries.are_not_in("standard output", stdout);
        canaries.are_not_in("standard error", stderr);
    }
}

impl Place {
    /// `None` if there is no redis-server.
    pub(crate) fn new(canaries: &Canaries) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let settings = format!(
            "port 0\nunixsocket socket\nsave \"\"\nrequirepass {}\n",
            canaries.redis
        );
        fs::write(folder.path().join("redis.conf"), settings).unwrap();
        let redis = Command::new("redis-server")
            .arg("redis.conf")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let place = Self {
            folder,
            redis: Mutex::new(Process(redis)),
            password: canaries.redis.clone(),
        };
        await_some("redis-server", || {
            UnixStream::connect(place.path("socket")).ok()
        });
        place.secret("signing.key", &canaries.signing);
        place.secret("seal.key", &canaries.seal);
        place.secret("redis.password", &canaries.redis);
        Some(place)
    }

    pub(crate) fn config(&self, backend: &str, nobody: &str) -> String {
        let at = |name: &str| self.path(name).display().to_string();
        format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nhttps = [\"127.0.0.1:0\"]\n[log]\naccess = \"stdout\"\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n\
             [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"unix:{}\"\npassword = {{ file = \"{}\" }}\n\
             [[session.seal]]\nid = \"k\"\nfrom = {{ file = \"{}\" }}\n\
             [upstream.b]\nservers = [\"{backend}\"]\n[upstream.dead]\nservers = [\"{nobody}\"]\n\
             [[route]]\nhost = \"a\"\nupstream = \"b\"\nserver_timing = true\n[[route]]\nhost = \"a\"\npath = \"/dead\"\nupstream = \"dead\"\n",
            at("signing.key"),
            at("socket"),
            at("redis.password"),
            at("seal.key"),
        )
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn secret(&self, name: &str, text: &str) -> String {
        let path = self.write(name, text);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    fn command(&self, arguments: &[&str], file: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        command
            .arg("gate")
            .args(arguments)
            .args(["--config", file])
            .env("RUST_BACKTRACE", "full")
            .env("RUST_LOG", "trace")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn gate(&self, arguments: &[&str], file: &str) -> Said {
        Said(self.command(arguments, file).output().unwrap())
    }

    pub(crate) fn put(&self, file: &str, canaries: &Canaries) -> Said {
        let mut put = self.command(
            &["session", "put", "--credentials-env", "LOGIN", "alias"],
            file,
        );
        let login = format!("user:{}", canaries.password);
        let put = put.env("LOGIN", &login).output().unwrap();
        assert!(put.status.success(), "{put:?}");
        // The secret name is imported.
        let mut import = self.command(&["session", "import", "-"], file);
        let mut import = import
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let coded = "dXNlcjpjYW5hcnktcGFzc3dvcmQtbm9ib2R5LW1heS1zYXktdGhpcw==";
        let line = format!(
            "{{\"sid\":\"{}\",\"credentials\":\"{coded}\"}}\n{}\n",
            canaries.sid, canaries.password
        );
        import
            .stdin
            .take()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        let import = import.wait_with_output().unwrap();
        assert!(
            String::from_utf8_lossy(&import.stderr).contains("1 stored"),
            "{import:?}"
        );
        Said(import)
    }

    /// The header field that carries it.
    pub(crate) fn token(&self, file: &str, sid: &str, worn: &str) -> String {
        let written = self
            .gate(&["token", "--sub", "u", "--sid", sid, worn], file)
            .0;
        assert!(written.status.success(), "{written:?}");
        String::from_utf8(written.stdout).unwrap().trim().to_owned() + "\r\n"
    }

    pub(crate) fn redis(&self, parts: &[&str]) {
        let mut stream = UnixStream::connect(self.path("socket")).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        for parts in [&["AUTH", &self.password], parts] {
            stream
                .write_all((parts.join(" ") + "\r\n").as_bytes())
                .unwrap();
            let mut answer = [0; 64];
            let n = stream.read(&mut answer).unwrap();
            assert!(answer[..n].starts_with(b"+OK"));
        }
    }

    pub(crate) fn stop_redis(&self) {
        let mut redis = self.redis.lock().unwrap();
        redis.0.kill().unwrap();
        redis.0.wait().unwrap();
    }
}

/// A gate that writes all its output into files.
pub(crate) struct Running {
    pub(crate) process: Process,
    out: PathBuf,
    err: PathBuf,
    pub(crate) http: String,
    pub(crate) https: String,
    pub(crate) admin: String,
}

impl Running {
    pub(crate) fn start(place: &Place, file: &str) -> Self {
        let (out, err) = (place.path("out"), place.path("err"));
        let spawned = place
            .command(&["run", "--log", "debug"], file)
            .stdout(fs::File::create(&out).unwrap())
            .stderr(fs::File::create(&err).unwrap())
            .spawn();
        let mut gate = Self {
            process: Process(spawned.unwrap()),
            out,
            err,
            http: String::new(),
            https: String::new(),
            admin: String::new(),
        };
        gate.says(5, "");
        let introduction = gate.read();
        let mut urls = introduction.match_indices("127.0.0.1:").map(|(at, _)| {
            let end =
                introduction[at..].find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
            introduction[at..][..end.unwrap()].to_owned()
        });
        (gate.http, gate.https) = (urls.next().unwrap(), urls.next().unwrap());
        gate.admin = urls.last().unwrap();
        gate
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    /// Waits for this many lines that begin like this.
    pub(crate) fn says(&self, times: usize, beginning: &str) {
        let said = eventually(|| {
            let said = self.read();
            let lines = said.lines().filter(|line| line.starts_with(beginning));
            (lines.count() >= times).then_some(())
        });
        assert!(said.is_some(), "{times}: {}", self.read());
    }

    pub(crate) fn command_line(&self) -> Vec<u8> {
        fs::read(format!("/proc/{}/cmdline", self.process.id())).unwrap()
    }

    /// Waits for its end and returns all that it wrote.
    pub(crate) fn end(mut self) -> (String, String) {
        assert!(self.process.0.wait().unwrap().success());
        (fs::read_to_string(&self.out).unwrap(), self.read())
    }
}

/// It answers each request without repeating any of it.
pub(crate) fn backend() -> String {
    format!("http://{}", answering(|_, _| ok("right")))
}

/// The whole answer to a request, whose head may be anything.
pub(crate) fn ask(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = format!("{head}Connection: close\r\n\r\n{body}");
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    // A reset also ends it.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
