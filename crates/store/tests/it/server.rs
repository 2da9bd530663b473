//! A real redis-server for one test, with its own directory, socket file and free port. It ends
//! with the test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::{Address, Redis, RedisSettings};
use roundtrip_wire::resp::{Decoder, Value, command};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::{skip, until};

pub(crate) struct Server {
    directory: tempfile::TempDir,
    arguments: Vec<String>,
    child: Child,
}

impl Server {
    /// Returns `None`, with a message, if there is no redis-server.
    pub(crate) async fn start(test: &str, arguments: &[&str]) -> Option<Self> {
        Self::start_with(test, None, arguments).await
    }

    /// Starts a sentinel: it writes what it learns into its configuration.
    pub(crate) async fn start_sentinel(test: &str, configuration: &str) -> Option<Self> {
        Self::start_with(test, Some(configuration), &["--sentinel"]).await
    }

    async fn start_with(
        test: &str,
        configuration: Option<&str>,
        arguments: &[&str],
    ) -> Option<Self> {
        let present = Command::new("redis-server").arg("--version").output();
        if !present.is_ok_and(|o| o.status.success()) {
            skip::lacking(test, "redis-server");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        if let Some(configuration) = configuration {
            std::fs::write(directory.path().join("configuration"), configuration).unwrap();
            all.push("configuration".to_owned());
        }
        let common = [
            "--unixsocket",
            "socket",
            "--daemonize",
            "no",
            "--loglevel",
            "warning",
        ];
        // A sentinel must have a port, and saves nothing.
        let usual: &[&str] = match configuration {
            Some(_) => &[],
            None => &["--port", "0", "--save", ""],
        };
        let given = common.iter().chain(usual).chain(arguments);
        all.extend(given.map(ToString::to_string));
        let arguments = all;
        let child = spawn(&directory, &arguments);
        let server = Self {
            directory,
            arguments,
            child,
        };
        server.is_up().await;
        Some(server)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        let mut settings = RedisSettings::new(Address::Unix(self.socket()));
        // A busy machine must not fail the test.
        settings.connect = Duration::from_secs(20);
        settings.answer = Duration::from_secs(20);
        settings
    }

    pub(crate) fn store(&self) -> Redis {
        Redis::new(Arc::new(self.settings()))
    }

    pub(crate) fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(&self.directory, &self.arguments);
        self.is_up().await;
    }

    async fn is_up(&self) {
        until(
            "redis-server answers",
            async || match UnixStream::connect(self.socket()).await {
                Ok(stream) => Client::new(stream).try_ask(&["PING"]).await.is_some(),
                Err(_) => false,
            },
        )
        .await;
    }

    pub(crate) async fn client(&self) -> Client {
        Client::new(UnixStream::connect(self.socket()).await.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(directory: &tempfile::TempDir, arguments: &[String]) -> Child {
    Command::new("redis-server")
        .current_dir(directory.path())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Another client of the same server.
pub(crate) struct Client {
    stream: UnixStream,
    decoder: Decoder,
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            decoder: Decoder::default(),
        }
    }

    pub(crate) async fn ask(&mut self, parts: &[&str]) -> Value {
        let answer = self.try_ask(parts).await.expect("an answer");
        assert!(!matches!(answer, Value::Error(_)), "{parts:?}: {answer:?}");
        answer
    }

    pub(crate) async fn try_ask(&mut self, parts: &[&str]) -> Option<Value> {
        let parts: Vec<&[u8]> = parts.iter().map(|p| p.as_bytes()).collect();
        let mut out = Vec::new();
        command(&parts, &mut out);
        self.stream.write_all(&out).await.ok()?;
        let mut piece = [0; 4096];
        loop {
            if let Some(value) = self.decoder.next_value().ok()? {
                return Some(value);
            }
            match self.stream.read(&mut piece).await {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.decoder.feed(&piece[..n]),
            }
        }
    }
}
