//! Compares with Debian's curl: it fetches from a test server, an exchange is made from its output,
//! and the same template must print the same bytes again.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use roundtrip_model::{Event, Exchange, HttpFacts, Moment, TcpFacts};
use roundtrip_report::write_out::{Template, TemplateInput};

const TARGET: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: 1\r\nContent-Length: 10\r\n\r\n0123456789";
const REDIRECT: &str = "HTTP/1.1 302 Found\r\nLocation: /target\r\nContent-Length: 5\r\n\r\nhello";

/// Answers until the test's process ends; `/target` is the target, every other path redirects
/// there.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request).ok()? == 0 {
            return None;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).ok()? > 2 {
            line.clear();
        }
        let response = if request.starts_with("GET /target ") {
            TARGET
        } else {
            REDIRECT
        };
        stream.write_all(response.as_bytes()).ok()?;
    }
}

fn curl(arguments: &[&str]) -> String {
    let run = Command::new("curl")
        .args(["-q", "-s", "-o", "/dev/null", "--noproxy", "*"])
        .args(arguments)
        .output()
        .expect("this test needs curl, as `apt-get install curl` brings it");
    String::from_utf8(run.stdout).unwrap()
}

fn parse(printed: &str) -> HashMap<&str, &str> {
    printed.lines().filter_map(|l| l.split_once(": ")).collect()
}

/// The exchange that curl's own numbers describe.
fn exchange_of(values: &HashMap<&str, &str>) -> Exchange {
    let number = |name: &str| values[name].parse::<u64>().unwrap();
    let moment = |name: &str| Moment(values[name].replace('.', "").parse::<u64>().unwrap() * 1000);
    let address = |ip: &str, port: &str| {
        format!("{}:{}", values[ip], values[port])
            .parse::<SocketAddr>()
            .ok()
    };
    let peer = address("remote_ip", "remote_port").unwrap();
    let mut e = Exchange {
        url: values["url_effective"].into(),
        tcp: Some(TcpFacts {
            local: address("local_ip", "local_port"),
            peer: Some(peer),
            ..TcpFacts::default()
        }),
        http: Some(HttpFacts {
            method: "GET".into(),
            version: "1.1".into(),
            status: values["http_code"].parse().unwrap(),
            headers: vec![("Content-Type".into(), values["content_type"].into())],
            request_bytes: number("size_request"),
            header_bytes: number("size_header"),
            downloaded: number("size_download"),
            ..HttpFacts::default()
        }),
        ..Exchange::default()
    };
    for (event, name) in [
        (Event::LookupFinished, "time_namelookup"),
        (
            Event::Connected {
                peer,
                deferred: false,
            },
            "time_connect",
        ),
        (Event::RequestStarted, "time_pretransfer"),
        (Event::FirstByte, "time_starttransfer"),
        (Event::Finished, "time_total"),
    ] {
        e.timeline.push(moment(name), event);
    }
    e
}

#[test]
fn the_articles_format_prints_as_curl_prints_it() {
    let url = format!("http://{}/target", serve());
    let format = concat!(
        "@",
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/curl-format.txt"
    );
    let printed = curl(&["-w", format, &url]);
    let values = parse(&printed);
    assert_eq!(values.len(), 27, "{printed}");
    let hops = [exchange_of(&values)];
    let transfer = TemplateInput {
        output_file: Some("/dev/null"),
        ..TemplateInput::new(&hops, &url)
    };
    let ours = Template::parse_file(super::FORMAT)
        .unwrap()
        .render(&transfer);
    assert_eq!(String::from_utf8(ours[0].bytes.clone()).unwrap(), printed);
}

#[test]
fn a_chain_has_curls_counts() {
    let address = serve();
    let url = format!("http://{address}/start?a=b");
    let names = "num_redirects num_connects num_headers size_header size_download size_upload http_code http_version \
                 content_type redirect_url url url_effective method scheme response_code num_certs exitcode errormsg urlnum referer";
    let lines: Vec<String> = names
        .split_whitespace()
        .map(|n| format!("{n}: %{{{n}}}\\n"))
        .collect();
    let template = lines.concat();
    let followed = curl(&["-L", "-w", &template, &url]);
    let stopped = curl(&["-w", &template, &url]);

    let hops = [
        hop(address, "/start?a=b", REDIRECT),
        Exchange {
            hop: 1,
            reused: true,
            ..hop(address, "/target", TARGET)
        },
    ];
    let render = |hops: &[Exchange]| super::rendered(&template, &TemplateInput::new(hops, &url));
    assert_eq!(render(&hops), followed);
    assert_eq!(render(&hops[..1]), stopped);
}

fn hop(address: SocketAddr, path: &str, response: &str) -> Exchange {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers: Vec<(String, Vec<u8>)> = lines
        .filter_map(|l| l.split_once(": "))
        .map(|(n, v)| (n.into(), v.into()))
        .collect();
    let location = headers
        .iter()
        .find(|(n, _)| n == "Location")
        .map(|(_, v)| String::from_utf8(v.clone()).unwrap());
    let mut e = Exchange {
        url: format!("http://{address}{path}"),
        tcp: Some(TcpFacts {
            peer: Some(address),
            ..TcpFacts::default()
        }),
        http: Some(HttpFacts {
            method: "GET".into(),
            version: "1.1".into(),
            status,
            headers,
            header_bytes: head.len() as u64 + 4,
            downloaded: body.len() as u64,
            redirect: location,
            ..HttpFacts::default()
        }),
        ..Exchange::default()
    };
    e.timeline.push(
        Moment(1000),
        Event::Connected {
            peer: address,
            deferred: false,
        },
    );
    e
}

#[test]
fn odd_templates_are_parsed_as_by_curl() {
    let url = format!("http://{}/target", serve());
    let hops = [hop(
        url[7..].split('/').next().unwrap().parse().unwrap(),
        "/target",
        TARGET,
    )];
    for template in [
        "a\\nb\\tc\\rd",
        "\\\\n \\q",
        "100%% %a 5% %",
        "%{}{}",
        "%{http_code}%{onerror}x",
        "%header{x-a}|%header{X-A}|%header{no}|",
        "%{header_json}",
        "%time{}",
        "a\\",
        "%",
        "%{nope}",
        "%{stdout}x%{stderr}y%{stdout}z",
    ] {
        assert_eq!(
            super::rendered(template, &TemplateInput::new(&hops, &url)),
            curl(&["-w", template, &url]),
            "{template}"
        );
    }
}
