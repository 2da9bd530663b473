//! Other implementations' servers, each with protected and open content in its own directory: below
//! `/guarded`, and as the virtual host `secret.example`. None of them asks for a password; that is
//! gate's task.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::external_program::{self, ExternalProgram, ordinary};
use crate::readings::{MARKER, OPEN};

const TOMCAT: &str = "/usr/share/tomcat10";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Apache,
    Tomcat,
    /// `http`, and paths by `new URL`.
    Node,
    /// Routes as Express does: case does not matter, and the matched part is decoded once.
    Express,
}

impl Make {
    /// `None`, with a note, if it is not installed.
    pub(crate) fn start(self) -> Option<ExternalProgram> {
        let test = format!("other spellings before {self:?}");
        ExternalProgram::start(&test, self.needs(), |directory, at| {
            self.prepare(directory, at);
            self.command(directory)
        })
    }

    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Nginx => &["nginx"],
            Self::Apache => &["apache2"],
            Self::Tomcat => &["java", "/usr/share/tomcat10/bin/bootstrap.jar"],
            Self::Node | Self::Express => &["node"],
        }
    }

    /// Files to serve, and the configuration.
    fn prepare(self, directory: &Path, at: SocketAddr) {
        let [root, secret] = match self {
            Self::Tomcat => ["webapps/ROOT", "secret/ROOT"],
            _ => ["root", "secret"],
        };
        for folder in [root, secret, "conf", "logs", "temp"] {
            fs::create_dir_all(directory.join(folder)).unwrap();
        }
        for folder in ["guarded", "open", "public"] {
            let text = if folder == "guarded" { MARKER } else { OPEN };
            let folder = directory.join(root).join(folder);
            fs::create_dir(&folder).unwrap();
            for file in ["page.txt", "index.html"] {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        fs::write(directory.join(root).join("index.html"), OPEN).unwrap();
        fs::write(directory.join(secret).join("index.html"), MARKER).unwrap();
        for (name, text) in self.settings(directory, at) {
            fs::write(directory.join(name), text).unwrap();
        }
    }

    fn settings(self, directory: &Path, at: SocketAddr) -> Vec<(&'static str, String)> {
        match self {
            Self::Nginx => vec![("conf/settings", nginx(directory, at))],
            Self::Apache => vec![("conf/settings", apache(directory, at))],
            Self::Tomcat => vec![
                ("conf/server.xml", tomcat(at)),
                ("conf/web.xml", WEB_XML.into()),
            ],
            Self::Node | Self::Express => {
                let reader = if self == Self::Node { "url" } else { "express" };
                let program = NODE
                    .replace("PORT", &at.port().to_string())
                    .replace("READER", reader)
                    .replace("MARKER", MARKER)
                    .replace("OPEN", OPEN);
                vec![("conf/settings", program)]
            }
        }
    }

    fn command(self, directory: &Path) -> Command {
        let file = directory.join("conf/settings");
        match self {
            Self::Nginx => external_program::nginx(directory, &file),
            Self::Apache => external_program::apache(directory, &file),
            Self::Tomcat => {
                let mut command = ordinary("java");
                let jars = format!("{TOMCAT}/bin/bootstrap.jar:{TOMCAT}/bin/tomcat-juli.jar");
                let temporary = directory.join("temp");
                command
                    .args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", &jars])
                    .arg(format!("-Dcatalina.home={TOMCAT}"))
                    .arg(format!("-Dcatalina.base={}", directory.display()))
                    .arg(format!("-Djava.io.tmpdir={}", temporary.display()))
                    .args(["org.apache.catalina.startup.Bootstrap", "start"])
                    .current_dir(directory);
                command
            }
            Self::Node | Self::Express => {
                let mut command = Command::new("node");
                command.arg(file);
                command
            }
        }
    }
}

/// Everything below `/guarded` is protected, whether there is such a file or not.
fn nginx(directory: &Path, at: SocketAddr) -> String {
    let (head, place) = (external_program::nginx_head(directory), directory.display());
    format!(
        "{head}keepalive_requests 100000;\n\
         server {{ listen {at} default_server; server_name _; root {place}/root;\n\
         location = /guarded {{ return 200 \"{MARKER}\"; }}\nlocation /guarded/ {{ return 200 \"{MARKER}\"; }}\n}}\n\
         server {{ listen {at}; server_name secret.example; root {place}/secret; }}\n}}\n"
    )
}

fn apache(directory: &Path, at: SocketAddr) -> String {
    let head = external_program::apache_head(directory, &["mpm_event", "authz_core", "dir"]);
    let place = directory.display();
    format!(
        "{head}Listen {at}\nMaxKeepAliveRequests 0\nAllowEncodedSlashes On\nDirectoryIndex index.html\n\
         <Directory {place}/root/guarded>\nFallbackResource /guarded/page.txt\n</Directory>\n\
         <VirtualHost {at}>\nServerName open.example\nDocumentRoot {place}/root\n</VirtualHost>\n\
         <VirtualHost {at}>\nServerName secret.example\nDocumentRoot {place}/secret\n</VirtualHost>\n"
    )
}

fn tomcat(at: SocketAddr) -> String {
    let host = |name: &str, base: &str| {
        format!(
            "<Host name=\"{name}\" appBase=\"{base}\" unpackWARs=\"false\" autoDeploy=\"false\"/>"
        )
    };
    format!(
        "<Server port=\"-1\"><Service name=\"Catalina\">\
         <Connector port=\"{}\" address=\"127.0.0.1\" protocol=\"HTTP/1.1\" maxKeepAliveRequests=\"-1\"/>\
         <Engine name=\"Catalina\" defaultHost=\"localhost\">{}{}</Engine></Service></Server>\n",
        at.port(),
        host("localhost", "webapps"),
        host("secret.example", "secret"),
    )
}

const WEB_XML: &str = r#"<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
<servlet><servlet-name>default</servlet-name>
<servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class><load-on-startup>1</load-on-startup></servlet>
<servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>
<mime-mapping><extension>txt</extension><mime-type>text/plain</mime-type></mime-mapping>
<welcome-file-list><welcome-file>index.html</welcome-file></welcome-file-list>
</web-app>
"#;

const NODE: &str = r"
const http = require('http');
const isBelow = (path) => path === '/guarded' || path.startsWith('/guarded/');
const readers = {
    url: (request) => new URL(request.url, 'http://localhost').pathname,
    express: (request) => {
        const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
        return path.toLowerCase();
    },
};
const isSecret = (request) => {
    const host = new URL('http://' + request.headers.host).hostname;
    return host.replace(/\.$/, '') === 'secret.example';
};
http.createServer((request, response) => {
    try {
        const guarded = isBelow(readers['READER'](request)) || isSecret(request);
        response.end(guarded ? 'MARKER' : 'OPEN');
    } catch {
        response.statusCode = 400;
        response.end();
    }
}).listen(PORT, '127.0.0.1');
";
