//! Other implementations' servers, each in its own directory. Node reports what it understood;
//! nginx, Apache and HAProxy forward what they understood to an echo server that reads strictly.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::external_program::{self, ExternalProgram};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Apache,
    Haproxy,
    Node,
}

impl Make {
    /// `None`, with a note, if it is not installed.
    pub(crate) fn start(self, echo: SocketAddr) -> Option<ExternalProgram> {
        let test = format!("smuggling past gate to {self:?}");
        ExternalProgram::start(&test, &[self.program()], |directory, at| {
            let file = directory.join("settings");
            fs::write(&file, self.settings(directory, at, echo)).unwrap();
            self.command(directory, &file)
        })
    }

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
            Self::Nginx => return external_program::nginx(directory, file),
            Self::Apache => return external_program::apache(directory, file),
            Self::Haproxy => command.arg("-db").arg("-f").arg(file),
            Self::Node => command.arg(file),
        };
        command
    }

    fn settings(self, directory: &Path, at: SocketAddr, echo: SocketAddr) -> String {
        match self {
            // nginx must not drop fields silently.
            Self::Nginx => format!(
                "{}underscores_in_headers on;\nignore_invalid_headers off;\n\
                 server {{ listen {at}; location / {{\nproxy_pass http://{echo};\nproxy_http_version 1.1;\n\
                 proxy_set_header Host $http_host;\nproxy_set_header Connection \"\";\n}} }}\n}}\n",
                external_program::nginx_head(directory)
            ),
            Self::Apache => format!(
                "{}Listen {at}\nAllowEncodedSlashes NoDecode\nMergeSlashes Off\nProxyPreserveHost On\nProxyAddHeaders Off\n\
                 ProxyPass / http://{echo}/ nocanon\n",
                external_program::apache_head(
                    directory,
                    &["mpm_event", "authz_core", "proxy", "proxy_http"]
                )
            ),
            Self::Haproxy => format!(
                "defaults\n mode http\n timeout client 20s\n timeout server 20s\n timeout connect 20s\n\
                 frontend f\n bind {at}\n default_backend b\nbackend b\n server s {echo}\n"
            ),
            Self::Node => NODE.replace("PORT", &at.port().to_string()),
        }
    }
}

/// A server in Node that does the same as `echo.rs`.
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
