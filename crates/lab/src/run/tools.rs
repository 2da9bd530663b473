//! Finds the programs that arms need, or builds them from our sources, and reports missing ones.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::scene::{SampleError, last_words};
use crate::Stop;
use crate::experiment::{ArmClient, Cell, Experiment, LabServer, ServerKind, shipped};

/// The Debian packages of programs whose names differ.
const PACKAGES: [(&str, &str); 6] = [
    ("ab", "apache2-utils"),
    ("redis-cli", "redis-tools"),
    ("go", "golang-go"),
    ("nginx", "nginx-light"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
];

/// The name of the running program, regardless of where it is installed.
const OURSELVES: &str = "roundtrip";

/// Directories of daemons, which an ordinary user's PATH does not contain.
const DAEMON_DIRECTORIES: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// A program without a package: `bench/gate` builds it in the cache directory.
const ANCESTOR: &str = "hyper-auth-proxy";
const BUILT: &str = "roundtrip/bench/bin";

/// The prefix of a Python module among a server's needs.
const PYTHON: &str = "python:";

/// The environment variables that a program keeps: no proxy, no trusted certificates, no language.
const KEPT_VARIABLES: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{program} is not installed ({how})")]
pub(super) struct MissingToolError {
    program: String,
    how: String,
}

impl MissingToolError {
    /// An engine of `perf` that this program was built without.
    pub(super) fn engine(name: &str) -> Self {
        Self {
            program: format!("the engine {name}"),
            how: "build roundtrip with --features peers".to_owned(),
        }
    }
}

/// Programs by name, as far as they were looked for.
#[derive(Debug, Default)]
pub(super) struct Tools {
    clients: BTreeMap<String, Vec<OsString>>,
    /// A temporary directory for the built programs, if there is no cache directory.
    directory: Option<tempfile::TempDir>,
}

impl Tools {
    /// Finds or builds the programs that a cell needs.
    pub(super) fn needed(
        &mut self,
        experiment: &Experiment,
        cell: &Cell,
        stop: &Stop,
    ) -> Result<(), SampleError> {
        self.needed_by(&cell.arm.server, experiment)?;
        if let ArmClient::Program(program) = &cell.arm.client
            && !self.clients.contains_key(&program.name)
        {
            let words = self.make(experiment, &program.name, stop)?;
            self.clients.insert(program.name.clone(), words);
        }
        Ok(())
    }

    /// Finds or builds the programs that a server and its dependencies need.
    fn needed_by(
        &mut self,
        server: &LabServer,
        experiment: &Experiment,
    ) -> Result<(), SampleError> {
        for other in &server.beside {
            self.needed_by(other, experiment)?;
        }
        if let Some(far) = &server.far {
            self.needed_by(&far.server, experiment)?;
        }
        let ServerKind::Program { needs, .. } = &server.kind else {
            return Ok(());
        };
        let modules: Vec<&str> = needs
            .iter()
            .filter_map(|n| n.strip_prefix(PYTHON))
            .collect();
        for program in needs.iter().filter(|need| !need.starts_with(PYTHON)) {
            if !is_python(program) {
                self.place(program)?;
            } else if !self.clients.contains_key(program) {
                let words = self.script(&self.python(&modules)?, experiment, program)?;
                self.clients.insert(program.clone(), words);
            }
        }
        Ok(())
    }

    /// A Python that has all the modules; several may be installed, with different modules.
    fn python(&self, modules: &[&str]) -> Result<PathBuf, MissingToolError> {
        let mut missed = missing("python3");
        let candidates = [self.place("python3").ok(), Some("/usr/bin/python3".into())];
        for python in candidates
            .into_iter()
            .flatten()
            .filter(|file| is_program(file))
        {
            let has = |module: &&&str| {
                let mut command = Command::new(&python);
                self.surround(&mut command);
                command.args(["-c", &format!("import {module}")]);
                let silent = command.stdin(Stdio::null()).stdout(Stdio::null());
                let status = silent.stderr(Stdio::null()).status();
                status.is_ok_and(|status| status.success())
            };
            match modules.iter().find(|module| !has(module)) {
                None => return Ok(python),
                Some(module) => {
                    missed = MissingToolError {
                        program: format!("Python's {module}"),
                        how: format!("apt-get install python3-{module}"),
                    }
                }
            }
        }
        Err(missed)
    }

    fn script(
        &mut self,
        python: &Path,
        experiment: &Experiment,
        name: &str,
    ) -> Result<Vec<OsString>, SampleError> {
        let source = source(experiment, name)?;
        let file = self.cache()?.join(keyed(name, &source));
        write(&file, &source)?;
        Ok(vec![python.into(), file.into()])
    }

    /// The first words of a server's command line.
    pub(super) fn server(&self, name: &str) -> Result<Vec<OsString>, SampleError> {
        if is_python(name) {
            return self.client(name);
        }
        Ok(vec![self.place(name)?.into()])
    }

    /// The first words of a client's command line.
    pub(super) fn client(&self, name: &str) -> Result<Vec<OsString>, SampleError> {
        let known = self.clients.get(name).cloned();
        Ok(known.ok_or_else(|| missing(name))?)
    }

    #[allow(clippy::unused_self)]
    pub(super) fn place(&self, program: &str) -> Result<PathBuf, MissingToolError> {
        if program.contains('/') {
            return Ok(program.into());
        }
        installed(program).ok_or_else(|| missing(program))
    }

    /// The environment of every program: small, and always the same.
    #[allow(clippy::unused_self)]
    pub(super) fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", search_path())
            .env("LC_ALL", "C");
        for name in KEPT_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }

    fn make(
        &mut self,
        experiment: &Experiment,
        name: &str,
        stop: &Stop,
    ) -> Result<Vec<OsString>, SampleError> {
        match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("go") => {
                let go = self.place("go")?;
                let source = source(experiment, name)?;
                Ok(vec![self.build(&go, name, &source, stop)?.into()])
            }
            Some("py") => {
                let python = self.place("python3")?;
                self.script(&python, experiment, name)
            }
            _ if name == OURSELVES => {
                let ourselves = std::env::current_exe();
                Ok(vec![ourselves.map_err(failed(Path::new(name)))?.into()])
            }
            _ => Ok(vec![self.place(name)?.into()]),
        }
    }

    /// Builds a program, unless it was already built from the same source.
    fn build(
        &mut self,
        go: &Path,
        name: &str,
        source: &str,
        stop: &Stop,
    ) -> Result<PathBuf, SampleError> {
        let cache = self.cache()?;
        let key = keyed(name, source);
        let program = cache.join(key.trim_end_matches(".go"));
        if is_program(&program) {
            return Ok(program);
        }
        let work = tempfile::tempdir_in(&cache).map_err(failed(&cache))?;
        let file = work.path().join(name);
        write(&file, source)?;
        let (made, log) = (work.path().join("program"), work.path().join("log"));
        let mut command = Command::new(go);
        self.surround(&mut command);
        // The standard library is enough: nothing is downloaded.
        command
            .args(["build", "-o"])
            .args([&made, &file])
            .env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("CGO_ENABLED", "0")
            .current_dir(work.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).map_err(failed(&log))?);
        if std::env::var_os("HOME").is_none() {
            command.env("GOCACHE", cache.join("go-build"));
        }
        let status = command.status().map_err(failed(go))?;
        if stop.is_set() {
            return Err(SampleError::Stopped);
        }
        if !status.success() {
            return Err(SampleError::Ended(
                "go build".into(),
                status,
                last_words(&log),
            ));
        }
        // The rename is atomic, even if another process builds the same program.
        fs::rename(&made, &program).map_err(failed(&program))?;
        Ok(program)
    }

    /// The cache directory, or a temporary one.
    fn cache(&mut self) -> Result<PathBuf, SampleError> {
        let lasting = lasting_cache()
            .map(|cache| cache.join("roundtrip"))
            .filter(|cache| {
                fs::create_dir_all(cache).is_ok() && tempfile::tempfile_in(cache).is_ok()
            });
        if let Some(lasting) = lasting {
            return Ok(lasting);
        }
        if self.directory.is_none() {
            let made = tempfile::tempdir();
            self.directory = Some(made.map_err(failed(&std::env::temp_dir()))?);
        }
        let directory = self.directory.as_ref().map(|d| d.path().to_owned());
        Ok(directory.unwrap_or_else(std::env::temp_dir))
    }
}

/// The file of a program that can be run by its name.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path())
        .map(|directory| directory.join(program))
        .find(|file| is_program(file))
}

fn search_path() -> OsString {
    let mut path =
        std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    path.push(":");
    path.push(DAEMON_DIRECTORIES);
    if let Some(cache) = lasting_cache() {
        path.push(":");
        path.push(cache.join(BUILT));
    }
    path
}

fn is_python(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "py")
}

fn lasting_cache() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or(home);
    cache.filter(|cache| cache.is_absolute())
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|f| f.is_file() && f.permissions().mode() & 0o111 != 0)
}

fn missing(program: &str) -> MissingToolError {
    let other = PACKAGES.iter().find(|(name, _)| *name == program);
    let package = other.map_or(program, |(_, package)| package);
    let how = if program == ANCESTOR {
        "bench/gate builds it".into()
    } else {
        format!("apt-get install {package}")
    };
    MissingToolError {
        program: program.to_owned(),
        how,
    }
}

/// The source beside the experiment's file, or a built-in one.
fn source(experiment: &Experiment, name: &str) -> Result<String, SampleError> {
    if let Some(directory) = &experiment.directory {
        let file = directory.join(name);
        if file.exists() {
            return fs::read_to_string(&file).map_err(failed(&file));
        }
    }
    let known = shipped(name).map(str::to_owned);
    known.ok_or_else(|| {
        let absent = std::io::ErrorKind::NotFound.into();
        SampleError::Io(
            format!("{name} is neither in the experiment's directory nor a built-in client"),
            absent,
        )
    })
}

/// Makes the name of a build: `lookups.go` becomes `lookups-0123456789abcdef.go`, so that a changed
/// source has another name.
fn keyed(name: &str, source: &str) -> String {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let name = Path::new(name)
        .file_name()
        .map_or(name.into(), |n| n.to_string_lossy());
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    format!("{stem}-{:016x}.{extension}", hasher.finish())
}

fn write(file: &Path, text: &str) -> Result<(), SampleError> {
    fs::write(file, text).map_err(failed(file))
}

fn failed(what: &Path) -> impl FnOnce(std::io::Error) -> SampleError {
    let what = what.display().to_string();
    move |error| SampleError::Io(what, error)
}
