//! curl's language: the same words, the same numbers, for any template.

mod peer;

use proptest::prelude::*;
use roundtrip_model::{Event, Exchange, HttpFacts};
use roundtrip_report::write_out::{
    Destination, Output, Template, TemplateInput, WriteOutError, names,
};

use crate::samples;

const FORMAT: &str = include_str!("../data/curl-format.txt");

fn rendered(template: &str, transfer: &TemplateInput) -> String {
    let outputs = Template::parse(template).unwrap().render(transfer);
    let stdout = outputs.into_iter().filter(|o| o.to == Destination::Stdout);
    String::from_utf8(stdout.flat_map(|o| o.bytes).collect()).unwrap()
}

fn one(name: &str, transfer: &TemplateInput) -> String {
    rendered(&format!("%{{{name}}}"), transfer)
}

#[test]
fn the_articles_format_names_27_variables_and_all_are_known() {
    let template = Template::parse_file(FORMAT).unwrap();
    assert_eq!(template.unknown().count(), 0);
    assert_eq!(FORMAT.matches("%{").count(), 27);
    let hops = [samples::cold(20.0)];
    let outputs = template.render(&TemplateInput::new(
        &hops,
        "https://shop.example/catalogue?page=2",
    ));
    let text = String::from_utf8(outputs[0].bytes.clone()).unwrap();
    insta::assert_snapshot!("curl_format", text);
}

#[test]
fn a_chain_is_one_transfer_by_curls_rules() {
    let hops = samples::redirected();
    let t = TemplateInput::new(&hops, "http://shop.example/catalogue?page=2");
    let expected = [
        ("num_redirects", "1"),
        ("num_connects", "2"),
        ("time_redirect", "0.104100"),
        // Each hop counts from its own start, and the hops are added: 53.2 + 54.6 ms.
        ("time_connect", "0.107800"),
        ("time_namelookup", "0.007500"),
        ("time_appconnect", "0.106300"),
        ("time_total", "0.294400"),
        ("size_header", "592"),
        ("size_request", "330"),
        ("size_download", "23456"),
        ("speed_download", "79673"),
        ("http_code", "200"),
        ("url", "http://shop.example/catalogue?page=2"),
        ("url_effective", "https://shop.example/catalogue?page=2"),
        ("urle.scheme", "https"),
        ("url.port", "80"),
        ("redirect_url", ""),
        ("scheme", "HTTPS"),
        ("round_trips", "5"),
    ];
    for (name, value) in expected {
        assert_eq!(one(name, &t), value, "{name}");
    }
    let unfollowed = TemplateInput::new(&hops[..1], "http://shop.example/catalogue?page=2");
    assert_eq!(
        one("redirect_url", &unfollowed),
        "https://shop.example/catalogue?page=2"
    );
    assert_eq!(one("num_redirects", &unfollowed), "0");
}

#[test]
fn our_own_variables() {
    let hops = [samples::cold(20.0)];
    let t = TemplateInput::new(&hops, "https://shop.example/");
    let expected = [
        ("rtt", "0.050000"),
        ("round_trips", "3"),
        ("strategy", "h2+tls1.3"),
        ("tls_version", "TLSv1.3"),
        ("tls_cipher", "TLS_AES_128_GCM_SHA256"),
        ("tls_group", "X25519MLKEM768"),
        ("tls_resumed", "0"),
        ("tls_hello_retry", "0"),
        ("tfo_saved", "0"),
        ("time_setup", "0.000400"),
    ];
    for (name, value) in expected {
        assert_eq!(one(name, &t), value, "{name}");
    }
    let hops = [samples::quic()];
    let t = TemplateInput::new(&hops, "https://shop.example/");
    assert_eq!(
        (
            one("tls_earlydata", &t),
            one("http_version", &t),
            one("remote_ip", &t)
        ),
        ("240".into(), "3".into(), "192.0.2.7".into())
    );
}

#[test]
fn escapes_and_other_text() {
    let t = TemplateInput::new(&[], "http://h.example/");
    let cases = [
        ("a\\nb\\tc\\rd", "a\nb\tc\rd"),
        ("\\\\n \\q \\", "\\\\n \\q \\"),
        ("100%% %a 5% %", "100% %a 5% %"),
        ("%time{} %é", "%time{} %é"),
        ("%{URL}|%{Http_Code}", "http://h.example/|000"),
        ("%{}{}%{ url }", "{}"),
    ];
    for (template, expected) in cases {
        assert_eq!(rendered(template, &t), expected, "{template}");
    }
}

#[test]
fn unclosed_instructions_are_refused_with_their_position() {
    for (template, opened, at) in [
        ("%{", "%{", 0),
        ("ab%{time_total", "%{", 2),
        ("é%header{x", "%header{", 2),
        ("%output{f", "%output{", 0),
    ] {
        assert_eq!(
            Template::parse(template).unwrap_err(),
            WriteOutError::Unterminated { opened, at }
        );
    }
    assert!(matches!(
        Template::parse(&"x".repeat(2 << 20)),
        Err(WriteOutError::TooLong { .. })
    ));
}

#[test]
fn headers_one_all_and_as_json() {
    let hops = [samples::cold(1.0)];
    let t = TemplateInput::new(&hops, "https://shop.example/");
    assert_eq!(
        rendered(
            "%header{Content-Type}|%header{set-cookie}|%header{none}|",
            &t
        ),
        "text/html; charset=utf-8|a=1||"
    );
    assert_eq!(
        rendered("%header{set-cookie:all:\\n}|%header{set-cookie:all}", &t),
        "a=1\nb=2|a=1, b=2"
    );
    let json = rendered("%{header_json}", &t);
    assert!(json.starts_with(
        "{\"content-type\":[\"text/html; charset=utf-8\"],\n\"set-cookie\":[\"a=1\",\"b=2\"],\n"
    ));
    assert!(json.ends_with("\n}"));
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
    // Raw bytes stay unchanged.
    let outputs = Template::parse("%header{x-odd}").unwrap().render(&t);
    assert_eq!(outputs[0].bytes, b"caf\xe9");
}

#[test]
fn json_contains_every_variable_in_order() {
    let hops = samples::redirected();
    let t = TemplateInput::new(&hops, "http://shop.example/");
    let text = rendered("%{json}", &t);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), names().count() + 1);
    assert!(keys[..keys.len() - 1].is_sorted());
    assert!(
        text.contains("\"time_total\":0.294400,"),
        "times keep six decimals"
    );
    assert!(value["ftp_entry_path"].is_null() && value["errormsg"].is_null());
    assert_eq!(value["http_connect"], 0);
}

#[test]
fn destinations_follow_one_another() {
    let t = TemplateInput::new(&[], "http://h.example/");
    let outputs = Template::parse("a%{stderr}b%output{f}c%{nope}d%output{>>g}%{stdout}e")
        .unwrap()
        .render(&t);
    let file = |name: &str, append| Destination::File {
        name: name.into(),
        append,
    };
    let expected = [
        (Destination::Stdout, "a"),
        (Destination::Stderr, "b"),
        (file("f", false), "c"),
        (
            Destination::Stderr,
            "roundtrip: unknown --write-out variable: 'nope'\n",
        ),
        (file("f", true), "d"),
        (file("g", true), ""),
        (Destination::Stdout, "e"),
    ];
    let expected: Vec<Output> = expected
        .map(|(to, text)| Output {
            to,
            bytes: text.into(),
        })
        .into();
    assert_eq!(outputs, expected);
}

#[test]
fn onerror_keeps_the_rest_for_failures() {
    let (good, bad) = ([samples::cold(1.0)], [samples::refused()]);
    let template = "%{http_code}%{onerror} %{exitcode} %{errormsg}";
    assert_eq!(
        rendered(
            template,
            &TemplateInput::new(&good, "https://shop.example/")
        ),
        "200"
    );
    assert_eq!(
        rendered(
            template,
            &TemplateInput::new(&bad, "https://shop.example:8443/")
        ),
        "000 7 192.0.2.7:8443 refused the connection after 50.2 ms"
    );
}

#[test]
fn a_reused_connection_takes_no_time_to_connect() {
    let mut second = Exchange {
        reused: true,
        http: Some(HttpFacts::default()),
        ..Exchange::default()
    };
    samples::push(
        &mut second,
        &[
            (0.1, Event::RequestStarted),
            (0.2, Event::RequestSent),
            (50.0, Event::FirstByte),
            (50.1, Event::Finished),
        ],
    );
    let hops = [second];
    let t = TemplateInput::new(&hops, "https://shop.example/");
    for (name, value) in [
        ("num_connects", "0"),
        ("time_connect", "0.000000"),
        ("time_appconnect", "0.000000"),
        ("time_namelookup", "0.000100"),
        ("time_pretransfer", "0.000100"),
    ] {
        assert_eq!(one(name, &t), value, "{name}");
    }
}

#[test]
fn certificates_come_as_pem() {
    let hops = [samples::cold(1.0)];
    let certs = one("certs", &TemplateInput::new(&hops, "https://shop.example/"));
    assert!(certs.starts_with(
        "Subject:CN=shop.example\nIssuer:CN=Example Intermediate\n-----BEGIN CERTIFICATE-----\nMDAw"
    ));
    assert!(certs.lines().all(|l| l.len() <= 64));
}

fn any_template() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = names().collect();
    let token = prop_oneof![
        any::<String>(),
        prop::sample::select(known).prop_map(|n| format!("%{{{n}}}")),
        prop::sample::select(vec![
            "%",
            "\\",
            "%{",
            "}",
            "%{json}",
            "%{header_json}",
            "%header{",
            "%header{set-cookie:all:",
            "%output{",
            "%output{>>",
            "%{stderr}",
            "%{onerror}",
            "\\n",
            "%%",
            "é"
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(token, 0..12).prop_map(|t| t.concat())
}

proptest! {
    /// No template causes a panic, and a valid one renders each exchange.
    #[test]
    fn any_template_is_parsed_or_refused(template in any_template(), exchange in crate::any_exchange(), url: String, exit_code: u8) {
        let hops = [samples::cold(3.0), exchange];
        if let Ok(template) = Template::parse(&template) {
            for n in 0..=2 {
                let transfer = TemplateInput { exit_code, ..TemplateInput::new(&hops[..n], &url) };
                template.render(&transfer);
            }
        }
    }

    /// Text without a percent sign or a backslash is its own rendering.
    #[test]
    fn plain_text_is_unchanged(text in "[^%\\\\]{0,80}") {
        prop_assert_eq!(rendered(&text, &TemplateInput::new(&[], "http://h.example/")), text);
    }
}
