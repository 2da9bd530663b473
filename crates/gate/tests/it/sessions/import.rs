//! Sessions that `gate session import` stores in a real redis-server, many at once.

use roundtrip_gate::config::Config;
use roundtrip_gate::manage::{Imported, SessionManager};
use roundtrip_wire::resp::Value;
use tokio::task::LocalSet;

use crate::runtime;
use crate::server::Server;

const LINES: usize = 1300;

fn lines(count: usize, sid: impl Fn(usize) -> String) -> String {
    let line = |n| format!("{{\"sid\":\"{}\",\"credentials\":\"dTpw\"}}\n", sid(n));
    (1..=count).map(line).collect()
}

#[test]
fn a_line_that_cannot_be_stored_is_named_and_the_lines_before_it_are_stored() {
    let runtime = runtime();
    LocalSet::new().block_on(&runtime, async {
        let Some(server) = Server::start("gate: import", &[]).await else {
            return;
        };
        let text = format!(
            "[session]\nstore = \"unix:{}\"\n",
            server.socket().display()
        );
        let config = Config::parse(&text, "test").unwrap();
        let manager = SessionManager::open(&config).unwrap();
        let mut client = server.client().await;
        let all = lines(LINES, |n| format!("a{n}"));
        let imported = manager.import(all.as_bytes(), |_, error| panic!("{error}"));
        assert_eq!(imported.await.stored, LINES as u64);
        let count = client.ask(&["DBSIZE"]).await;
        assert_eq!(count, Value::Integer(i64::try_from(LINES).unwrap()));
        client.ask(&["FLUSHALL"]).await;
        // Gate's user may write names with this prefix only.
        client
            .ask(&["ACL", "SETUSER", "default", "resetkeys", "~a*"])
            .await;
        let wrong = 1234;
        let name = |n| if n == wrong { "b" } else { "a" };
        let some = lines(LINES, |n| format!("{}{n}", name(n)));
        let mut failed = Vec::new();
        let imported = manager
            .import(some.as_bytes(), |line, _| failed.push(line))
            .await;
        assert_eq!(failed, [wrong as u64]);
        let expected = Imported {
            stored: wrong as u64 - 1,
            expired: 0,
            failed: 1,
            stopped: true,
        };
        assert_eq!(imported, expected);
    });
}
