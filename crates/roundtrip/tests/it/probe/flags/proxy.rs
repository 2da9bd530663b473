//! Through an HTTP proxy: absolute-form for clear text, a tunnel for TLS, with and without a
//! password.

use crate::probe::peer::{Proxy, Site, free_port};
use crate::probe::report::{Report, report};
use crate::probe::run::{probe, said};

/// `user:p@ss`, as RFC 7617 writes it.
const TOKEN: &str = "Basic dXNlcjpwQHNz";

#[test]
fn clear_text_goes_in_absolute_form() {
    let (site, proxy) = (Site::start(), Proxy::start(None));
    let url = site.http("/head").replace("localhost", "127.0.0.1");
    let head = site.body(&["-x", &format!("http://{}", proxy.address), &url]);
    assert!(head.starts_with("GET /head "), "{head}");
    let heads = proxy.heads();
    assert!(
        heads[0].starts_with(&format!("GET {url} HTTP/1.1\r\n")),
        "{heads:?}"
    );
}

#[test]
fn tls_goes_through_a_tunnel() {
    let (site, proxy) = (Site::start(), Proxy::start(None));
    for version in ["--http1.1", "--http2"] {
        let url = site.https("/bytes/1000");
        let report = site.report(&["-x", &proxy.address.to_string(), version, &url]);
        report.assert_status(200);
        assert_eq!(report.at("/http/proxy_status"), 200);
        assert!(report.phases().contains(&"proxy"), "{:?}", report.phases());
        assert_eq!(report.at("/tcp/peer"), proxy.address.to_string().as_str());
    }
    let first = &proxy.heads()[0];
    assert!(
        first.starts_with(&format!("CONNECT localhost:{} ", site.origin.https.port())),
        "{first}"
    );
}

#[test]
fn a_password_is_asked_for_and_given() {
    let (site, proxy) = (Site::start(), Proxy::start(Some(TOKEN)));
    let address = proxy.address;
    let secret = format!("http://user:p%40ss@{address}");
    for url in [
        site.http("/").replace("localhost", "127.0.0.1"),
        site.https("/"),
    ] {
        let allowed = site.report(&["-x", &secret, &url]);
        allowed.assert_status(200);
        assert!(!allowed.document.to_string().contains("p%40ss"));
    }
    let refused = site.report(&["-x", &address.to_string(), &site.https("/")]);
    assert_eq!(refused.code, 1);
    assert_eq!(refused.at("/failure/kind"), "proxy-failed");
    assert_eq!(refused.at("/failure/phase"), "proxy");
    let advice = refused.at("/failure/advice").as_str().unwrap();
    assert!(advice.contains("user:password"), "{advice}");
    // In clear text, the proxy's answer is the result.
    let clear = site.report(&["-x", &address.to_string(), &site.http("/")]);
    assert_eq!(clear.at("/http/status"), 407);
}

#[test]
fn the_target_is_told_nothing_of_the_proxys_password() {
    let (site, proxy) = (Site::start(), Proxy::start(Some(TOKEN)));
    let secret = format!("http://user:p%40ss@{}", proxy.address);
    let head = site.body(&["-x", &secret, &site.https("/head")]);
    assert!(!head.to_lowercase().contains("proxy-"), "{head}");
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let site = Site::start();
    let port = crate::probe::peer::free_port();
    let report = site.report(&["-x", &format!("127.0.0.1:{port}"), &site.https("/")]);
    assert_eq!(report.at("/failure/kind"), "refused");
    let message = report.at("/failure/message").as_str().unwrap();
    assert!(message.contains(&port.to_string()), "{message}");
}

#[test]
fn the_environment_names_a_proxy_as_for_curl() {
    let (site, proxy) = (Site::start(), Proxy::start(None));
    let ca = site.path("ca.pem");
    let (url, named) = (site.https("/"), format!("http://{}", proxy.address));
    let ask = |variable: &str, flags: &[&str]| {
        let mut command = probe(&["--json", "--cacert", &ca]);
        command.args(flags).arg(&url).env(variable, &named);
        Report::from(said(command))
    };
    for variable in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        let asked = ask(variable, &[]);
        asked.assert_status(200);
        assert_eq!(asked.at("/tcp/peer"), proxy.address.to_string().as_str());
        let notes = asked.at("/notes").to_string();
        assert!(notes.contains(variable), "{notes}");
    }
    let before = proxy.heads().len();
    ask("http_proxy", &[]).assert_status(200);
    ask("https_proxy", &["--noproxy", "localhost"]).assert_status(200);
    assert_eq!(proxy.heads().len(), before);
}

#[test]
fn a_proxy_of_the_environment_that_is_none_is_named() {
    let site = Site::start();
    let mut command = probe(&[site.https("/")]);
    command.env("ALL_PROXY", "socks5://localhost");
    let refused = said(command);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("ALL_PROXY"), "{}", refused.err);
}

#[test]
fn a_proxy_that_is_not_there_is_named_as_the_proxy() {
    let port = free_port();
    let proxy = format!("http://127.0.0.1:{port}");
    for url in ["http://shop.example/", "https://shop.example/"] {
        let report = report(&["-x", &proxy, url]);
        assert_eq!(report.at("/failure/kind"), "refused");
        let message = report.at("/failure/message").as_str().unwrap();
        let begins = format!("the proxy 127.0.0.1:{port}: ");
        assert!(message.starts_with(&begins), "{message}");
        assert!(
            report
                .at("/failure/advice")
                .as_str()
                .unwrap()
                .contains("--noproxy")
        );
    }
}
