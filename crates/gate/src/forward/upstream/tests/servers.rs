//! Upstreams in front of servers that are healthy, failing, slow or gone.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use tokio::task::spawn_local;

use super::scene::{ANY, Behaviour, Scripted, ask, exchange, group, run, until, upstream};
use crate::config::{HealthCheck, Span};
use crate::forward::upstream::{Fate, LeaseNeeds, Upstream, UpstreamError};

#[path = "../../../../../../tests/unanswered.rs"]
mod unanswered;

use unanswered::Unanswered;

const SHORT: Span = Span(Duration::from_millis(40));

#[test]
fn a_connection_carries_one_exchange_after_another() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let upstream = upstream(&[server.url()], |_| {});
        let mut reused = Vec::new();
        for _ in 0..3 {
            reused.push(exchange(&upstream).await);
        }
        assert_eq!(reused, [false, true, true]);
        assert_eq!(server.connections.get(), 1);
        let counts = upstream.group().counts();
        assert_eq!((counts.asked, counts.opened, counts.reused), (3, 1, 2));
    });
}

#[test]
fn a_connection_that_sends_unrequested_bytes_or_ends_is_not_used_again() {
    for behaviour in [Behaviour::Talkative, Behaviour::Once] {
        run(async || {
            let server = Scripted::start(behaviour).await;
            let upstream = upstream(&[server.url()], |_| {});
            for count in 1..4 {
                let mut link = upstream.lease(ANY).await.unwrap();
                assert!(!link.is_reused());
                ask(&mut link).await.unwrap();
                // They may have come with the answer.
                if link.buffer.is_empty() {
                    let come = link.stream.plain().unwrap().stream().peek(&mut [0]).await;
                    assert_eq!(
                        come.unwrap(),
                        usize::from(behaviour == Behaviour::Talkative)
                    );
                }
                link.finish(Fate::Kept);
                assert_eq!(server.connections.get(), count);
            }
        });
    }
}

#[test]
fn an_unfinished_exchange_closes_its_connection() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let upstream = upstream(&[server.url()], |config| config.connections = 1);
        for fate in [
            None,
            Some(Fate::Spent),
            Some(Fate::Stale),
            Some(Fate::Failed),
        ] {
            let mut link = upstream.lease(ANY).await.unwrap();
            assert!(!link.is_reused(), "{fate:?}");
            ask(&mut link).await.unwrap();
            match fate {
                None => drop(link),
                Some(fate) => link.finish(fate),
            }
            until(|| server.open.get() == 0).await;
        }
        let counts = upstream.group().counts();
        assert_eq!((counts.opened, counts.spent, counts.failed), (4, 4, 1));
    });
}

#[test]
fn a_retry_makes_room_for_itself() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let upstream = upstream(&[server.url()], |config| config.connections = 1);
        exchange(&upstream).await;
        let link = upstream.fresh(None, ANY).await.unwrap();
        assert!(!link.is_reused());
        assert_eq!(upstream.group().counts().surplus, 1);
        until(|| server.open.get() == 1).await;
    });
}

#[test]
fn nobody_waits_longer_than_the_deadline() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let upstream = upstream(&[server.url()], |config| {
            config.connections = 1;
            config.waiting = 1;
            config.connect = SHORT;
        });
        let held = upstream.lease(ANY).await.unwrap();
        let waits = upstream.clone();
        let waits = spawn_local(async move { waits.lease(ANY).await.err() });
        until(|| upstream.group().counts().waited == 1).await;
        let trouble = upstream.lease(ANY).await.unwrap_err();
        assert!(matches!(trouble, UpstreamError::Full { .. }), "{trouble}");
        assert_eq!((trouble.status(), trouble.retry_after()), (503, Some(1)));
        let trouble = waits.await.unwrap().unwrap();
        assert!(matches!(trouble, UpstreamError::Busy { .. }), "{trouble}");
        assert_eq!(trouble.status(), 503);
        let next = upstream.clone();
        let next = spawn_local(async move { next.lease(ANY).await.unwrap().is_reused() });
        until(|| upstream.group().counts().waited == 2).await;
        held.finish(Fate::Kept);
        assert!(next.await.unwrap(), "what was given back");
    });
}

#[test]
fn troubles_say_whom_they_are_about() {
    run(async || {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let refusing = upstream(&[format!("http://{address}")], |_| {});
        let trouble = refusing.lease(ANY).await.unwrap_err();
        assert_eq!(trouble.status(), 502);
        assert!(
            trouble.to_string().contains(&address.to_string()),
            "{trouble}"
        );
        assert_eq!(refusing.group().counts().unreached, 1);

        // A TLS server that never sends anything.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let stalling = upstream(&[format!("https://{address}")], |config| {
            config.connect = SHORT;
        });
        let trouble = stalling.lease(ANY).await.unwrap_err();
        assert!(matches!(trouble, UpstreamError::Silent { .. }), "{trouble}");
        assert_eq!(trouble.status(), 504);
        assert!(
            trouble.to_string().contains(&address.to_string()),
            "{trouble}"
        );
    });
}

#[test]
fn servers_that_cannot_be_reached_are_left_alone() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = format!("http://{}", closed.local_addr().unwrap());
        drop(closed);
        let upstream = upstream(&[gone, server.url()], |config| config.eject_after = 2);
        let mut failures = 0;
        for _ in 0..12 {
            match upstream.lease(ANY).await {
                Ok(link) => link.finish(Fate::Spent),
                Err(_) => failures += 1,
            }
        }
        let counts = upstream.group().counts();
        assert_eq!((failures, counts.retried, counts.ejected), (0, 2, 1));
    });
}

#[test]
fn a_server_that_does_not_answer_leaves_time_for_another() {
    run(async || {
        let silent = Unanswered::new();
        let server = Scripted::start(Behaviour::Well).await;
        let both = [format!("http://{}", silent.address), server.url()];
        let alone = upstream(&both[..1], |config| config.connect = SHORT);
        let trouble = alone.lease(ANY).await.unwrap_err();
        assert!(matches!(trouble, UpstreamError::Silent { .. }), "{trouble}");
        assert_eq!(trouble.status(), 504);
        let upstream = upstream(&both, |config| {
            config.eject_after = 2;
            config.connect = Span(SHORT.0 * 50);
        });
        for _ in 0..12 {
            upstream.lease(ANY).await.unwrap().finish(Fate::Spent);
        }
        let counts = upstream.group().counts();
        assert_eq!((counts.retried, counts.ejected), (2, 1));
    });
}

/// The kernel knows that a connection is closed before the runtime does.
#[test]
fn a_request_that_cannot_be_sent_again_gets_no_closed_connection() {
    run(async || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = upstream(&[url], |_| {});
        let unsafe_to_repeat = LeaseNeeds {
            repeatable: false,
            ..ANY
        };
        for (needs, reused) in [(ANY, true), (unsafe_to_repeat, false)] {
            let mut link = upstream.lease(ANY).await.unwrap();
            let (mut server, _) = listener.accept().unwrap();
            server
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                .unwrap();
            ask(&mut link).await.unwrap();
            link.finish(Fate::Kept);
            server.shutdown(std::net::Shutdown::Both).unwrap();
            let next = upstream.lease(needs).await.unwrap();
            assert_eq!(next.is_reused(), reused);
        }
    });
}

/// Otherwise one client could hold every connection that the upstream allows.
#[test]
fn a_server_that_is_down_adds_nothing_to_a_client_s_share() {
    run(async || {
        let server = Scripted::start(Behaviour::Silent).await;
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = format!("http://{}", closed.local_addr().unwrap());
        drop(closed);
        let upstream = upstream(&[gone, server.url()], |config| {
            (config.connections, config.waiting) = (16, 0);
            config.eject_after = 2;
        });
        while upstream.group().counts().ejected == 0 {
            drop(upstream.lease(ANY).await);
        }
        let by = |client: [u8; 4]| LeaseNeeds {
            client: Some(client.into()),
            ..ANY
        };
        let mut held = Vec::new();
        while let Ok(link) = upstream.lease(by([192, 0, 2, 1])).await {
            held.push(link);
        }
        assert_eq!(held.len(), 14);
        assert!(upstream.lease(by([192, 0, 2, 2])).await.is_ok());
    });
}

#[test]
fn spare_connections_wait_for_requests_and_old_ones_are_closed_by_us() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let upstream = upstream(&[server.url()], |config| {
            config.warm = 2;
            config.idle_time = SHORT;
        });
        let tending = spawn_local(upstream.maintain());
        until(|| server.open.get() == 2).await;
        assert!(upstream.lease(ANY).await.unwrap().is_reused());
        // Connections are replaced when they are due.
        until(|| upstream.group().counts().idled >= 4).await;
        assert!(upstream.group().counts().open <= 2, "no more than wanted");
        drop(upstream);
        tending.await.unwrap();
        until(|| server.open.get() == 0).await;
    });
}

#[test]
fn closed_connections_are_noticed_without_a_request() {
    run(async || {
        let server = Scripted::start(Behaviour::Once).await;
        let upstream = upstream(&[server.url()], |config| config.age = Span(SHORT.0 * 100));
        exchange(&upstream).await;
        spawn_local(upstream.maintain());
        until(|| upstream.group().counts().left == 1).await;
        assert_eq!(upstream.group().counts().open, 0);
    });
}

#[test]
fn servers_that_fail_their_checks_get_no_requests() {
    run(async || {
        let (one, other) = (
            Scripted::start(Behaviour::Ill).await,
            Scripted::start(Behaviour::Well).await,
        );
        let group = group(&[one.url(), other.url()], |config| {
            config.connect = Span(SHORT.0 * 20);
            config.health = Some(HealthCheck {
                path: "/up?".into(),
                every: Span(Duration::from_millis(2)),
            });
        });
        let upstream = Upstream::new(&group);
        spawn_local(group.clone().maintain());
        let is_well = |at: usize| group.servers().nth(at).unwrap().1;
        until(|| !is_well(0)).await;
        assert!(one.requests.borrow()[0].starts_with("GET /up? HTTP/1.1\r\nHost: 127.0.0.1:"));
        for _ in 0..4 {
            let link = upstream.lease(ANY).await.unwrap();
            let to = link.stream.plain().unwrap().stream().peer_addr().unwrap();
            assert_eq!(to, other.address);
        }
        other.behaviour.set(Behaviour::Ill);
        until(|| !is_well(1)).await;
        let trouble = upstream.lease(ANY).await.unwrap_err();
        assert!(
            matches!(trouble, UpstreamError::NoneWell { .. }),
            "{trouble}"
        );
        assert_eq!((trouble.status(), trouble.retry_after()), (503, Some(5)));
        one.behaviour.set(Behaviour::Well);
        until(|| is_well(0)).await;
        upstream.lease(ANY).await.unwrap();
        // A server that does not answer is unhealthy, too.
        one.behaviour.set(Behaviour::Silent);
        until(|| !is_well(0)).await;
    });
}

#[test]
fn names_are_looked_up_before_and_not_while_they_are_used() {
    run(async || {
        let server = Scripted::start(Behaviour::Well).await;
        let url = |name: &str| format!("http://{name}:{}", server.address.port());
        let resolver =
            || roundtrip_net::Resolver::from_files("nameserver 127.0.0.1", "127.0.0.1 app.example");
        let make = |name: &str| {
            let config = crate::config::Upstream {
                servers: vec![url(name)],
                ..crate::config::Upstream::default()
            };
            crate::forward::upstream::Group::resolving("app", 0, &config, resolver).unwrap()
        };
        let known = make("app.example");
        spawn_local(known.clone().maintain());
        assert!(!exchange(&Upstream::new(&known)).await);
        let nobody = make("nobody.invalid..".trim_end_matches('.'));
        spawn_local(nobody.clone().maintain());
        let trouble = Upstream::new(&nobody).lease(ANY).await.unwrap_err();
        assert!(
            matches!(trouble, UpstreamError::Unnamed { .. }),
            "{trouble}"
        );
        assert_eq!(trouble.status(), 502);
    });
}
