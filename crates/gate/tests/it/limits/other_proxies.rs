//! nginx and HAProxy in front of the same backend, with as many connections to it as gate has,
//! configured to buffer request bodies.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::external_program::{self, ExternalProgram};
use crate::limits::CONNECTIONS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Haproxy,
}

impl Make {
    /// `None`, with a note, if it is not installed.
    pub(crate) fn start(self, backend: SocketAddr) -> Option<ExternalProgram> {
        let program = match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        };
        ExternalProgram::start(
            "what is scarce, beside others",
            &[program],
            |directory, at| {
                let file = directory.join("settings");
                let (settings, command) = match self {
                    Self::Nginx => {
                        let command = external_program::nginx(directory, &file);
                        (nginx(directory, at, backend), command)
                    }
                    Self::Haproxy => {
                        let mut command = Command::new(program);
                        command.arg("-db").arg("-f").arg(&file);
                        (haproxy(at, backend), command)
                    }
                };
                fs::write(&file, settings).unwrap();
                command
            },
        )
    }
}

fn nginx(directory: &Path, at: SocketAddr, backend: SocketAddr) -> String {
    let head = external_program::nginx_head(directory);
    format!(
        "{head}upstream b {{ server {backend} max_conns={CONNECTIONS}; keepalive {CONNECTIONS}; }}\n\
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
