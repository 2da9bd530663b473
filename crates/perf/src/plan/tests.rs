//! Plans that are possible, and those that are rejected with a reason.

use std::time::Duration;

use super::*;

fn plan(arms: &[&str]) -> Result<PerfPlan, PlanError> {
    let arms: Result<Vec<Arm>, PlanError> = arms.iter().map(|text| text.parse()).collect();
    let plan = PerfPlan {
        arms: arms?,
        work: Work {
            pattern: Pattern::Down,
            streams: 1,
            connections: 1,
            amount: Amount::For(Duration::from_secs(1)),
        },
        rounds: 1,
        pin: Pin::default(),
        terrain: Terrain::default(),
    };
    plan.check().map(|()| plan)
}

#[test]
fn an_arm_parses_and_prints_as_one_word() {
    for text in [
        "tcp",
        "tls+write262144+aes256+bbr",
        "quic+ack10+gso1+datagram1350+chacha+reno",
        "quic+discover",
        "quic/proto+gso44",
    ] {
        assert_eq!(plan(&[text]).unwrap().arms[0].to_string(), text);
    }
    assert_eq!("quic/own".parse::<Arm>(), "quic".parse());
    assert_eq!("tls+write64k".parse::<Arm>(), "tls".parse());
}

#[test]
fn invalid_plans_are_refused_with_a_reason() {
    for (text, reason) in [
        ("udp", "not a way to carry bytes"),
        ("quic+fast", "not a valid knob"),
        ("quic/moon", "not a valid engine"),
        ("tls/quinn", "chosen for quic"),
        ("tcp+gso10", "does not apply to tcp, only to quic"),
        ("tcp+aes256", "only to tls and quic"),
        ("quic/quinn+gso44", "quinn cannot"),
        ("quic/quinn+packetaead", "write quic/own"),
        ("quic/proto+packetaead", "write quic/own"),
        ("quic/own+packetaead+chacha", "it is AES-GCM"),
        ("tls+packetaead", "only to quic"),
        ("quic/quinn+mirror", "quinn cannot"),
        ("quic/quinn+ackauto", "quinn cannot"),
        ("quic+ack0", "1 to 10000"),
        ("quic+datagram1199", "from 1200 to 1472"),
        ("quic+datagram1473", "from 1200 to 1472"),
        ("tls+write0", "--write-size must be"),
    ] {
        let error = plan(&[text]).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    assert_eq!(
        plan(&["tls", "tls"]).unwrap_err(),
        PlanError::Twice("tls".into())
    );
}

#[test]
fn knobs_that_s2n_lacks_are_refused_with_those_it_has() {
    for (text, reason) in [
        ("quic/s2n+ack10", "s2n cannot do --ack-every 10"),
        ("quic/s2n+ackauto", "s2n cannot do --ack-every auto"),
        ("quic/s2n+gso44", "or one with --gso 1"),
        ("quic/s2n+mirror", "it takes a size, or discover"),
        ("quic/s2n+reno", "it has cubic and bbr"),
        ("quic/s2n+packetaead", "write quic/own"),
        ("quic/s2n+datagram1473", "from 1200 to 1472"),
    ] {
        let error = plan(&[text]).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    for text in ["quic/s2n+gso10+bbr", "quic/s2n+gso1+datagram1200+aes256"] {
        assert_eq!(plan(&[text]).unwrap().arms[0].to_string(), text);
    }
    plan(&["quic/s2n+discover"]).unwrap();
}

/// The program and the processor decide whether it is available; it is never ignored silently.
#[test]
fn packets_are_sealed_as_the_arm_says_or_not_at_all() {
    let text = "quic+aes256+packetaead";
    let is_built = cfg!(feature = "packet-aead");
    match plan(&[text, "quic"]) {
        Ok(plan) => {
            assert!(is_built);
            let [sealed, usual] = [0, 1].map(|at| plan.arms[at].clone());
            assert!(sealed.knobs.packet_aead && !usual.knobs.packet_aead);
            assert_eq!(sealed.to_string(), text);
        }
        Err(error) => {
            let error = error.to_string();
            let reason = if is_built {
                "this processor has no"
            } else {
                "own cannot do packetaead: this program was built without it"
            };
            assert!(error.contains(reason), "{error}");
        }
    }
}

#[test]
fn general_knobs_apply_to_the_arms_that_support_them() {
    let general = Tuning {
        gso: Some(5),
        cipher: Some(Cipher::Aes256),
        ..Tuning::default()
    };
    let arms = Arm::read_all(["tcp", "tls", "quic+gso1"], &general, None).unwrap();
    let names: Vec<String> = arms.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["tcp", "tls+aes256", "quic+gso1+aes256"]);
    let idle = Arm::read_all(["tls"], &general, None).unwrap_err();
    assert!(idle.to_string().contains("--gso applies to none"), "{idle}");
    let idle = Arm::read_all(["tls"], &Tuning::default(), Some(EngineName::Quinn)).unwrap_err();
    assert!(
        idle.to_string().contains("--engine applies to none"),
        "{idle}"
    );
}

#[test]
fn cores_are_two_that_are_allowed() {
    assert_eq!(Pin::among(&[3, 5]), Pin::parse("3,5").unwrap());
    assert_eq!(Pin::among(&[3]), Pin::parse("none").unwrap());
    assert!(Pin::parse("0").is_err() && Pin::parse("a,b").is_err());
    assert!(Pin::parse("0,7").unwrap().check(&[0, 1]).is_err());
    let mut shared = plan(&["tls"]).unwrap();
    shared.pin = Pin::parse("1,1").unwrap();
    assert!(shared.check().is_err());
}

#[test]
fn an_mtu_alone_leaves_the_wire_bare() {
    let words = |text: &str| [("mtu", text.to_owned())];
    let bare = Terrain::described(&words("9000"), None).unwrap();
    let (offload, mtu) = (true, 9000);
    assert_eq!(bare, Terrain::Bare(EndConfig { offload, mtu }));
    let far = Terrain::described(&[("rtt", "9ms".into())], None).unwrap();
    assert!(matches!(
        far,
        Terrain::Emulated(_, EndConfig { offload: false, .. })
    ));
    let forced = Terrain::described(&[("rtt", "9ms".into())], Some(true)).unwrap();
    assert!(forced.ends().unwrap().offload);
    assert!(Terrain::described(&words("12"), None).is_err());
}

#[test]
fn a_pattern_is_lanes() {
    let mut work = plan(&["tls"]).unwrap().work;
    (work.streams, work.connections) = (2, 3);
    work.amount = Amount::Bytes(600);
    assert_eq!((work.lanes().len(), work.share()), (2, Some(100)));
    work.pattern = Pattern::Mixed {
        request: 1,
        response: 2,
    };
    assert_eq!((work.lanes().len(), work.share()), (3, Some(100)));
    work.pattern = Pattern::Both;
    assert_eq!((work.lanes().len(), work.share()), (4, Some(50)));
    work.pattern = Pattern::Requests {
        request: 1,
        response: 2,
    };
    assert!(work.check().is_err(), "requests are not counted in bytes");
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, bytes) in [
        ("0", 0),
        ("64k", 65_536),
        ("2GB", 2_000_000_000),
        ("1MiB", 1 << 20),
    ] {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["", "k", "-1", "1.5k", "9x", "99999999999g"] {
        assert!(size(text).is_err(), "{text}");
    }
}
