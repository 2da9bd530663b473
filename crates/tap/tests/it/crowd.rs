//! Many threads, many connections, and processes that fork.

use roundtrip_origin::Knobs;

use crate::server::{command, follow, has, serve};
use crate::skip;

const THREADS: &str = "
import http.client, sys, threading
port, failed = int(sys.argv[1]), []
def ask():
    for n in range(5):
        c = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
        c.request('GET', '/bytes/100')
        if len(c.getresponse().read()) != 100:
            failed.append(n)
        c.close()
threads = [threading.Thread(target=ask) for n in range(200)]
for t in threads: t.start()
for t in threads: t.join()
sys.exit(1 if failed else 0)
";

const FORKS: &str = "
import http.client, os, sys
port = int(sys.argv[1])
c = http.client.HTTPConnection('127.0.0.1', port)
c.connect()
child = os.fork()
if child == 0:
    # The socket was opened by the parent.
    c.request('GET', '/bytes/100')
    os._exit(0 if len(c.getresponse().read()) == 100 else 1)
status = os.waitpid(child, 0)[1]
d = http.client.HTTPConnection('127.0.0.1', port)
d.request('GET', '/bytes/200')
n = len(d.getresponse().read())
sys.exit(status or n != 200)
";

#[test]
fn two_hundred_threads_open_a_thousand_connections() {
    const TEST: &str = "two_hundred_threads_open_a_thousand_connections";
    if !has("python3") {
        return skip::lacking(TEST, "Python");
    }
    let server = serve(Knobs::default());
    let port = server.http.port().to_string();
    let followed = follow(command(&["python3", "-c", THREADS, &port]));
    assert!(followed.output.status.success(), "{:?}", followed.output);
    assert_eq!(followed.sight.connections, 1000);
    assert_eq!(followed.exchanges.len(), 1000);
    let failed: Vec<_> = followed.exchanges.iter().filter(|e| !e.ok()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_connection_is_followed_across_fork() {
    const TEST: &str = "a_connection_is_followed_across_fork";
    if !has("python3") {
        return skip::lacking(TEST, "Python");
    }
    let server = serve(Knobs::default());
    let port = server.http.port().to_string();
    let followed = follow(command(&["python3", "-c", FORKS, &port]));
    assert!(followed.output.status.success(), "{:?}", followed.output);
    let paths: Vec<String> = followed
        .exchanges
        .iter()
        .map(|exchange| exchange.url.rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["100", "200"]);
}
