//! The gauntlet on a small scale: real exchanges with a fault in each, and the number that is
//! named.

use roundtrip_lab::Stop;
use roundtrip_lab::faults::{self, Gauntlet, GauntletPlan};

const COUNT: usize = 12;

fn gauntlet(seed: u64) -> Gauntlet {
    let plan = GauntletPlan {
        count: COUNT,
        seed,
        ..GauntletPlan::default()
    };
    faults::run(&plan, &Stop::default(), |_, _| ()).unwrap()
}

#[test]
fn most_injected_faults_are_named_first() {
    // A busy machine may spoil one draw, but not three.
    let mut tried = Vec::new();
    for seed in 5..8 {
        let gauntlet = gauntlet(seed);
        assert!(gauntlet.cases.len() == COUNT && !gauntlet.interrupted);
        let answered = gauntlet.cases.iter().filter(|c| c.failure.is_none());
        assert_eq!(answered.count(), COUNT, "{:?}", gauntlet.cases);
        if gauntlet.first_named >= 0.7 && gauntlet.false_alarms < gauntlet.controls.max(1) {
            return;
        }
        tried.push(faults::text::render(&gauntlet));
    }
    panic!("{}", tried.join("\n"));
}

#[test]
fn the_document_has_the_keys_that_programs_read() {
    let plan = GauntletPlan {
        count: 3,
        seed: 1,
        ..GauntletPlan::default()
    };
    let gauntlet = faults::run(&plan, &Stop::default(), |_, _| ()).unwrap();
    let document = serde_json::to_value(&gauntlet).unwrap();
    assert_eq!(document["schema"], "roundtrip/lab/1");
    assert_eq!(document["experiment"], "faults");
    assert!(document["first_named"].is_number() && document["false_alarms"].is_u64());
    let cases = document["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        for key in [
            "fault",
            "path",
            "named",
            "ms_injected",
            "ms_attributed",
            "ok",
        ] {
            assert!(case.get(key).is_some(), "{key} is not in {case}");
        }
    }
    let text = faults::text::render(&gauntlet);
    assert!(text.contains("named first"), "{text}");
}

#[test]
fn an_interrupted_gauntlet_says_so() {
    let stop = Stop::default();
    stop.now();
    let plan = GauntletPlan {
        count: 9,
        seed: 1,
        ..GauntletPlan::default()
    };
    let gauntlet = faults::run(&plan, &stop, |_, _| ()).unwrap();
    assert!(gauntlet.interrupted && gauntlet.cases.is_empty());
}
