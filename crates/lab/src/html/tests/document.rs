//! Text that the page must contain, and elements that it must not.

use std::collections::HashSet;

use crate::LabOutcome;
use crate::html::page;
use proptest::prelude::*;

use super::samples::{bare, head, outcome};

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    let html = page(&[outcome(), outcome()], &head());
    for sign in [
        "<script", "src=", "@import", "<link", "url(http", "http://", "https://", "onclick",
        "onload",
    ] {
        assert!(!html.contains(sign), "{sign}");
    }
    for link in values(&html, "href=\"") {
        assert!(link.starts_with('#'), "{link}");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn every_arm_claim_and_reason_is_shown() {
    let html = page(&[outcome()], &head());
    let text = text(&html);
    for words in [
        "What does a kept connection save?",
        "no-reuse (A/A)",
        "pigs fly",
        "does not hold: pigs fly",
        "was not measured: nobody knows",
        "1 of 3 hold",
        "published: 1104.0 ms",
        "no-reuse 830.0 ms in 9 round trips, published 1104.0",
        "best of others 344.7 ms",
        "broken, 2 times: it fell over",
        "absenthttping is not installed",
        "the second byte was late",
        "swallowedrequest 2: no answer",
        "2 packets. client: SYN, shows its cookie, 93 bytes; sent at 0.000; lost: drop-syn-data. server: SYN+ACK; sent at 1046",
        "roundtrip lab run persistence --seed 1",
        "roundtrip lab run all --html page.html",
        "Linux 6.1 on x86_64, 2 cores",
        "Sun, 06 Nov 1994",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn verdict_and_control_are_built_from_measurements() {
    let text = text(&page(&[outcome()], &head()));
    let verdict = "reuse saves most: 44 % against no-reuse, 368.0 of 830.0 ms (95 % interval 368.0 to 368.0 ms), 5 round trips instead of 9.";
    assert!(text.contains(verdict), "{text}");
    assert!(text.contains("and its repetition, differed by −0.500 ms"));
}

#[test]
fn without_a_saving_none_is_claimed() {
    let mut none = outcome();
    for arm in &mut none.arms {
        arm.saving = arm.saving.take().map(|mut saving| {
            saving.shown = Some(false);
            saving
        });
    }
    assert!(text(&page(&[none.clone()], &head())).contains("No arm shows a saving"));
    for arm in &mut none.arms {
        arm.saving = arm.saving.take().map(|mut saving| {
            saving.shown = None;
            saving
        });
    }
    let unsure = text(&page(&[none.clone()], &head()));
    assert!(
        unsure.contains("(of 6 pairs, too few to be sure)"),
        "{unsure}"
    );
    assert!(unsure.contains("too few to tell drift from chance"));
    none.arms.iter_mut().for_each(|arm| arm.saving = None);
    assert!(text(&page(&[none.clone()], &head())).contains("Too little was measured"));
    none.arms = vec![bare("absent", 0)];
    assert!(text(&page(&[none], &head())).contains("Nothing could be measured"));
}

#[test]
fn each_round_trip_of_a_bar_is_a_cut() {
    let html = page(&[outcome()], &head());
    let cuts: Vec<usize> = html
        .split("<g class=\"cuts\">")
        .skip(1)
        .map(|rest| rest.split("</g>").next().unwrap_or_default())
        .map(|cuts| cuts.matches("<line").count())
        .collect();
    assert_eq!(cuts, [9, 5, 9]);
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "<script>alert(1)</script>\u{1b}[31m\u{202e}\"' onload=x";
    let html = page(&[said_everywhere(hostile)], &head());
    assert!(!html.to_lowercase().contains("<script"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!html.contains('\u{1b}') && !html.contains('\u{202e}'));
    assert!(!html.contains("\" onload") && !html.contains("\"' onload"));
}

fn said_everywhere(text: &str) -> LabOutcome {
    let mut o = outcome();
    for place in [
        &mut o.experiment,
        &mut o.question,
        &mut o.article,
        &mut o.unit,
        &mut o.again,
    ] {
        place.replace_range(.., text);
    }
    o.path.say(text, vec![text.to_owned()]);
    for arm in &mut o.arms {
        (arm.name, arm.client, arm.server) = (text.into(), text.into(), text.into());
        arm.notes = vec![text.into()];
        arm.failures = vec![text.into()];
        arm.path.say(text, vec![text.to_owned()]);
        if let Some(saving) = &mut arm.saving {
            saving.against = text.into();
        }
    }
    for claim in &mut o.claims {
        (claim.text, claim.unit) = (text.into(), text.into());
    }
    for curve in &mut o.curves {
        (curve.word, curve.unit) = (text.into(), text.into());
        for line in &mut curve.lines {
            line.arm = text.into();
            line.points.iter_mut().for_each(|p| p.value = text.into());
        }
    }
    o.published.iter_mut().for_each(|p| p.name = text.into());
    o
}

#[test]
fn every_picture_has_its_own_words() {
    let html = page(&[outcome(), outcome()], &head());
    let ids = values(&html, " id=\"");
    let unique: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id appears twice");
    let labels = values(&html, "aria-labelledby=\"");
    assert_eq!(
        labels.len(),
        2 * 5,
        "arms, distances, waterfalls, packets, curve"
    );
    for id in labels.iter().flat_map(|label| label.split(' ')) {
        assert!(unique.contains(id), "no element has the id {id}");
    }
    for anchor in values(&html, "href=\"#") {
        assert!(unique.contains(anchor), "{anchor}");
    }
    assert_eq!(
        html.matches("<table").count(),
        html.matches("<caption").count()
    );
}

#[test]
fn tags_are_balanced() {
    for html in [page(&[outcome()], &head()), page(&[], &head())] {
        for tag in [
            "div", "svg", "g", "table", "tr", "td", "th", "details", "article", "figure", "dl",
            "p", "text", "line", "circle", "nav", "ol", "li",
        ] {
            let opened = html.matches(&format!("<{tag} ")).count()
                + html.matches(&format!("<{tag}>")).count();
            let closed = html.matches(&format!("</{tag}>")).count();
            // Two of the defined patterns write a dot as an empty element.
            let empty = 2 * usize::from(tag == "circle");
            assert_eq!(opened, closed + empty, "{tag}");
        }
    }
}

fn values<'a>(html: &'a str, before: &str) -> Vec<&'a str> {
    html.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

/// The page without its tags.
pub(crate) fn text(html: &str) -> String {
    html.split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| text)
        .collect()
}

proptest! {
    /// No value breaks a page; NaN and infinities do not appear in it.
    #[test]
    fn any_figure_becomes_a_page(values in proptest::collection::vec(any::<f64>(), 1..6), published: f64) {
        let mut o = outcome();
        for arm in &mut o.arms {
            for (sample, value) in arm.samples.iter_mut().zip(&values) {
                sample.value = *value;
            }
            arm.figures = crate::outcome::Figures::from_samples(&arm.samples);
            arm.published = published.is_finite().then_some(published);
        }
        let html = page(&[o], &head());
        prop_assert!(html.ends_with("</html>"));
        let in_attributes = html.split('"').any(|value| value.contains("NaN") || value.starts_with("inf"));
        prop_assert!(!in_attributes);
    }
}
