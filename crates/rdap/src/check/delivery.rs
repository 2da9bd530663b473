//! Checks how the answer was delivered (RFC 7480).

use super::{Report, Scene, rules};
use crate::answer::{Class, MEDIA_TYPE, Object};

rules! { All;
    TYPE_MISSING = "delivery-type-missing", Error, "RFC 7480, section 4.2": "an answer declares its media type";
    TYPE = "delivery-type", Error, "RFC 7480, section 4.2": "the media type is application/rdap+json";
    CORS = "delivery-cors", Warning, "RFC 7480, section 5.6": "Access-Control-Allow-Origin lets web pages read the answer";
    POSITIVE = "delivery-status-positive", Error, "RFC 7480, section 5.1": "an answer with a result has a status below 400";
    NEGATIVE = "delivery-status-negative", Error, "RFC 7480, section 5.3": "an error response has a status of 400 or above";
    CODE = "delivery-status-code", Error, "RFC 9083, section 6": "errorCode is the HTTP status";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let delivery = &scene.delivery;
    if delivery.status == 0 {
        return;
    }
    match delivery.content_type {
        None => report.add(&TYPE_MISSING, "", ""),
        Some(kind) => {
            let essence = kind.split(';').next().unwrap_or_default().trim();
            if !essence.eq_ignore_ascii_case(MEDIA_TYPE) {
                report.add(&TYPE, "", kind);
            }
        }
    }
    if delivery.allow_origin.is_none() {
        report.add(&CORS, "", "");
    }
    let failed = delivery.status >= 400;
    match scene.class() {
        Class::Problem if !failed => report.add(&NEGATIVE, "", delivery.status.to_string()),
        Class::Problem | Class::Unknown | Class::Help => {}
        _ if failed => report.add(&POSITIVE, "", delivery.status.to_string()),
        _ => {}
    }
    if let Object::Problem(problem) = scene.answer.object() {
        let code = problem.code().filter(|c| *c != u64::from(delivery.status));
        if let Some(code) = code.filter(|_| failed) {
            report.add(
                &CODE,
                "/errorCode",
                format!("{code} with HTTP status {}", delivery.status),
            );
        }
    }
}
