//! Answers about another object than the requested one, of the right class.

use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up};
use crate::client::scripted::{Scripted, rdap};

async fn other(query: &str, body: &'static str) -> Option<String> {
    let server = Scripted::start(move |_, _| rdap("200 OK", "", body)).await;
    let scene = Scene::new();
    let base = server.base();
    let query = query.replace("https://server/", &server.url());
    let client = scene.client_with(|parts| parts.options.server = Some(base));
    let outcome = look_up(&client, &query).await;
    assert_eq!(outcome.state(), State::Found, "{query}");
    outcome.registry.unwrap().other
}

#[tokio::test]
async fn another_object_is_named() {
    for (query, body, found) in [
        (
            "www.one.example",
            r#"{"objectClassName":"domain","ldhName":"one.example"}"#,
            "one.example",
        ),
        (
            "https://server/domain/one.example?x=1",
            r#"{"objectClassName":"domain","ldhName":"two.example"}"#,
            "two.example",
        ),
        (
            "ns:ns1.example",
            r#"{"objectClassName":"nameserver","ldhName":"ns2.example"}"#,
            "ns2.example",
        ),
        (
            "192.0.2.0/23",
            r#"{"objectClassName":"ip network","startAddress":"192.0.2.0","endAddress":"192.0.2.255"}"#,
            "192.0.2.0 to 192.0.2.255",
        ),
        (
            "AS64500",
            r#"{"objectClassName":"autnum","startAutnum":64501,"endAutnum":64501}"#,
            "64501",
        ),
        (
            "entity:A%B-X",
            r#"{"objectClassName":"entity","handle":"C-X","publicIds":[{"type":"t","identifier":"7"}]}"#,
            "C-X",
        ),
    ] {
        assert_eq!(other(query, body).await.as_deref(), Some(found), "{query}");
    }
}

#[tokio::test]
async fn another_spelling_is_not_another_object() {
    for (query, body) in [
        (
            "b\u{fc}cher.example",
            r#"{"objectClassName":"domain","ldhName":"XN--BCHER-KVA.EXAMPLE."}"#,
        ),
        (
            "xn--fo-cka.example",
            r#"{"objectClassName":"domain","ldhName":"foo.example","variants":[{"variantNames":[{"ldhName":"xn--fo-cka.example"}]}]}"#,
        ),
        (
            "4.2.0.192.in-addr.arpa",
            r#"{"objectClassName":"domain","ldhName":"2.0.192.in-addr.arpa"}"#,
        ),
        (
            "192.0.2.0/25",
            r#"{"objectClassName":"ip network","startAddress":"192.0.2.0","endAddress":"192.0.2.255"}"#,
        ),
        (
            "2001:db8::/32",
            r#"{"objectClassName":"ip network","startAddress":"::","endAddress":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}"#,
        ),
        (
            "AS64500",
            r#"{"objectClassName":"autnum","startAutnum":64496,"endAutnum":64511}"#,
        ),
        (
            "entity:a%b-x",
            r#"{"objectClassName":"entity","handle":" A%B-X"}"#,
        ),
        (
            "entity:292",
            r#"{"objectClassName":"entity","handle":"R-7","publicIds":[{"type":"IANA Registrar ID","identifier":"292"}]}"#,
        ),
        // What the answer is about is unknown.
        ("one.example", r#"{"objectClassName":"domain"}"#),
        ("192.0.2.1", r#"{"objectClassName":"ip network"}"#),
        ("entity:X", r#"{"objectClassName":"entity"}"#),
        (
            "https://server/x",
            r#"{"objectClassName":"domain","ldhName":"one.example"}"#,
        ),
        (
            "domains:a*",
            r#"{"domainSearchResults":[{"ldhName":"b.example"}]}"#,
        ),
    ] {
        assert_eq!(other(query, body).await, None, "{query} {body}");
    }
}

#[tokio::test]
async fn a_registrar_about_another_domain_is_marked() {
    let scene = Scene::new();
    let host = scene.origin.https;
    let body = format!(
        r#"{{"objectClassName":"domain","ldhName":"one.example","links":[{{"rel":"related","type":"application/rdap+json","href":"https://{host}/registrar/domain/two.example"}}]}}"#
    );
    let server = Scripted::start(move |_, _| rdap("200 OK", "", &body)).await;
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.registry.unwrap().other, None);
    let registrar = outcome.registrar.unwrap().unwrap();
    assert_eq!(registrar.other.as_deref(), Some("two.example"));
}
