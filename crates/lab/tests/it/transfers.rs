//! Bytes over a bare wire: costs, the ratio to TLS under the same conditions, and a failing arm
//! that spares the others.

use roundtrip_lab::experiment::read;
use roundtrip_lab::outcome::ArmOutcome;
use roundtrip_lab::text;
use roundtrip_report::terminal::Style;

use crate::{arm, run};

const FEW: &str = "
question = 'What does it cost?'
article = 'A0: none'
measure = 'cost'
runs = 2
baseline = 'tls'
[transfer]
bytes = '2MB'
[[arm]]
name = 'tcp'
transfer = 'tcp'
[[arm]]
name = 'tls'
transfer = 'tls'
[[arm]]
name = 'quic'
transfer = 'quic+ack2+gso1+datagram1280'
[[arm]]
name = 'impossible'
transfer = 'tls'
path = { loss = '100%' }
fails = 'cannot connect'
[[variant]]
name = '@offload'
offload = true
arms = ['tls', 'quic']
[[published]]
name = 'tls'
value = 400
unit = 'Mb/s'
[[published]]
name = 'quic'
value = 100
unit = 'Mb/s'
[[claim]]
text = 'it costs'
holds = 'ratio_to_tls(quic) > 0 and median(tcp) > 0'
";

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs()
}

#[test]
fn a_transfer_is_compared_with_tls_under_the_same_conditions() {
    let text = FEW.replace(
        "[[arm]]\nname = 'impossible'\ntransfer = 'tls'\npath = { loss = '100%' }\nfails = 'cannot connect'\n",
        "",
    );
    let outcome = run(read("few", "few.toml", &text).unwrap(), 2, None);
    assert!(outcome.is_good(), "{outcome:?}");
    let ratio = |name: &str, tls: &str| {
        let median = |arm: &ArmOutcome| arm.figures.median.unwrap();
        let (arm, tls) = (arm(&outcome, name), arm(&outcome, tls));
        let expected = median(tls) / median(arm);
        assert!(
            is_near(arm.ratio_to_tls.unwrap(), expected),
            "{name}: {arm:?}"
        );
    };
    for (name, tls) in [
        ("tcp", "tls"),
        ("tls", "tls"),
        ("quic", "tls"),
        ("tls@offload", "tls@offload"),
        ("quic@offload", "tls@offload"),
        ("tls (A/A)", "tls"),
    ] {
        ratio(name, tls);
    }
    let quic = arm(&outcome, "quic");
    assert_eq!((quic.published, quic.published_ratio), (None, Some(0.25)));
    assert_eq!(arm(&outcome, "tcp").published_ratio, None);
    assert_eq!(arm(&outcome, "quic@offload").offload, Some(true));

    let document = serde_json::to_value(&outcome).unwrap();
    let quic = &document["arms"][2];
    assert_eq!(quic["client"], "quic+ack2+gso1+datagram1280");
    assert_eq!(
        (&quic["unit"], &quic["offload"]),
        (&"s/GB".into(), &false.into())
    );
    for key in ["median", "ratio_to_tls", "gbit_per_s", "receiver"] {
        assert!(quic[key].as_f64().unwrap() > 0.0, "{key}: {quic}");
    }
    assert_eq!(quic["round_trips"], serde_json::Value::Null);
    assert!(quic["samples"][0]["carried"]["bottleneck"].is_string());

    let printed = text::render(&outcome, Style::default());
    let head = printed.lines().nth(3).unwrap();
    let columns: Vec<&str> = head.split_whitespace().take(5).collect();
    assert_eq!(
        columns,
        ["arm", "of", "TLS", "published", "median"],
        "{printed}"
    );
    let row = printed
        .lines()
        .find(|line| line.starts_with("  quic "))
        .unwrap();
    assert!(row.contains(" 0.25 "), "{row}");
}

#[test]
fn an_arm_that_cannot_connect_spares_the_others() {
    let mut experiment = read("few", "few.toml", FEW).unwrap();
    experiment
        .cells
        .retain(|cell| ["tls", "impossible"].contains(&cell.name.as_str()));
    experiment.cells[1].arm = {
        let mut arm = (*experiment.cells[1].arm).clone();
        arm.fails = None;
        arm.into()
    };
    let outcome = run(experiment, 1, None);
    assert_eq!(arm(&outcome, "tls").figures.runs, 1);
    let lost = outcome.arm("impossible").unwrap();
    assert_eq!(
        (lost.failures.len(), lost.ratio_to_tls),
        (1, None),
        "{lost:?}"
    );
    assert!(!outcome.is_good());
}
