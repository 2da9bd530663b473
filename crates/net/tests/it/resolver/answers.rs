//! Answers that are accepted: both families, aliases, truncation, HTTPS records, search lists.

use std::time::Duration;

use roundtrip_model::Answer;
use roundtrip_net::{Resolver, Wanted};
use roundtrip_wire::dns::{Data, Kind, Rcode, Service};
use roundtrip_wire::hosts::Hosts;

use crate::resolver::server::{NameServer, parsed, record};
use crate::resolver::{BOTH, V4, conf, look_up, resolver};

const GRACE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn both_families_are_asked_at_once_and_ipv6_comes_first() {
    let server = NameServer::replying(|asked| asked.addresses("a.example"));
    let found = look_up(server.address, "a.example", BOTH).await.unwrap();
    let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["2001:db8::1", "192.0.2.1"]);
    assert_eq!(found.answer, Answer::Server(server.address));
    assert_eq!(
        (found.ttl, found.resent, found.truncated),
        (Some(30), 0, false)
    );
    assert_eq!(server.log().len(), 2);
}

/// The client does something else while the answers arrive.
#[tokio::test]
async fn an_answer_that_is_read_late_had_arrived_before() {
    let server = NameServer::replying(|asked| {
        std::thread::sleep(Duration::from_millis(60));
        asked.addresses("a.example")
    });
    let asked = look_up(server.address, "a.example", BOTH);
    let busy = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        std::thread::sleep(Duration::from_millis(260));
    };
    let (found, ()) = tokio::join!(asked, busy);
    let unread = found.unwrap().waits.unread;
    assert!(unread >= Duration::from_millis(50), "{unread:?}");
}

#[tokio::test]
async fn one_family_is_enough() {
    let server = NameServer::replying(|asked| match asked.kind() {
        Kind::A => asked.addresses("a.example"),
        _ => asked.refuse(Rcode::SERVER_FAILURE),
    });
    let found = look_up(server.address, "a.example", BOTH).await.unwrap();
    assert_eq!(found.addresses.len(), 1);
    let server = NameServer::replying(|asked| asked.addresses("a.example"));
    look_up(server.address, "a.example", V4).await.unwrap();
    assert!(server.log().iter().all(|(_, kind, _)| *kind == Kind::A));
}

#[tokio::test]
async fn aliases_are_followed_within_the_answer() {
    let server = NameServer::replying(|asked| {
        let mut reply = asked.addresses("c.example");
        reply
            .answers
            .insert(0, record("b.example", 5, Data::Cname(parsed("c.example"))));
        reply
            .answers
            .insert(0, record("a.example", 50, Data::Cname(parsed("b.example"))));
        reply
    });
    let found = look_up(server.address, "a.example", BOTH).await.unwrap();
    assert_eq!(found.addresses.len(), 2);
    assert_eq!(found.ttl, Some(5));
    let aliases: Vec<&str> = found
        .aliases
        .iter()
        .map(|a| a.trim_end_matches('.'))
        .collect();
    assert_eq!(aliases, ["b.example", "c.example"]);
}

#[tokio::test]
async fn a_truncated_answer_is_asked_for_over_tcp() {
    let server = NameServer::replying(|asked| {
        let mut reply = asked.addresses("a.example");
        if !asked.over_tcp {
            reply.answers.clear();
            reply.truncated = true;
        }
        reply
    });
    let found = look_up(server.address, "a.example", V4).await.unwrap();
    assert!(found.truncated);
    assert_eq!(found.addresses.len(), 1);
    let over: Vec<bool> = server.log().iter().map(|(.., tcp)| *tcp).collect();
    assert_eq!(over, [false, true]);
}

#[tokio::test]
async fn tcp_is_used_from_the_start_if_configured() {
    let server = NameServer::replying(|asked| asked.addresses("a.example"));
    let resolver = resolver("options use-vc", &[server.address]);
    resolver.look_up("a.example", V4).await.unwrap();
    assert!(server.log().iter().all(|(.., tcp)| *tcp));
}

#[tokio::test]
async fn the_https_record_is_asked_under_the_name_of_its_port() {
    let server = NameServer::replying(|asked| {
        if asked.kind() != Kind::HTTPS {
            return asked.addresses("a.example");
        }
        let service = Service {
            alpn: vec!["h3".into(), "h2".into()],
            ..Service::default()
        };
        asked.reply(vec![record(&asked.name(), 60, Data::Https(service))])
    });
    for (port, owner) in [(443, "a.example"), (8443, "_8443._https.a.example")] {
        let wanted = Wanted {
            https: Some((port, GRACE)),
            ..BOTH
        };
        let found = look_up(server.address, "a.example", wanted).await.unwrap();
        let https = found.https_record.unwrap();
        assert_eq!(https.alpn, ["h3", "h2"]);
        let asked = |name: &str| {
            let mut log = server.log().into_iter();
            log.any(|(n, kind, _)| kind == Kind::HTTPS && n.trim_end_matches('.') == name)
        };
        assert!(asked(owner), "{:?}", server.log());
    }
}

#[tokio::test]
async fn a_missing_https_record_delays_nothing() {
    let server = NameServer::start(|asked| match asked.kind() {
        Kind::HTTPS => Vec::new(),
        _ => vec![asked.addresses("a.example").encode().unwrap()],
    });
    let wanted = Wanted {
        https: Some((443, Duration::from_millis(10))),
        ..BOTH
    };
    let found = look_up(server.address, "a.example", wanted).await.unwrap();
    assert_eq!((found.addresses.len(), found.https_record), (2, None));
}

#[tokio::test]
async fn the_search_list_is_tried_in_order() {
    let server = NameServer::replying(|asked| {
        if asked.name().trim_end_matches('.') == "host.two.example" {
            asked.addresses("host.two.example")
        } else {
            asked.refuse(Rcode::NO_SUCH_NAME)
        }
    });
    let resolver = resolver(
        "search one.example two.example three.example",
        &[server.address],
    );
    let found = resolver.look_up("host", V4).await.unwrap();
    assert_eq!(found.host, "host");
    let names: Vec<String> = server.log().into_iter().map(|(name, ..)| name).collect();
    let names: Vec<&str> = names.iter().map(|n| n.trim_end_matches('.')).collect();
    assert_eq!(names, ["host.one.example", "host.two.example"]);
    let tried: Vec<&str> = found.waits.in_vain.iter().map(String::as_str).collect();
    assert_eq!(tried, ["host.one.example"]);
    assert!(!found.waits.suffixes.is_zero());
}

#[tokio::test]
async fn an_absolute_name_is_not_searched_for() {
    let server = NameServer::replying(|asked| asked.refuse(Rcode::NO_SUCH_NAME));
    let resolver = resolver("search one.example", &[server.address]);
    assert!(resolver.look_up("host.", V4).await.is_err());
    assert_eq!(server.log().len(), 1);
}

#[tokio::test]
async fn the_hosts_file_and_localhost_need_no_query() {
    let server = NameServer::replying(|asked| asked.addresses("shop.example"));
    let hosts = Hosts::parse("127.0.0.7 shop.example shop\n");
    let resolver = Resolver::new(conf(""), hosts, vec![server.address]).unwrap();
    for (name, first) in [
        ("shop", "127.0.0.7"),
        ("SHOP.example.", "127.0.0.7"),
        ("x.localhost", "::1"),
    ] {
        let found = resolver.look_up(name, BOTH).await.unwrap();
        assert_eq!(found.answer, Answer::Hosts);
        assert_eq!(found.addresses[0].to_string(), first, "{name}");
    }
    assert!(server.log().is_empty());
}
