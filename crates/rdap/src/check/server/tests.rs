//! Conforming and broken servers: each rule is followed once and violated once.

use std::collections::BTreeSet;

use super::*;

const HELP: &str =
    r#"{"rdapConformance": ["rdap_level_0"], "notices": [{"title": "x", "description": ["y"]}]}"#;
const DOMAIN: &str =
    r#"{"rdapConformance": ["rdap_level_0"], "objectClassName": "domain", "ldhName": "a.example"}"#;
const OF_GTLD: &[u8] =
    br#"{"rdapConformance": ["rdap_level_0", "icann_rdap_response_profile_1"], "notices": []}"#;
const ERROR: &str =
    r#"{"rdapConformance": ["rdap_level_0"], "errorCode": 404, "title": "Not Found"}"#;

fn reply(status: u16, body: &'static str) -> ServerReply {
    let fields = [
        ("content-type", "application/rdap+json"),
        ("access-control-allow-origin", "*"),
    ];
    let headers = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    ServerReply {
        status,
        headers: headers.to_vec(),
        body: Bytes::from_static(body.as_bytes()),
    }
}

fn server() -> Vec<Heard> {
    server_at(&["192.0.2.1", "2001:db8::1"])
}

fn server_at(addresses: &[&str]) -> Vec<Heard> {
    let mut heard = Vec::new();
    for address in addresses {
        let address: IpAddr = address.parse().unwrap();
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        for (subject, manner, path, status, body) in [
            (Subject::Help, RequestForm::Get, "help", 200, HELP),
            (Subject::Help, RequestForm::Head, "help", 200, ""),
            (Subject::Help, RequestForm::WithoutOrigin, "help", 200, HELP),
            (
                Subject::Help,
                RequestForm::WithParameter,
                "help?x=1",
                200,
                HELP,
            ),
            (
                Subject::Missing,
                RequestForm::Get,
                "domain/a.invalid",
                404,
                ERROR,
            ),
            (Subject::Malformed, RequestForm::Get, "autnum/x", 400, ""),
            (
                Subject::Object,
                RequestForm::Get,
                "domain/a.example",
                200,
                DOMAIN,
            ),
            (
                Subject::Object,
                RequestForm::Head,
                "domain/a.example",
                200,
                "",
            ),
        ] {
            heard.push(Heard {
                subject,
                manner,
                family,
                address: Some(address),
                url: format!("https://rdap.example/{path}").parse().unwrap(),
                reply: Ok(reply(status, body)),
            });
        }
    }
    heard
}

fn broken(heard: &[Heard]) -> Vec<&'static str> {
    let broken = judge(heard).into_iter().filter(|f| !f.held);
    let ids: BTreeSet<&str> = broken.map(|f| f.check.id).collect();
    ids.into_iter().collect()
}

#[test]
fn a_conforming_server_violates_nothing() {
    let findings = judge(&server());
    let broken: Vec<&Finding> = findings.iter().filter(|f| !f.held).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    // All rules that can be followed were checked.
    let kept: BTreeSet<&str> = findings.iter().map(|f| f.check.id).collect();
    for check in ALL {
        // These are only reported if they are violated, or are tested elsewhere.
        let otherwise = [
            "server-redirect",
            "server-cors-credentials",
            "server-redirect-https",
            "server-family-gtld",
            "server-help-gtld",
            "server-missing-gtld",
            "server-addresses-agree",
        ];
        assert!(
            kept.contains(check.id) || otherwise.contains(&check.id),
            "{}",
            check.id
        );
    }
}

type Break = fn(&mut Heard);

#[test]
#[allow(clippy::too_many_lines)] // a table
fn each_rule_can_be_broken() {
    fn status(heard: &mut Heard, status: u16) {
        heard.reply.as_mut().unwrap().status = status;
    }
    fn field(heard: &mut Heard, name: &str, value: Option<&str>) {
        let headers = &mut heard.reply.as_mut().unwrap().headers;
        headers.retain(|(n, _)| n != name);
        headers.extend(value.map(|v| (name.to_owned(), v.as_bytes().to_vec())));
    }
    const ALLOW: &str = "access-control-allow-origin";
    let first = |subject, manner| {
        let found = server().into_iter();
        let mut found = found.enumerate();
        let found = found.find(|(_, h)| h.subject == subject && h.manner == manner);
        found.unwrap().0
    };
    let help = first(Subject::Help, RequestForm::Get);
    let object = first(Subject::Object, RequestForm::Get);
    let missing = first(Subject::Missing, RequestForm::Get);
    let malformed = first(Subject::Malformed, RequestForm::Get);
    let cases: [(usize, Break, &[&str]); 22] = [
        (
            help,
            |h| h.reply = Err(Unheard::Failed("refused".into())),
            &["server-reached"],
        ),
        (
            help,
            |h| h.reply = Err(Unheard::Untrusted("expired".into())),
            &["server-certificate"],
        ),
        (
            help,
            |h| h.reply = Err(Unheard::NoAddress("none".into())),
            &["server-family"],
        ),
        (
            help,
            |h| status(h, 404),
            &[
                "server-error-type",
                "server-families-agree",
                "server-head",
                "server-help",
                "server-parameter",
            ],
        ),
        (
            help,
            |h| h.reply.as_mut().unwrap().body = Bytes::from_static(b"hello"),
            &["server-answers-agree", "server-help"],
        ),
        (
            help,
            |h| field(h, ALLOW, Some("https://one.example")),
            &["server-answers-agree", "server-cors"],
        ),
        (
            help,
            |h| field(h, ALLOW, None),
            &["server-answers-agree", "server-cors"],
        ),
        (
            help,
            |h| field(h, "access-control-allow-credentials", Some("true")),
            &["server-cors-credentials"],
        ),
        (help + 1, |h| status(h, 405), &["server-head"]),
        (
            help + 1,
            |h| field(h, "content-type", None),
            &["server-head-type"],
        ),
        (help + 2, |h| field(h, ALLOW, None), &["server-cors-always"]),
        (help + 3, |h| status(h, 400), &["server-parameter"]),
        (missing, |h| status(h, 400), &["server-families-agree"]),
        (
            help,
            |h| status(h, 501),
            &[
                "server-error-type",
                "server-families-agree",
                "server-head",
                "server-parameter",
            ],
        ),
        (
            missing,
            |h| status(h, 200),
            &["server-families-agree", "server-missing"],
        ),
        (
            missing,
            |h| field(h, "content-type", Some("text/html")),
            &["server-answers-agree", "server-error-type"],
        ),
        (
            malformed,
            |h| status(h, 404),
            &["server-families-agree", "server-malformed"],
        ),
        (
            malformed,
            |h| status(h, 500),
            &["server-families-agree", "server-malformed-taken"],
        ),
        (
            object,
            |h| status(h, 404),
            &[
                "server-error-type",
                "server-families-agree",
                "server-head",
                "server-object",
            ],
        ),
        (
            object,
            |h| {
                h.reply.as_mut().unwrap().body = Bytes::from_static(
                    br#"{"rdapConformance": ["cidr0"], "objectClassName": "domain", "ldhName": "a.example"}"#,
                );
            },
            &["server-answers-agree", "server-help-extensions"],
        ),
        (
            object,
            |h| {
                status(h, 302);
                field(h, "location", Some("http://rdap.example/domain/a.example"));
            },
            &[
                "server-families-agree",
                "server-head",
                "server-redirect-https",
            ],
        ),
        (
            object,
            |h| {
                status(h, 302);
                field(h, "location", Some("/rdap/domain/a.example"));
            },
            &["server-families-agree", "server-head", "server-redirect"],
        ),
    ];
    // The next tests break these.
    let mut seen: BTreeSet<&str> = [
        "server-addresses-agree",
        "server-https",
        "server-family-gtld",
        "server-help-gtld",
        "server-missing-gtld",
    ]
    .into();
    for (at, change, expected) in cases {
        let mut heard = server();
        change(&mut heard[at]);
        assert_eq!(broken(&heard), expected, "{:?}", heard[at]);
        seen.extend(expected);
    }
    for check in ALL {
        assert!(seen.contains(check.id), "no test breaks {}", check.id);
    }
}

#[test]
fn the_server_as_a_whole_is_judged_too() {
    let mut heard = server();
    for one in &mut heard {
        let clear = one.url.as_str().replace("https:", "http:");
        one.url = clear.parse().unwrap();
    }
    assert_eq!(broken(&heard), ["server-https"]);
    let mut heard = server();
    heard.retain(|h| h.family == "IPv4" || h.subject == Subject::Help);
    for one in heard.iter_mut().filter(|h| h.family == "IPv6") {
        one.reply = Err(Unheard::NoAddress("none".into()));
    }
    assert_eq!(broken(&heard), ["server-family"]);
    heard[0].reply.as_mut().unwrap().body = Bytes::from_static(OF_GTLD);
    assert_eq!(broken(&heard), ["server-family-gtld"]);
    // An address has no other family.
    for one in &mut heard {
        one.url.set_host(Some("192.0.2.1")).unwrap();
    }
    assert_eq!(broken(&heard), [""; 0]);
    for one in &mut heard {
        one.reply = Err(Unheard::NoAddress("none".into()));
    }
    assert_eq!(broken(&heard), ["server-reached"]);
}

#[test]
fn each_address_is_judged() {
    let mut heard = server_at(&["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]);
    assert_eq!(broken(&heard), [""; 0]);
    // One address of a family is enough to reach the server, but all must answer.
    let third = "2001:db8::1".parse().unwrap();
    heard.retain(|h| h.address != Some(third) || h.subject == Subject::Help);
    for one in heard.iter_mut().filter(|h| h.address == Some(third)) {
        one.reply = Err(Unheard::Failed("refused".into()));
    }
    let findings = judge(&heard);
    let unkept: Vec<_> = findings.iter().filter(|f| !f.held).collect();
    assert_eq!(unkept.len(), 1, "{unkept:?}");
    assert_eq!(
        (unkept[0].check.id, unkept[0].address),
        ("server-reached", Some(third))
    );
    assert!(
        findings
            .iter()
            .any(|f| f.check.id == "server-family" && f.family == "IPv6" && f.held)
    );
    // Without HEAD at the second address alone, the finding has that address.
    let mut heard = server_at(&["192.0.2.1", "192.0.2.2"]);
    let second = "192.0.2.2".parse().unwrap();
    let of_head = |h: &&mut Heard| h.address == Some(second) && h.manner == RequestForm::Head;
    for one in heard.iter_mut().filter(of_head) {
        one.reply.as_mut().unwrap().status = 405;
    }
    let findings = judge(&heard);
    let unkept: Vec<_> = findings.iter().filter(|f| !f.held).collect();
    assert_eq!(unkept.len(), 2);
    assert!(
        unkept
            .iter()
            .all(|f| f.check.id == "server-head" && f.address == Some(second))
    );
}

#[test]
fn answers_that_differ_between_addresses_are_told() {
    let second = "192.0.2.2".parse().unwrap();
    let differing = |change: &dyn Fn(&mut ServerReply)| {
        let mut heard = server_at(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
        let is_object = |h: &&mut Heard| {
            h.subject == Subject::Object
                && h.manner == RequestForm::Get
                && h.address == Some(second)
        };
        change(
            heard
                .iter_mut()
                .find(is_object)
                .unwrap()
                .reply
                .as_mut()
                .unwrap(),
        );
        let unkept = judge(&heard).into_iter().filter(|f| !f.held);
        let agreement = unkept.filter(|f| f.check.id.ends_with("-agree"));
        let told: Vec<_> = agreement
            .map(|f| (f.check.id, f.address, f.found))
            .collect();
        told
    };
    let body = |text: &'static str| {
        move |reply: &mut ServerReply| reply.body = Bytes::from_static(text.as_bytes())
    };
    assert_eq!(
        differing(&|reply| reply.status = 500),
        [(
            "server-addresses-agree",
            Some(second),
            "500, and 200 at 192.0.2.1".to_owned()
        )]
    );
    let of = |found: &str| vec![("server-answers-agree", Some(second), found.to_owned())];
    assert_eq!(
        differing(&body(
            r#"{"rdapConformance": ["rdap_level_0"], "objectClassName": "domain", "ldhName": "b.example", "lang": "en"}"#
        )),
        of("other ldhName, lang than at 192.0.2.1")
    );
    assert_eq!(
        differing(&|reply| reply.headers[0].1 = b"application/json".to_vec()),
        of("other content-type than at 192.0.2.1")
    );
    assert_eq!(differing(&body("oh")), of("other body than at 192.0.2.1"));
    // The order of names and items says nothing.
    assert_eq!(
        differing(&body(
            r#"{"ldhName": "a.example", "objectClassName": "domain", "rdapConformance": ["rdap_level_0"]}"#
        )),
        []
    );
}

#[test]
fn copies_of_a_database_may_be_of_different_times() {
    let mut heard = server_at(&["192.0.2.1", "192.0.2.2"]);
    let is_object = |h: &&mut Heard| h.subject == Subject::Object && h.manner == RequestForm::Get;
    for (one, date) in heard
        .iter_mut()
        .filter(is_object)
        .zip(["2026-01-01", "2026-01-02"])
    {
        let text = format!(
            r#"{{"rdapConformance": ["rdap_level_0"], "objectClassName": "domain",
                "ldhName": "a.example", "events": [{{"eventDate": "{date}T00:00:00Z",
                "eventAction": "last update of RDAP database"}}]}}"#
        );
        one.reply.as_mut().unwrap().body = text.into();
    }
    assert_eq!(broken(&heard), [""; 0]);
}

#[test]
fn servers_of_gtlds_must_do_more() {
    let mut heard = server();
    let of_help = |h: &&mut Heard| h.subject == Subject::Help && h.manner == RequestForm::Get;
    for one in heard.iter_mut().filter(of_help) {
        one.reply.as_mut().unwrap().body = Bytes::from_static(OF_GTLD);
    }
    assert_eq!(broken(&heard), [""; 0]);
    for one in heard.iter_mut().filter(|h| h.subject == Subject::Missing) {
        one.reply.as_mut().unwrap().status = 400;
    }
    assert_eq!(broken(&heard), ["server-missing-gtld"]);
    let mut heard = server();
    for one in heard.iter_mut().filter(|h| h.subject == Subject::Help) {
        one.reply.as_mut().unwrap().status = 501;
    }
    for one in heard.iter_mut().filter(|h| h.subject == Subject::Object) {
        one.reply.as_mut().unwrap().body = Bytes::from_static(OF_GTLD);
    }
    assert!(broken(&heard).contains(&"server-help-gtld"));
}

#[test]
fn a_registrar_is_judged_as_one() {
    let mut heard = server();
    let body = r#"{"rdapConformance": ["rdap_level_0", "icann_rdap_response_profile_1"],
        "objectClassName": "domain", "ldhName": "a.example",
        "entities": [{"objectClassName": "entity", "roles": ["registrar"], "links": [
            {"rel": "about", "value": "https://rdap.example/", "href": "https://a.example/"}]}]}"#;
    let is_object = |h: &&mut Heard| h.subject == Subject::Object && h.manner == RequestForm::Get;
    for one in heard.iter_mut().filter(is_object) {
        one.reply.as_mut().unwrap().body = Bytes::from_static(body.as_bytes());
    }
    let ids = |heard: &[Heard]| -> BTreeSet<&str> {
        let answers = answers(heard).into_iter();
        answers
            .flat_map(|(_, found)| found.into_iter().map(|v| v.check.id))
            .collect()
    };
    assert!(!ids(&heard).contains("gtld-related") && ids(&heard).contains("gtld-registrant"));
    for one in heard.iter_mut().filter(is_object) {
        one.url = "https://registry.example/domain/a.example".parse().unwrap();
    }
    assert!(ids(&heard).contains("gtld-related") && !ids(&heard).contains("gtld-registrant"));
}

#[test]
fn a_request_for_a_pause_violates_nothing() {
    let mut heard = server();
    for one in heard.iter_mut().filter(|h| h.subject != Subject::Help) {
        one.reply.as_mut().unwrap().status = 429;
    }
    assert!(!broken(&heard).contains(&"server-missing"));
    assert!(!broken(&heard).contains(&"server-malformed"));
    assert!(!broken(&heard).contains(&"server-head"));
}

#[test]
fn answers_are_checked_one_by_one() {
    let heard = server();
    let answers = answers(&heard);
    let ids = |at: usize| -> Vec<&str> { answers[at].1.iter().map(|v| v.check.id).collect() };
    assert_eq!(answers.len(), 6);
    assert_eq!((ids(0), ids(2)), (vec![], vec!["link-self"]));
}
