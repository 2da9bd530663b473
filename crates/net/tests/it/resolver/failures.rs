//! Servers that fail, are silent, lie or answer another query.

use roundtrip_net::{ResolveError, Wanted};
use roundtrip_wire::dns::{Data, Kind, Message, Rcode};

use crate::resolver::server::{NameServer, record};
use crate::resolver::{BOTH, V4, look_up, resolver};

#[tokio::test]
async fn a_name_that_does_not_exist() {
    let server = NameServer::replying(|asked| asked.refuse(Rcode::NO_SUCH_NAME));
    let error = look_up(server.address, "none.example", BOTH)
        .await
        .unwrap_err();
    assert!(matches!(error, ResolveError::NoSuchName { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("none.example") && text.contains(&server.address.to_string()),
        "{text}"
    );
}

#[tokio::test]
async fn a_name_without_addresses() {
    let server = NameServer::replying(|asked| asked.reply(Vec::new()));
    let error = look_up(server.address, "empty.example", BOTH)
        .await
        .unwrap_err();
    assert!(matches!(error, ResolveError::NoAddress { .. }), "{error}");
}

#[tokio::test]
async fn a_failing_server_is_reported_with_its_code() {
    for (rcode, word) in [
        (Rcode::SERVER_FAILURE, "SERVFAIL"),
        (Rcode::REFUSED, "REFUSED"),
    ] {
        let server = NameServer::replying(move |asked| asked.refuse(rcode));
        let error = look_up(server.address, "a.example", V4).await.unwrap_err();
        assert!(matches!(error, ResolveError::Failed { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[tokio::test]
async fn the_next_server_is_asked_when_one_fails() {
    let broken = NameServer::replying(|asked| asked.refuse(Rcode::SERVER_FAILURE));
    let silent = NameServer::start(|_| Vec::new());
    let good = NameServer::replying(|asked| asked.addresses("a.example"));
    let resolver = resolver("", &[broken.address, silent.address, good.address]);
    let found = resolver.look_up("a.example", V4).await.unwrap();
    assert_eq!(found.answer, roundtrip_model::Answer::Server(good.address));
    // The failure was an answer.
    assert_eq!((found.resent, found.waits.unheard), (2, 1));
}

#[tokio::test]
async fn unanswered_queries_are_repeated_and_counted() {
    let server = NameServer::start(|asked| match asked.before {
        0 => Vec::new(),
        _ => vec![asked.addresses("a.example").encode().unwrap()],
    });
    let found = look_up(server.address, "a.example", V4).await.unwrap();
    assert_eq!((found.resent, found.addresses.len()), (1, 1));
}

#[tokio::test]
async fn permanent_silence_is_reported() {
    let server = NameServer::start(|_| Vec::new());
    let error = look_up(server.address, "a.example", BOTH)
        .await
        .unwrap_err();
    assert!(matches!(error, ResolveError::Silent { .. }), "{error}");
    // Twice for each family.
    assert_eq!(server.log().len(), 4);
}

#[tokio::test]
async fn nobody_listens() {
    let address = std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = look_up(address, "a.example", V4).await.unwrap_err();
    assert!(matches!(error, ResolveError::Failed { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

/// Sends a forged answer before the real one.
fn after_a_forgery(forge: impl Fn(&mut Message) + Send + Sync + 'static) -> NameServer {
    NameServer::start(move |asked| {
        let evil = record("a.example", 60, Data::A([203, 0, 113, 66].into()));
        let mut forged = asked.reply(vec![evil]);
        forge(&mut forged);
        vec![
            forged.encode().unwrap(),
            asked.addresses("a.example").encode().unwrap(),
        ]
    })
}

#[tokio::test]
async fn answers_to_other_queries_are_ignored() {
    let servers = [
        after_a_forgery(|m| m.id = m.id.wrapping_add(1)),
        after_a_forgery(|m| m.questions[0].name = "b.example".parse().unwrap()),
        after_a_forgery(|m| m.questions[0].kind = Kind::AAAA),
        after_a_forgery(|m| m.response = false),
    ];
    for server in servers {
        let found = look_up(server.address, "a.example", V4).await.unwrap();
        assert_eq!(found.addresses, [std::net::IpAddr::from([192, 0, 2, 1])]);
        assert_eq!(found.resent, 0);
    }
}

#[tokio::test]
async fn records_of_other_names_are_ignored() {
    let server = NameServer::replying(|asked| {
        let stray = record("b.example", 60, Data::A([203, 0, 113, 66].into()));
        asked.reply(vec![stray])
    });
    let error = look_up(server.address, "a.example", V4).await.unwrap_err();
    assert!(matches!(error, ResolveError::NoAddress { .. }), "{error}");
}

#[tokio::test]
async fn invalid_messages_are_ignored() {
    let server = NameServer::start(|asked| {
        let good = asked.addresses("a.example").encode().unwrap();
        vec![
            Vec::new(),
            vec![0xff; 3],
            good[..good.len() - 3].to_vec(),
            vec![0xc0; 512],
            good,
        ]
    });
    let found = look_up(server.address, "a.example", V4).await.unwrap();
    assert_eq!(found.addresses.len(), 1);
}

#[tokio::test]
async fn an_alias_loop_ends() {
    let server = NameServer::replying(|asked| {
        let to = |name: &str| Data::Cname(name.parse().unwrap());
        asked.reply(vec![
            record("a.example", 1, to("b.example")),
            record("b.example", 1, to("a.example")),
        ])
    });
    assert!(look_up(server.address, "a.example", BOTH).await.is_err());
}

#[tokio::test]
async fn servers_older_than_edns_are_asked_without_it() {
    let server = NameServer::replying(|asked| {
        if asked.query.udp_size.is_some() {
            asked.refuse(Rcode::FORMAT_ERROR)
        } else {
            asked.addresses("a.example")
        }
    });
    let found = look_up(server.address, "a.example", V4).await.unwrap();
    assert_eq!(found.addresses.len(), 1);
    assert_eq!(server.log().len(), 2);
}

#[tokio::test]
async fn invalid_names_are_refused_without_a_query() {
    let server = NameServer::replying(|asked| asked.addresses("a.example"));
    let long = "x".repeat(64);
    for name in [
        format!("{long}.example"),
        "a..example".into(),
        "x.".repeat(200),
    ] {
        let error = look_up(server.address, &name, V4).await.unwrap_err();
        assert!(
            matches!(error, ResolveError::Name { .. }),
            "{name}: {error}"
        );
    }
    assert!(server.log().is_empty());
    let nothing = Wanted {
        v4: false,
        v6: false,
        https: None,
    };
    assert!(look_up(server.address, "a.example", nothing).await.is_err());
}
