//! The page: self-contained, and safe against hostile text.

use std::collections::HashSet;

use proptest::prelude::*;
use roundtrip_model::Exchange;
use roundtrip_report::html::{PageHead, page};

use crate::samples;

#[test]
fn hostile_text_is_escaped() {
    let hostile = "roundtrip </footer><script>".to_owned();
    let head = PageHead {
        made_by: hostile.clone(),
        machine: hostile.clone(),
        command: hostile,
        ..PageHead::default()
    };
    let html = page(&[samples::hostile()], &head);
    assert!(!html.to_lowercase().contains("<script"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!html.contains('\u{1b}') && !html.contains('\u{202e}'));
}

#[test]
fn the_page_loads_and_runs_nothing() {
    let html = page(&samples::repeats(30), &PageHead::default());
    for sign in [
        "<script", "src=", "href=", "@import", "<link", "url(http", "onclick", "onload",
    ] {
        assert!(!html.contains(sign), "{sign}");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn every_page_shows_how_it_was_made() {
    let head = PageHead {
        made_by: "roundtrip 0.1.0".into(),
        when: "Sun, 22 Nov 2026 22:23:33 GMT".into(),
        machine: "host7: Linux 6.18".into(),
        command: "roundtrip probe -c 3 URL".into(),
    };
    for exchanges in [vec![samples::quic()], samples::repeats(3), Vec::new()] {
        let html = page(&exchanges, &head);
        for word in [&head.made_by, &head.when, &head.machine, &head.command] {
            assert!(html.contains(word.as_str()), "{word}");
        }
    }
}

#[test]
fn every_picture_has_a_text_equivalent() {
    for exchanges in [
        samples::redirected(),
        samples::repeats(40),
        vec![samples::quic()],
    ] {
        let html = page(&exchanges, &PageHead::default());
        let ids: Vec<&str> = values(&html, " id=\"");
        let unique: HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "an id appears twice");
        let labels = values(&html, "aria-labelledby=\"");
        assert!(!labels.is_empty());
        for id in labels.iter().flat_map(|l| l.split(' ')) {
            assert!(unique.contains(id), "no element has the id {id}");
        }
    }
}

#[test]
fn each_url_has_its_own_figures() {
    let mut all = samples::repeats(5);
    let first = all[0].url.clone();
    all.extend(samples::repeats(5).into_iter().map(|mut exchange| {
        exchange.url = "https://other.example/".into();
        exchange
    }));
    let html = page(&all, &PageHead::default());
    for url in [first.as_str(), "https://other.example/"] {
        assert!(html.contains(&format!("<h1>{url}</h1>")), "{url}");
    }
    assert_eq!(html.matches("5 requests").count(), 2);
    for part in ["dots-0-t", "dots-5-t"] {
        assert_eq!(html.matches(&format!("id=\"{part}\"")).count(), 1);
    }
}

#[test]
fn tags_are_balanced() {
    let mut all = samples::redirected();
    all.extend([samples::explained(), samples::refused(), samples::hostile()]);
    for html in [
        page(&all, &PageHead::default()),
        page(&[], &PageHead::default()),
        page(&samples::redirected(), &PageHead::default()),
    ] {
        for tag in [
            "div", "svg", "table", "tr", "td", "details", "article", "section", "figure", "dl",
            "p", "text", "rect",
        ] {
            let opened = html.matches(&format!("<{tag} ")).count()
                + html.matches(&format!("<{tag}>")).count();
            let closed = html.matches(&format!("</{tag}>")).count();
            // The defined patterns contain empty elements of the same names.
            let empty = if tag == "rect" { 10 } else { 0 };
            assert_eq!(opened, closed + empty, "{tag}");
        }
    }
}

#[test]
fn failures_come_with_advice_and_chains_with_each_hop() {
    let html = page(&[samples::refused()], &PageHead::default());
    assert!(
        html.contains("refused the connection") && html.contains("something listens on port 8443")
    );
    let html = page(&samples::redirected(), &PageHead::default());
    assert_eq!(html.matches("class=\"waterfall\"").count(), 2);
    assert!(html.contains("301") && html.contains("294.4"));
}

#[test]
fn long_series_are_shown_in_part_with_a_note() {
    let html = page(&samples::repeats(200), &PageHead::default());
    assert_eq!(html.matches("class=\"waterfall\"").count(), 24);
    assert!(html.contains("24 of 200 runs are shown"));
    assert_eq!(html.matches("<circle cx=").count(), 180 + 2);
}

fn values<'a>(html: &'a str, before: &str) -> Vec<&'a str> {
    html.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

proptest! {
    #[test]
    fn any_exchange_becomes_a_page(exchange in crate::any_exchange()) {
        let twice: [Exchange; 2] = [exchange.clone(), exchange];
        prop_assert!(page(&twice[..1], &PageHead::default()).ends_with("</html>"));
        prop_assert!(!page(&twice, &PageHead::default()).contains("NaN"));
    }
}

#[test]
fn each_setting_stands_on_its_own_line_under_the_remedy() {
    let page = page(&[samples::explained()], &PageHead::default());
    let settings = "</p><ul class=\"settings\"><li>nginx: <code>log_format t '$request_time $upstream_response_time';</code></li><li>shell: <code>nice -n -5</code></li></ul>";
    assert!(page.contains(settings), "{page}");
}
