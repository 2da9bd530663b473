//! The variables: curl's by curl's names and formats, and our own.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roundtrip_model::{EarlyData, Event, PhaseName};

use super::transfer::{TemplateInput, at, connected, looked_up};
use super::url_parts::{self, UrlPart};

pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: fn(&TemplateInput) -> VariableValue,
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A value, with the information that determines how curl prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// Microseconds, printed as seconds with six decimals.
    Time(u64),
    Number(i64),
    /// A status code: three digits.
    Code(u16),
    Text(Option<String>),
}

impl VariableValue {
    pub(super) fn text(&self) -> Vec<u8> {
        match self {
            Self::Code(code) => format!("{code:03}").into_bytes(),
            Self::Text(text) => text.clone().unwrap_or_default().into_bytes(),
            Self::Time(_) | Self::Number(_) => self.json().into_bytes(),
        }
    }

    pub(super) fn json(&self) -> String {
        match self {
            Self::Time(micros) => format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            Self::Number(n) => n.to_string(),
            Self::Code(code) => code.to_string(),
            Self::Text(None) => "null".into(),
            Self::Text(Some(text)) => serde_json::Value::from(text.as_str()).to_string(),
        }
    }
}

pub(super) fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES
        .binary_search_by(|v| v.name.cmp(name))
        .ok()
        .and_then(|place| VARIABLES.get(place))
}

macro_rules! variables {
    ($($name:literal => $value:expr,)*) => {
        &[$(Variable { name: $name, value: $value }),*]
    };
}

/// Sorted by name.
pub(super) static VARIABLES: &[Variable] = variables! {
    "certs" => |t| text(certs(t)),
    "conn_id" => |t| number(t.connection_id),
    "content_type" => |t| VariableValue::Text(t.header("content-type")),
    "errormsg" => |t| VariableValue::Text(t.error.map(str::to_owned)),
    "exitcode" => |t| number(t.exit_code.into()),
    "filename_effective" => |t| VariableValue::Text(t.output_file.map(str::to_owned)),
    "ftp_entry_path" => |_| VariableValue::Text(None),
    "http_code" => |t| VariableValue::Code(t.http().map_or(0, |h| h.status)),
    "http_connect" => |t| VariableValue::Code(proxy_status(t)),
    "http_version" => |t| text(t.http().map_or("0".into(), |h| h.version.clone())),
    "local_ip" => |t| text(t.local().map_or(String::new(), |a| a.ip().to_string())),
    "local_port" => |t| number(t.local().map_or(0, |a| a.port().into())),
    "method" => |t| text(t.asked().map_or(t.method.into(), |h| h.method.clone())),
    "num_certs" => |t| number(t.tls().and_then(|s| s.chain.as_ref()).map_or(0, |c| c.certificates.len() as u64)),
    "num_connects" => |t| number(t.connects()),
    "num_headers" => |t| number(t.headers().len() as u64),
    "num_redirects" => |t| number(t.hops.len().saturating_sub(1) as u64),
    "num_retries" => |_| number(0),
    "proxy_ssl_verify_result" => |_| number(0),
    "proxy_used" => |t| number((t.proxy_used || proxy_status(t) != 0).into()),
    "redirect_url" => |t| VariableValue::Text(t.redirect_url()),
    "referer" => |t| VariableValue::Text(t.referer.map(str::to_owned)),
    "remote_ip" => |t| text(t.remote().map_or(String::new(), |a| a.ip().to_string())),
    "remote_port" => |t| number(t.remote().map_or(0, |a| a.port().into())),
    "response_code" => |t| VariableValue::Code(t.http().map_or(0, |h| h.status)),
    "round_trips" => |t| number(t.run().round_trips().into()),
    "rtt" => |t| VariableValue::Time(t.last().and_then(|e| e.rtt).map_or(0, |r| r.as_micros() as u64)),
    "scheme" => |t| VariableValue::Text(scheme(t)),
    "size_delivered" => |t| number(t.http().map_or(0, |h| h.decoded.max(if h.decoded == 0 { h.downloaded } else { 0 }))),
    "size_download" => |t| number(t.http().map_or(0, |h| h.downloaded)),
    "size_header" => |t| number(t.sum(|h| h.header_bytes)),
    "size_request" => |t| number(t.request_size()),
    "size_upload" => |t| number(t.asked().map_or(0, |h| h.uploaded)),
    "speed_download" => |t| number(t.speed(t.http().map_or(0, |h| h.downloaded))),
    "speed_upload" => |t| number(t.speed(t.asked().map_or(0, |h| h.uploaded))),
    "ssl_verify_result" => |t| number(t.tls().map_or(0, |s| s.verify_result.into())),
    "strategy" => |t| text(t.last().map_or(String::new(), |e| e.used.to_string())),
    "tfo_saved" => |t| number(t.last().and_then(|e| e.tcp.as_ref()).map_or(0, |c| c.fast_open.saved_round_trips.into())),
    "time_appconnect" => |t| VariableValue::Time(t.step_micros(|e| at(e, |v| *v == Event::HandshakeFinished))),
    "time_client" => |t| millis(t.run().waited().client),
    "time_connect" => |t| VariableValue::Time(t.step_micros(connected)),
    "time_namelookup" => |t| VariableValue::Time(t.step_micros(looked_up)),
    "time_network" => |t| millis(t.run().waited().network),
    "time_posttransfer" => |t| VariableValue::Time(t.step_micros(|e| at(e, |v| *v == Event::RequestSent))),
    "time_pretransfer" => |t| VariableValue::Time(t.step_micros(|e| at(e, |v| *v == Event::RequestStarted))),
    "time_queue" => |_| VariableValue::Time(0),
    "time_redirect" => |t| VariableValue::Time(t.redirect_micros()),
    "time_server" => |t| millis(t.run().waited().server),
    "time_setup" => |t| millis(t.run().phase_ms(PhaseName::Setup).unwrap_or(0.0)),
    "time_starttransfer" => |t| VariableValue::Time(t.step_micros(|e| at(e, |v| *v == Event::FirstByte))),
    "time_total" => |t| VariableValue::Time(t.total_micros()),
    "tls_cipher" => |t| text(t.tls().map_or(String::new(), |s| s.cipher.clone())),
    "tls_earlydata" => |t| VariableValue::Number(early_data(t)),
    "tls_group" => |t| text(t.tls().map_or(String::new(), |s| s.group.clone())),
    "tls_hello_retry" => |t| number(t.tls().is_some_and(|s| s.hello_retry).into()),
    "tls_resumed" => |t| number(t.tls().is_some_and(|s| s.resumed).into()),
    "tls_version" => |t| text(t.tls().map_or(String::new(), |s| s.version.clone())),
    "url" => |t| text(t.url.into()),
    "url.fragment" => |t| given(t, UrlPart::Fragment),
    "url.host" => |t| given(t, UrlPart::Host),
    "url.options" => |_| VariableValue::Text(None),
    "url.password" => |t| given(t, UrlPart::Password),
    "url.path" => |t| given(t, UrlPart::Path),
    "url.port" => |t| given(t, UrlPart::Port),
    "url.query" => |t| given(t, UrlPart::Query),
    "url.scheme" => |t| given(t, UrlPart::Scheme),
    "url.user" => |t| given(t, UrlPart::User),
    "url.zoneid" => |_| VariableValue::Text(None),
    "url_effective" => |t| text(t.effective_url()),
    "urle.fragment" => |t| effective(t, UrlPart::Fragment),
    "urle.host" => |t| effective(t, UrlPart::Host),
    "urle.options" => |_| VariableValue::Text(None),
    "urle.password" => |t| effective(t, UrlPart::Password),
    "urle.path" => |t| effective(t, UrlPart::Path),
    "urle.port" => |t| effective(t, UrlPart::Port),
    "urle.query" => |t| effective(t, UrlPart::Query),
    "urle.scheme" => |t| effective(t, UrlPart::Scheme),
    "urle.user" => |t| effective(t, UrlPart::User),
    "urle.zoneid" => |_| VariableValue::Text(None),
    "urlnum" => |t| number(t.url_number.into()),
    "xfer_id" => |t| number(t.id),
};

fn number(n: u64) -> VariableValue {
    VariableValue::Number(i64::try_from(n).unwrap_or(i64::MAX))
}

fn text(text: String) -> VariableValue {
    VariableValue::Text(Some(text))
}

fn millis(ms: f64) -> VariableValue {
    VariableValue::Time((ms * 1e3).round().max(0.0) as u64)
}

fn given(transfer: &TemplateInput, part: UrlPart) -> VariableValue {
    VariableValue::Text(url_parts::part(transfer.url, part))
}

fn effective(transfer: &TemplateInput, part: UrlPart) -> VariableValue {
    VariableValue::Text(url_parts::part(&transfer.effective_url(), part))
}

/// The scheme in capitals, as Debian's curl prints it, if there was a connection.
fn scheme(transfer: &TemplateInput) -> Option<String> {
    transfer.remote()?;
    url_parts::part(&transfer.effective_url(), UrlPart::Scheme).map(|s| s.to_ascii_uppercase())
}

fn proxy_status(transfer: &TemplateInput) -> u16 {
    let statuses = transfer
        .hops
        .iter()
        .filter_map(|e| e.http.as_ref())
        .map(|h| h.proxy_status);
    statuses.rev().find(|s| *s != 0).unwrap_or(0)
}

/// The number of bytes sent as early data; negative if the server refused them.
fn early_data(transfer: &TemplateInput) -> i64 {
    let bytes = transfer
        .http()
        .map_or(0, |h| i64::try_from(h.request_bytes).unwrap_or(i64::MAX));
    match transfer.tls().map(|s| s.early_data) {
        Some(EarlyData::Accepted) => bytes,
        Some(EarlyData::Refused) => -bytes,
        Some(EarlyData::NotOffered) | None => 0,
    }
}

/// The certificate chain: its names, then each certificate as PEM. RFC 7468 §2.
fn certs(transfer: &TemplateInput) -> String {
    let Some(chain) = transfer.tls().and_then(|t| t.chain.as_ref()) else {
        return String::new();
    };
    let mut out = String::new();
    for certificate in &chain.certificates {
        let (subject, issuer) = (&certificate.subject, &certificate.issuer);
        // Writing to a string cannot fail.
        let _ = write!(out, "Subject:{subject}\nIssuer:{issuer}\n");
        if certificate.der.is_empty() {
            continue;
        }
        out.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = STANDARD.encode(&certificate.der);
        for line in encoded.as_bytes().chunks(64) {
            out.extend(line.iter().copied().map(char::from));
            out.push('\n');
        }
        out.push_str("-----END CERTIFICATE-----\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_so_can_be_searched() {
        assert!(VARIABLES.is_sorted_by(|a, b| a.name < b.name));
        for variable in VARIABLES {
            assert_eq!(find(variable.name).map(|v| v.name), Some(variable.name));
        }
    }

    #[test]
    fn values_print_as_curl_prints_them() {
        assert_eq!(VariableValue::Time(1_000_017).text(), b"1.000017");
        assert_eq!(VariableValue::Time(0).text(), b"0.000000");
        assert_eq!(VariableValue::Code(0).text(), b"000");
        assert_eq!(VariableValue::Code(0).json(), "0");
        assert_eq!(VariableValue::Text(None).text(), b"");
        assert_eq!(
            VariableValue::Text(Some("a\"\u{7}".into())).json(),
            r#""a\"\u0007""#
        );
        assert_eq!(VariableValue::Number(-127).text(), b"-127");
    }
}
