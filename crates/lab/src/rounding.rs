//! How figures are written in JSON.

use serde::Serializer;

/// Serialises with three decimals; integers without a fraction, and non-finite numbers as `null`.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks so
pub(crate) fn rounded<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return serializer.serialize_i64(rounded as i64);
    }
    serializer.serialize_f64(rounded)
}

#[allow(clippy::ref_option)] // serde asks so
pub(crate) fn rounded_some<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if value.is_finite() => rounded(value, serializer),
        _ => serializer.serialize_none(),
    }
}
