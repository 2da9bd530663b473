//! TCP fast open to servers, in a network namespace where it is enabled.

#[path = "../../../../../../tests/skip.rs"]
mod skip;

use std::process::Command;
use std::rc::Rc;

use roundtrip_net::{Listening, listen};
use tokio::net::TcpListener;

use super::scene::{ANY, Behaviour, Scripted, ask, run, upstream};
use crate::forward::upstream::{Fate, LeaseNeeds, Upstream};

const INSIDE: &str = "ROUNDTRIP_TEST_IN_NAMESPACE";

#[test]
fn requests_leave_with_the_syn() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let script =
        "ip link set lo up && echo 3 > /proc/sys/net/ipv4/tcp_fastopen && exec \"$0\" \"$@\"";
    let possible = Command::new("unshare").args(["-Urn", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        return skip::lacking(
            "requests_leave_with_the_syn",
            "user namespaces (unshare -Urn), so fast open cannot be turned on",
        );
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let inside = format!("{module}::inside");
    let output = Command::new("unshare")
        .args(["-Urn", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &inside])
        .args(["--include-ignored", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "runs inside the namespace that requests_leave_with_the_syn makes"]
fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    run(async || {
        let how = Listening {
            backlog: 16,
            fast_open: 16,
            ..Listening::default()
        };
        let listener = listen(([127, 0, 0, 1], 0).into(), &how).unwrap();
        let server = Scripted::serving(TcpListener::from_std(listener).unwrap(), Behaviour::Well);
        let upstream = upstream(&[server.url()], |config| config.fast_open = true);
        // The first one brings the cookie.
        assert!(!one(&upstream, true).await);
        assert!(one(&upstream, true).await);
        assert_eq!(upstream.group().counts().fast_opened, 1);
        // A SYN may arrive twice, so a request that is not repeatable waits for the SYN-ACK.
        assert!(!one(&upstream, false).await);
        assert_eq!(upstream.group().counts().fast_opened, 1);
        // Nothing listens any more, which only a write or a read shows.
        server.stop().await;
        let mut link = upstream.lease(ANY).await.unwrap();
        assert!(ask(&mut link).await.is_err());
        link.finish(Fate::Failed);
    });
}

/// Makes one exchange; returns whether connect(2) was deferred until the first write.
async fn one(upstream: &Rc<Upstream>, repeatable: bool) -> bool {
    let mut link = upstream
        .lease(LeaseNeeds {
            repeatable,
            ..LeaseNeeds::default()
        })
        .await
        .unwrap();
    let deferred = link.is_deferred();
    ask(&mut link).await.unwrap();
    link.finish(Fate::Spent);
    deferred
}
