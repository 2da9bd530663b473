//! When, where and by which command something was measured, in every form of output.

use serde_json::Value;

use crate::probe::peer::Site;

const SECRET: &str = "hush-hush";

#[test]
fn every_document_says_what_made_it_and_tells_no_secret() {
    let site = Site::start();
    let (page, url) = (site.path("page.html"), site.https("/"));
    let user = format!("me:{SECRET}");
    let header = format!("Authorization: Bearer {SECRET}");
    let asked = [
        "-c", "2", "-i", "0", "-u", &user, "-H", &header, "--html", &page, &url,
    ];
    let report = site.report(&asked).document;
    let lines = site.probe(&[&["--ndjson"], &asked[..]].concat()).out;
    let lines: Vec<Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    for document in lines.iter().chain([&report]) {
        for key in ["started", "host", "version"] {
            assert!(document[key].is_string(), "{key}: {document}");
        }
        assert_eq!(document["argv"][1], "probe");
        let argv = document["argv"].to_string();
        assert!(argv.contains("***") && !argv.contains(SECRET), "{argv}");
    }
    let started = |v: &Value| v["started"].as_str().unwrap().to_owned();
    assert!(started(&lines[0]) < started(&lines[1]), "each has its own");
    assert!(started(&report) <= started(&report["results"][0]));
    let page = std::fs::read_to_string(page).unwrap();
    for word in ["Measured", "Machine", "Program", "To reproduce", "-u '***'"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains(SECRET));
}
