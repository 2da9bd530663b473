//! The profile of the regional registries, as far as IANA's registry of RDAP extensions describes
//! it.

use super::network::covers;
use super::{Profile, Report, Scene, rules};
use crate::answer::{Class, Object};

rules! { Nro;
    CLAIM = "nro-conformance", Error, "IANA RDAP Extensions, nro_rdap_profile_0": "the answer names nro_rdap_profile_0";
    MODEL = "nro-asn-model", Warning, "IANA RDAP Extensions, nro_rdap_profile_asn_flat_0 and _hierarchical_0": "an answer about AS numbers names the model that its registry follows";
    MODELS = "nro-asn-models", Error, "IANA RDAP Extensions, nro_rdap_profile_asn_flat_0 and _hierarchical_0": "a registry follows one model of AS numbers";
    CIDR = "nro-cidr", Warning, "IANA RDAP Extensions, cidr0": "a network lists its blocks";
    COVERS = "nro-cidr-covers", Error, "IANA RDAP Extensions, cidr0": "the blocks of a network are its range";
    HANDLE = "nro-handle", Warning, "RFC 9083, sections 5.4 and 5.5": "a network or autonomous system has the handle of its registry";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    if !scene.follows(Profile::Nro) {
        return;
    }
    if !scene.claims("nro_rdap_profile_0") {
        report.add(&CLAIM, "/rdapConformance", "");
    }
    let models = [
        "nro_rdap_profile_asn_flat_0",
        "nro_rdap_profile_asn_hierarchical_0",
    ];
    match models.into_iter().filter(|m| scene.claims(m)).count() {
        0 if scene.class() == Class::Autnum => report.add(&MODEL, "/rdapConformance", ""),
        2 if scene.class() != Class::Help => report.add(&MODELS, "/rdapConformance", ""),
        _ => {}
    }
    if let Object::Network(network) = scene.answer.object() {
        match covers(network) {
            _ if network.items("cidr0_cidrs").next().is_none() => report.add(&CIDR, "", ""),
            Some(false) => report.add(&COVERS, "/cidr0_cidrs", network.cidrs().join(", ")),
            _ => {}
        }
    }
    let numbers = matches!(scene.class(), Class::Network | Class::Autnum);
    if numbers && scene.answer.top().handle().is_none() {
        report.add(&HANDLE, "", "");
    }
}
