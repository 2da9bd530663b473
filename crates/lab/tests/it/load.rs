//! Servers that depend on others, load generators, and the resource use of a server's processes.

use roundtrip_lab::experiment::read;

use crate::{arm, lacks, run};

const HEAD: &str = "
question = 'Who asks whom?'
article = 'none'
runs = 1
[[server]]
name = 'origin'
knobs = {}
place = '/bytes/100'
";

#[test]
fn a_server_behind_a_further_path_is_as_far_as_both() {
    if lacks("a server behind a further path", &["curl"]) {
        return;
    }
    let more = "measure = 'total'\n[path]\nrtt = '20ms'\n[[server]]\nname = 'near'\nknobs = {}\n\
         far = { server = 'origin', scheme = 'http', port = 8000, path = { rtt = '60ms' } }\n\
         [[arm]]\nname = 'far'\nprogram = 'curl'\nscheme = 'http'\nserver = 'near'\noutput = { unit = 's' }\n\
         arguments = ['-sSf', '-o', '/dev/null', '-w', '%{time_total}\\n', 'http://@address@:8000/bytes/100']\n";
    let outcome = run(read("far", "far.toml", &file(more)).unwrap(), 1, None);
    let least = arm(&outcome, "far").figures.min.unwrap();
    // A handshake and a request over each of the two paths: nothing can be faster.
    assert!(least >= 2.0 * 20.0 + 2.0 * 60.0, "{least}");
}

#[test]
fn a_rate_is_the_generator_s_unless_a_request_failed() {
    if lacks("a load generator", &["python3"]) {
        return;
    }
    let serve = "from http.server import *; HTTPServer((\"0.0.0.0\", 80), SimpleHTTPRequestHandler).serve_forever()";
    let ask = "import urllib.request as u, sys; [u.urlopen(sys.argv[1]).read() for _ in range(int(sys.argv[2]))]";
    let generator = |name: &str, failed: u32| {
        format!(
            "[[arm]]\nname = '{name}'\nprogram = 'python3'\nscheme = 'http'\nserver = 'program'\nrequests = 20\n\
             at-server = true\narguments = ['-c', '{ask}; print(\"Failed: {failed}\\nRate: 512.5 a second, @concurrency@ at once\")', '@url@', '@requests@']\n\
             output = {{ after = 'Rate:', unit = '/s', once = true, zero = ['Failed:'] }}\n"
        )
    };
    let more = format!(
        "measure = 'rate'\nunit = 'requests/s'\n[[server]]\nname = 'program'\nready = 'port'\nplace = '/'\n\
         command = ['python3', '-c', '{serve}']\n{}{}\
         [[claim]]\ntext = 'it works'\nholds = 'cpu(good) > 1 and median(good) == 512.5'\n",
        generator("good", 0),
        generator("bad", 3)
    );
    let outcome = run(read("load", "load.toml", &file(&more)).unwrap(), 1, None);
    let good = arm(&outcome, "good");
    assert_eq!(good.figures.median, Some(512.5));
    assert!(good.figures.cpu_us.unwrap() > 1.0, "{:?}", good.figures);
    assert_eq!(outcome.claims[0].holds, Some(true));
    let failures = &outcome.arm("bad").unwrap().failures;
    assert!(
        failures[0].contains("'Failed: 3', which must be 0"),
        "{failures:?}"
    );
}

#[test]
fn a_missing_module_is_reported_and_is_not_a_failure() {
    if lacks("a module", &["python3"]) {
        return;
    }
    let more = "measure = 'total'\n[[server]]\nname = 'other'\ncommand = ['auth_proxy.py', 'a', 'b']\n\
         needs = ['auth_proxy.py', 'python:no_such_module']\n\
         [[arm]]\nname = 'a'\nstrategy = 'h1+clear'\nserver = 'other'\n";
    let outcome = run(read("x", "x.toml", &file(more)).unwrap(), 1, None);
    let told = outcome.arm("a").unwrap().not_run.clone().unwrap();
    assert!(
        told.contains("Python's no_such_module is not installed"),
        "{told}"
    );
}

/// The file's top-level keys come before its tables.
fn file(more: &str) -> String {
    let (keys, tables) = more.split_at(more.find('[').unwrap_or(more.len()));
    let (head, server) = HEAD.split_at(HEAD.find('[').unwrap_or_default());
    let (path, rest) = match tables.strip_prefix("[path]") {
        Some(_) => tables.split_at(tables.find("[[").unwrap_or_default()),
        None => ("", tables),
    };
    format!("{head}{keys}{path}{server}{rest}")
}
