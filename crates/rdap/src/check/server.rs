//! A server as a whole: checks its answers to a few requests, at each of its addresses, against RFC
//! 7480 and RFC 9082. Sends no requests.

mod agreement;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use bytes::Bytes;
use url::{Host, Url};

use super::{Check, Delivery, Profile, Violation, check, rules};
use crate::answer::{Answer, Class, MEDIA_TYPE, places};

rules! { Server;
    REACHED = "server-reached", Error, "RFC 7480, section 4.1": "the server answers";
    CERTIFICATE = "server-certificate", Error, "RFC 7480, section 4.1, and RFC 9110, section 4.3.4": "the certificate is valid for the server's name, and is trusted";
    HTTPS = "server-https", Error, "RFC 7480, section 4.1": "the server supports HTTPS";
    FAMILY = "server-family", Warning, "RFC 6540, section 2": "the server answers over IPv4 and over IPv6";
    GTLD_FAMILY = "server-family-gtld", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.9": "a gTLD's server answers over IPv4 and over IPv6";
    HELP = "server-help", Warning, "RFC 9082, section 3.1.6": "help is answered with 200 and RDAP, or with 501 where it is not supported";
    GTLD_HELP = "server-help-gtld", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.4": "a gTLD's server answers help with 200 and RDAP";
    EXTENSIONS = "server-help-extensions", Warning, "RFC 9083, section 4.1": "help names each extension that other answers name";
    OBJECT = "server-object", Error, "RFC 7480, section 5.1": "a query for an existing object is answered with 200 and RDAP";
    HEAD = "server-head", Error, "RFC 7480, section 4.1, and gTLD RDAP Technical Implementation Guide 2024, section 1.8": "HEAD is answered with the status of GET";
    HEAD_TYPE = "server-head-type", Warning, "RFC 9110, section 9.3.2": "HEAD is answered with the media type of GET";
    MISSING = "server-missing", Warning, "RFC 7480, section 5.3, and RFC 9082, section 1": "a query for a name that cannot exist is answered with 404, or with 400 or 501 where such queries are not supported";
    GTLD_MISSING = "server-missing-gtld", Error, "RFC 7480, section 5.3": "a gTLD's server answers a query for a name that cannot exist with 404";
    MALFORMED = "server-malformed", Warning, "RFC 7480, section 5.4, and RFC 9082, section 1": "a malformed query is answered with 400, or 501 where such queries are not supported";
    TAKEN = "server-malformed-taken", Error, "RFC 7480, section 5.4": "a malformed query is neither answered with a result nor with a failure of the server";
    PARAMETER = "server-parameter", Error, "RFC 7480, section 4.3": "an unknown query parameter is ignored";
    CORS = "server-cors", Warning, "RFC 7480, section 5.6": "Access-Control-Allow-Origin lets a web page of another origin read each answer";
    CORS_ALWAYS = "server-cors-always", Info, "RFC 7480, section 5.6": "Access-Control-Allow-Origin is also sent if a request has no Origin";
    CREDENTIALS = "server-cors-credentials", Warning, "RFC 7480, section 5.6": "Access-Control-Allow-Credentials is not sent";
    ERROR_TYPE = "server-error-type", Info, "RFC 9083, section 6": "the body of an error is RDAP";
    REDIRECT = "server-redirect", Error, "RFC 7480, section 5.2": "a redirect leads to a whole URL other than its own";
    CLEAR = "server-redirect-https", Warning, "common sense": "a redirect stays with HTTPS";
    AGREE = "server-families-agree", Warning, "common sense": "the answers over IPv4 and IPv6 have the same status";
    ADDRESSES_AGREE = "server-addresses-agree", Warning, "common sense": "the answers at all addresses of a family have the same status";
    ANSWERS_AGREE = "server-answers-agree", Warning, "common sense": "the answers at all addresses have the same media type, CORS field and members, except for the time of the database's last update";
}

/// The origin of the pretended web page.
pub const ORIGIN: &str = "https://web.example";

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Help,
    /// An object that exists, according to the user.
    Object,
    /// A name that cannot exist.
    Missing,
    /// A malformed query.
    Malformed,
}

/// The form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestForm {
    /// GET from a page of another origin.
    Get,
    Head,
    /// GET without an origin.
    WithoutOrigin,
    /// GET with an unknown query parameter.
    WithParameter,
}

/// One request, and its result.
#[derive(Debug, Clone)]
pub struct Heard {
    pub subject: Subject,
    pub manner: RequestForm,
    /// "IPv4" or "IPv6".
    pub family: &'static str,
    /// The address; `None` if the server has no address of this family.
    pub address: Option<IpAddr>,
    pub url: Url,
    pub reply: Result<ServerReply, Unheard>,
}

#[derive(Debug, Clone)]
pub struct ServerReply {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unheard {
    /// The server has no address of this family.
    NoAddress(String),
    /// The server's certificate is for another name, or is not trusted.
    Untrusted(String),
    Failed(String),
}

/// Whether a rule holds for one request.
#[derive(Debug, Clone)]
pub struct Finding {
    pub check: &'static Check,
    pub held: bool,
    /// Empty for the server as a whole.
    pub family: &'static str,
    /// `None` for the server as a whole, and for a family without an address.
    pub address: Option<IpAddr>,
    pub url: String,
    /// The value found, safe to show; empty if the rule is clear enough.
    pub found: String,
}

impl Finding {
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "id": self.check.id,
            "severity": self.check.severity.word(),
            "held": self.held,
            "family": self.family,
            "address": self.address,
            "url": self.url,
            "rule": self.check.rule,
            "source": self.check.source,
            "found": self.found,
        })
    }
}

/// The answers among the results, with the violations in each.
pub fn answers(heard: &[Heard]) -> Vec<(&Heard, Vec<Violation>)> {
    let whole = heard.iter().filter(|h| h.manner == RequestForm::Get);
    whole
        .filter_map(|heard| {
            let reply = heard.reply.as_ref().ok()?;
            let answer = reply.answer()?;
            let delivery = Delivery {
                status: reply.status,
                content_type: reply.text("content-type"),
                allow_origin: reply.text("access-control-allow-origin"),
                url: Some(&heard.url),
            };
            let profiles = Profile::claimed(&answer, Some(&heard.url));
            Some((heard, check(&answer, &delivery, &profiles)))
        })
        .collect()
}

/// Applies the rules to the results, request by request.
pub fn judge(heard: &[Heard]) -> Vec<Finding> {
    let of_gtld = heard.iter().any(|h| {
        let answer = h.reply.as_ref().ok().and_then(ServerReply::answer);
        answer.is_some_and(|a| Profile::claimed(&a, None).iter().any(|p| p.is_of_gtld()))
    });
    let mut judge = Judge {
        heard,
        of_gtld,
        findings: Vec::new(),
    };
    judge.families();
    for one in heard {
        if let Ok(reply) = &one.reply {
            judge.reply(one, reply);
        }
    }
    judge.extensions();
    judge.findings
}

impl Heard {
    /// Whether both requests went to the same address.
    fn is_beside(&self, other: &Self) -> bool {
        (self.family, self.address) == (other.family, other.address)
    }
}

impl ServerReply {
    fn text(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok().map(str::trim)
    }

    fn answer(&self) -> Option<Answer> {
        Answer::read(self.body.clone()).ok()
    }

    fn is_rdap(&self) -> bool {
        let essence = self.text("content-type").and_then(|t| t.split(';').next());
        essence.is_some_and(|e| e.trim().eq_ignore_ascii_case(MEDIA_TYPE))
    }

    fn class(&self) -> Option<Class> {
        let answer = self.answer()?;
        places(&answer).first().map(|top| top.class)
    }

    /// Whether the server asks for a pause or for credentials, so that the reply says nothing about
    /// the query.
    fn is_declined(&self) -> bool {
        matches!(self.status, 401 | 403 | 429 | 503)
    }

    fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status)
    }
}

struct Judge<'a> {
    heard: &'a [Heard],
    /// Whether an answer claims the gTLD profile.
    of_gtld: bool,
    findings: Vec<Finding>,
}

impl<'a> Judge<'a> {
    fn tell(
        &mut self,
        check: &'static Check,
        heard: Option<&Heard>,
        held: bool,
        found: impl AsRef<str>,
    ) {
        let found = if held { "" } else { found.as_ref() };
        let short: String = found.chars().take(200).collect();
        self.findings.push(Finding {
            check,
            held,
            family: heard.map_or("", |h| h.family),
            address: heard.and_then(|h| h.address),
            url: heard.map_or_else(String::new, |h| h.url.to_string()),
            found: roundtrip_report::clean(&short),
        });
    }

    /// Checks at which addresses the server can be reached, for each address family.
    fn families(&mut self) {
        let mut firsts: Vec<&Heard> = Vec::new();
        for heard in self.heard {
            if !firsts.iter().any(|first| first.is_beside(heard)) {
                firsts.push(heard);
            }
        }
        let Some(first) = firsts.first() else {
            return;
        };
        let is_https = first.url.scheme() == "https";
        let speaks = |h: &&Heard| matches!(h.reply, Ok(_) | Err(Unheard::Untrusted(_)));
        // A server that cannot be reached shows nothing about HTTPS.
        if !is_https || firsts.iter().any(speaks) {
            self.tell(&HTTPS, None, is_https, first.url.scheme());
        }
        let mut untrusted = false;
        for heard in &firsts {
            match &heard.reply {
                Ok(_) => {}
                Err(Unheard::NoAddress(why)) => self.family(heard, false, why),
                Err(Unheard::Untrusted(why)) => {
                    untrusted = true;
                    self.tell(&CERTIFICATE, Some(heard), false, why);
                }
                Err(Unheard::Failed(why)) => self.tell(&REACHED, Some(heard), false, why),
            }
            if heard.reply.is_ok() {
                self.tell(&REACHED, Some(heard), true, "");
            }
        }
        for family in ["IPv4", "IPv6"] {
            let mut own = firsts.iter().filter(|h| h.family == family);
            if let Some(heard) = own.find(|h| h.reply.is_ok()) {
                self.family(heard, true, "");
            }
        }
        if is_https && !untrusted && firsts.iter().any(|h| h.reply.is_ok()) {
            self.tell(&CERTIFICATE, None, true, "");
        }
        let without = |h: &&Heard| matches!(h.reply, Err(Unheard::NoAddress(_)));
        if firsts.iter().all(without) {
            self.tell(&REACHED, None, false, "no address");
        }
    }

    /// Records the rule about families; a URL with an address in it has no other family.
    fn family(&mut self, heard: &Heard, held: bool, why: &str) {
        let literal = match heard.url.host() {
            Some(Host::Domain(name)) => name.parse::<IpAddr>().is_ok(),
            _ => true,
        };
        if literal {
            return;
        }
        let check = if self.of_gtld { &GTLD_FAMILY } else { &FAMILY };
        self.tell(check, Some(heard), held, why);
    }

    fn reply(&mut self, heard: &Heard, reply: &ServerReply) {
        if reply.is_redirect() {
            return self.redirect(heard, reply);
        }
        let status = reply.status.to_string();
        match heard.manner {
            RequestForm::Get => self.get(heard, reply),
            // A request for a pause says nothing about HEAD or about the parameter.
            _ if reply.is_declined() => {}
            RequestForm::Head => {
                if let Some(other) = self.beside(heard) {
                    let (expected, kind) = (other.status, other.text("content-type"));
                    let same = reply.status == expected;
                    self.tell(
                        &HEAD,
                        Some(heard),
                        same,
                        format!("{status}, not {expected}"),
                    );
                    if same {
                        let own = reply.text("content-type");
                        let kept = own == kind;
                        self.tell(&HEAD_TYPE, Some(heard), kept, own.unwrap_or("none"));
                    }
                }
            }
            RequestForm::WithoutOrigin => {
                let there = reply.text("access-control-allow-origin").is_some();
                self.tell(&CORS_ALWAYS, Some(heard), there, "");
            }
            RequestForm::WithParameter => {
                if let Some(other) = self.beside(heard) {
                    let expected = other.status;
                    let same = reply.status == expected;
                    self.tell(
                        &PARAMETER,
                        Some(heard),
                        same,
                        format!("{status}, not {expected}"),
                    );
                }
            }
        }
    }

    fn get(&mut self, heard: &Heard, reply: &ServerReply) {
        let status = reply.status;
        let shown = status.to_string();
        let allowed = reply.text("access-control-allow-origin");
        let open = matches!(allowed, Some("*" | ORIGIN));
        self.tell(&CORS, Some(heard), open, allowed.unwrap_or("none"));
        let credentials = reply.text("access-control-allow-credentials");
        if let Some(value) = credentials {
            self.tell(&CREDENTIALS, Some(heard), false, value);
        }
        if status >= 400 && !reply.body.is_empty() {
            let rdap = reply.is_rdap() && reply.class() == Some(Class::Problem);
            let kind = reply.text("content-type").unwrap_or("no media type");
            self.tell(&ERROR_TYPE, Some(heard), rdap, kind);
        }
        let answered = |class: Option<Class>| {
            status == 200 && class.is_some_and(|c| !matches!(c, Class::Problem | Class::Unknown))
        };
        match heard.subject {
            Subject::Help => {
                let class = reply.class();
                let help = status == 200 && class == Some(Class::Help);
                let found = if status == 200 { "no help" } else { &shown };
                if self.of_gtld {
                    self.tell(&GTLD_HELP, Some(heard), help, found);
                } else {
                    self.tell(&HELP, Some(heard), help || status == 501, found);
                }
            }
            Subject::Object => {
                let found = if status == 200 { "no object" } else { &shown };
                self.tell(&OBJECT, Some(heard), answered(reply.class()), found);
            }
            // A request for a pause says nothing about the query.
            _ if reply.is_declined() => {}
            Subject::Missing => {
                if self.of_gtld {
                    self.tell(&GTLD_MISSING, Some(heard), status == 404, shown);
                } else {
                    let right = matches!(status, 400 | 404 | 501);
                    self.tell(&MISSING, Some(heard), right, shown);
                }
            }
            Subject::Malformed => {
                let refused = (400..500).contains(&status) || status == 501;
                self.tell(&TAKEN, Some(heard), refused, &shown);
                if refused {
                    let right = matches!(status, 400 | 501);
                    self.tell(&MALFORMED, Some(heard), right, shown);
                }
            }
        }
        self.agree(heard, reply);
    }

    /// The GET for the same subject, at the same address.
    fn beside(&self, heard: &Heard) -> Option<&'a ServerReply> {
        let mut others = self.heard.iter().filter(|other| {
            other.manner == RequestForm::Get
                && other.is_beside(heard)
                && other.url.path() == heard.url.path()
        });
        let reply = others.next()?.reply.as_ref().ok()?;
        (!reply.is_declined()).then_some(reply)
    }

    fn redirect(&mut self, heard: &Heard, reply: &ServerReply) {
        let location = reply.text("location");
        let to = location.and_then(|l| Url::parse(l).ok());
        let whole = to.as_ref().filter(|to| to.has_host() && **to != heard.url);
        let found = location.unwrap_or("no Location");
        self.tell(&REDIRECT, Some(heard), whole.is_some(), found);
        if let Some(to) = whole.filter(|_| heard.url.scheme() == "https") {
            self.tell(&CLEAR, Some(heard), to.scheme() == "https", found);
        }
    }

    fn extensions(&mut self) {
        let claimed = |subject: Subject| -> Vec<String> {
            let of = |h: &&Heard| h.subject == subject && h.manner == RequestForm::Get;
            let replies = self.heard.iter().filter(of);
            let answers = replies.filter_map(|h| h.reply.as_ref().ok()?.answer());
            let names = |a: Answer| a.conformance().map(str::to_owned).collect::<Vec<_>>();
            answers.flat_map(names).collect()
        };
        let help = claimed(Subject::Help);
        let mut objects = claimed(Subject::Object);
        objects.sort();
        objects.dedup();
        if help.is_empty() || objects.is_empty() {
            return;
        }
        let missing: Vec<&str> = objects
            .iter()
            .filter(|name| !help.contains(name))
            .map(String::as_str)
            .collect();
        let found = missing.join(", ");
        self.tell(&EXTENSIONS, None, missing.is_empty(), found);
    }
}
