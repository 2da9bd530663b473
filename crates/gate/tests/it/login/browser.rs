//! A scripted browser over HTTP/1.1 without TLS: it keeps cookies for each site, and follows
//! redirections when told to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use url::Url;

/// Long enough for any machine; passing tests do not wait for it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Names and values of each site.
#[derive(Default, Clone)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, BTreeMap<String, String>>,
    /// Sites that share their cookies, like replicas behind one name.
    pub(crate) replicas: Vec<SocketAddr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
    /// Where it was asked for.
    pub(crate) url: Url,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn cookies(&self) -> Vec<&str> {
        let cookies = self.fields.iter();
        let cookies = cookies.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies.map(|(_, value)| value.as_str()).collect()
    }

    /// Where it leads.
    pub(crate) fn location(&self) -> Url {
        let location = self.field("location").unwrap_or_else(|| panic!("{self:?}"));
        self.url.join(location).unwrap()
    }

    /// A parameter of the URL to which it leads.
    pub(crate) fn parameter(&self, name: &str) -> String {
        let url = self.location();
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(known, _)| known == name);
        found
            .unwrap_or_else(|| panic!("{name} in {url}"))
            .1
            .into_owned()
    }
}

impl Browser {
    pub(crate) fn page(&mut self, url: &str) -> Answer {
        let url = Url::parse(url).unwrap();
        self.send(
            &url,
            "GET",
            "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n",
            "",
        )
    }

    pub(crate) fn form(&mut self, url: &Url, form: &str) -> Answer {
        let head = "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n\
                    Content-Type: application/x-www-form-urlencoded\r\n";
        self.send(url, "POST", head, form)
    }

    /// A page, and where its redirections lead.
    pub(crate) fn follow(&mut self, mut answer: Answer) -> Answer {
        for _ in 0..20 {
            if !matches!(answer.status, 302 | 303) {
                return answer;
            }
            answer = self.page(answer.location().as_str());
        }
        panic!("in a circle: {answer:?}")
    }

    /// Sends one request over a new connection, and keeps the answer's cookies.
    pub(crate) fn send(&mut self, url: &Url, method: &str, head: &str, body: &str) -> Answer {
        let mut stream = self.begin(url, method, head, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let answer = parse(&bytes, url);
        let site = self.site(url);
        for cookie in answer.cookies() {
            let (pair, _) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').unwrap();
            let gone = value.is_empty()
                || cookie
                    .to_ascii_lowercase()
                    .contains("expires=thu, 01 jan 1970");
            let cookies = self.cookies.entry(site.clone()).or_default();
            if gone {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Sends a request, and leaves its answer to be read.
    pub(crate) fn begin(&self, url: &Url, method: &str, head: &str, body: &str) -> TcpStream {
        let address = address(url);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let cookies = self.cookies.get(&self.site(url)).into_iter().flatten();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookies = if cookies.is_empty() {
            String::new()
        } else {
            format!("Cookie: {}\r\n", cookies.join("; "))
        };
        let length = match method {
            "GET" => String::new(),
            _ => format!("Content-Length: {}\r\n", body.len()),
        };
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{cookies}{length}{head}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn cookie(&self, url: &str, name: &str) -> Option<String> {
        let site = self.site(&Url::parse(url).unwrap());
        self.cookies.get(&site)?.get(name).cloned()
    }

    fn site(&self, url: &Url) -> String {
        let address = address(url);
        let shared = self.replicas.contains(&address);
        if shared {
            "replicas".into()
        } else {
            address.to_string()
        }
    }
}

fn address(url: &Url) -> SocketAddr {
    let host = url.host_str().unwrap();
    let host = if host == "localhost" {
        "127.0.0.1"
    } else {
        host
    };
    format!("{host}:{}", url.port().unwrap()).parse().unwrap()
}

fn parse(bytes: &[u8], url: &Url) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{text}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap()[9..12].parse().unwrap();
    let field = |line: &str| {
        let (name, value) = line
            .split_once(": ")
            .unwrap_or((line.trim_end_matches(':'), ""));
        (name.to_owned(), value.to_owned())
    };
    let fields: Vec<_> = lines.map(field).collect();
    let is_chunked = fields
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked");
    Answer {
        status,
        fields,
        body: if is_chunked {
            unchunked(body)
        } else {
            body.to_owned()
        },
        url: url.clone(),
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        whole.push_str(rest.get(..size).unwrap_or(rest));
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}
