//! The settings, from the environment variables that OpenTelemetry specifies.

use std::path::PathBuf;
use std::time::Duration;

use roundtrip_model::{Target, TargetError, excerpt};
use roundtrip_tls::Roots;
use roundtrip_wire::otlp::{Attribute, GRPC_METRICS, GRPC_TRACES};
use roundtrip_wire::percent;

use crate::Sampler;

const PREFIX: &str = "OTEL_EXPORTER_OTLP_";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// Protobuf in POST requests.
    Http,
    Grpc,
}

#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    #[error("{variable}: {source}")]
    Endpoint {
        variable: String,
        source: TargetError,
    },
    #[error("{variable}: '{value}' is not valid; {possible}")]
    Value {
        variable: String,
        value: String,
        possible: &'static str,
    },
    #[error("the TLS client for the collector: {0}")]
    Tls(#[from] roundtrip_tls::TlsError),
}

/// The destination and the protocol of spans and metrics.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    pub(crate) protocol: OtlpProtocol,
    pub(crate) traces: Target,
    pub(crate) metrics: Target,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Duration,
    pub(crate) roots: Roots,
    pub(crate) resource: Vec<Attribute>,
    pub(crate) sampler: Sampler,
    /// The largest number of spans that wait; further ones are dropped.
    pub(crate) max_queue: usize,
    /// The largest number of spans in a request.
    pub(crate) max_batch: usize,
    /// How long spans wait for others.
    pub(crate) delay: Duration,
    pub(crate) metric_interval: Duration,
}

impl OtlpSettings {
    /// Reads the variables with `read`; `endpoint`, if given, takes the place of
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`. `None` if there is no endpoint, or telemetry is switched off.
    pub fn from_environment(
        endpoint: Option<&str>,
        service: &str,
        read: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, OtlpError> {
        // An empty variable counts as unset.
        let read = |name: &str| read(name).filter(|value| !value.is_empty());
        let otlp = |name: &str| read(&format!("{PREFIX}{name}"));
        let base = endpoint.map(str::to_owned).or_else(|| otlp("ENDPOINT"));
        let own = |signal: &str| otlp(&format!("{signal}_ENDPOINT")).filter(|_| endpoint.is_none());
        let is_off = read("OTEL_SDK_DISABLED").is_some_and(|is| is.eq_ignore_ascii_case("true"));
        let (Some(traces), Some(metrics)) = (
            own("TRACES").or_else(|| base.clone()),
            own("METRICS")
                .or_else(|| base.clone())
                .or_else(|| own("TRACES")),
        ) else {
            return Ok(None);
        };
        if is_off {
            return Ok(None);
        }
        let protocol = match otlp("PROTOCOL").as_deref() {
            None | Some("http/protobuf") => OtlpProtocol::Http,
            Some("grpc") => OtlpProtocol::Grpc,
            Some(other) => {
                return Err(wrong("PROTOCOL", other, "choose http/protobuf or grpc"));
            }
        };
        let target = |signal: &str, url: String, grpc: &str, http: &str| {
            let is_whole = protocol == OtlpProtocol::Http && own(signal).is_some();
            let path = match protocol {
                _ if is_whole => "",
                OtlpProtocol::Grpc => grpc,
                OtlpProtocol::Http => http,
            };
            let url = if is_whole {
                &url
            } else {
                url.trim_end_matches('/')
            };
            Target::parse(&format!("{url}{path}")).map_err(|source| OtlpError::Endpoint {
                variable: format!("{PREFIX}ENDPOINT"),
                source,
            })
        };
        let time = |variable: &str, value: Option<String>, default: u64| {
            let parse = |value: String| {
                let possible = "it is a number of milliseconds";
                value.parse().map_err(|_| wrong(variable, &value, possible))
            };
            value.map_or(Ok(default), parse).map(Duration::from_millis)
        };
        let count = |variable: &str, default: usize| {
            let value = read(variable).and_then(|value| value.parse().ok());
            value.filter(|count| *count > 0).unwrap_or(default)
        };
        Ok(Some(Self {
            protocol,
            traces: target("TRACES", traces, GRPC_TRACES, "/v1/traces")?,
            metrics: target("METRICS", metrics, GRPC_METRICS, "/v1/metrics")?,
            headers: pairs(&otlp("HEADERS").unwrap_or_default()),
            timeout: time("TIMEOUT", otlp("TIMEOUT"), 10_000)?,
            roots: match otlp("CERTIFICATE") {
                Some(file) => Roots::File(PathBuf::from(file)),
                None => Roots::System,
            },
            resource: resource(
                service,
                read("OTEL_SERVICE_NAME"),
                &read("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default(),
            ),
            sampler: match read("OTEL_TRACES_SAMPLER") {
                Some(name) => {
                    let argument = read("OTEL_TRACES_SAMPLER_ARG");
                    let possible = "choose always_on, always_off or traceidratio (from 0 to 1), \
                                    each also after parentbased_";
                    let known = Sampler::parse(&name, argument.as_deref());
                    known.ok_or_else(|| OtlpError::Value {
                        variable: "OTEL_TRACES_SAMPLER".into(),
                        value: name,
                        possible,
                    })?
                }
                None => Sampler::default(),
            },
            max_queue: count("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
            max_batch: count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
            delay: time("BSP_SCHEDULE_DELAY", read("OTEL_BSP_SCHEDULE_DELAY"), 5000)?,
            metric_interval: time(
                "METRIC_EXPORT_INTERVAL",
                read("OTEL_METRIC_EXPORT_INTERVAL"),
                60_000,
            )?
            .max(Duration::from_millis(1)),
        }))
    }
}

fn wrong(variable: &str, value: &str, possible: &'static str) -> OtlpError {
    OtlpError::Value {
        variable: format!("{PREFIX}{variable}"),
        value: excerpt(value, 80),
        possible,
    }
}

/// `a=b,c=d`, with percent-encoded values, as in W3C Baggage.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| {
            let value: Vec<u8> = percent::decode(value.trim()).collect();
            let value = String::from_utf8_lossy(&value).into_owned();
            (name.trim().to_owned(), value)
        })
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

/// The facts about the sender. The service's own variable wins over the general one.
fn resource(service: &str, named: Option<String>, attributes: &str) -> Vec<Attribute> {
    let given = pairs(attributes);
    let find = |key: &str| {
        given
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    };
    let name = named.or_else(|| find("service.name").cloned());
    let own = [
        ("service.name", name.unwrap_or_else(|| service.to_owned())),
        ("telemetry.sdk.name", "roundtrip".into()),
        ("telemetry.sdk.language", "rust".into()),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION").into()),
    ];
    let is_own = |key: &str| own.iter().any(|(name, _)| *name == key);
    let others = given.iter().filter(|(name, _)| !is_own(name)).cloned();
    let others = others.map(|(name, value)| Attribute::new(name, value));
    let own = own
        .clone()
        .into_iter()
        .map(|(name, value)| Attribute::new(name, value));
    own.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::otlp::AttributeValue;

    use super::*;

    fn read(
        endpoint: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Option<OtlpSettings>, OtlpError> {
        OtlpSettings::from_environment(endpoint, "probe", |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_sent_without_an_endpoint() {
        assert!(read(None, &[("OTEL_SERVICE_NAME", "x")]).unwrap().is_none());
        assert!(
            read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")])
                .unwrap()
                .is_none()
        );
        let off = [("OTEL_SDK_DISABLED", "true")];
        assert!(read(Some("http://c:4318"), &off).unwrap().is_none());
    }

    #[test]
    fn endpoints_get_the_path_of_their_signal_unless_they_have_their_own() {
        let paths = |variables: &[(&str, &str)]| {
            let read = read(None, variables).unwrap().unwrap();
            [read.traces, read.metrics].map(|target| target.url().to_string())
        };
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/base/");
        assert_eq!(
            paths(&[base]),
            [
                "http://c:4318/base/v1/traces",
                "http://c:4318/base/v1/metrics"
            ]
        );
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/x");
        assert_eq!(
            paths(&[base, own]),
            ["http://t:1/x", "http://c:4318/base/v1/metrics"]
        );
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317");
        assert_eq!(
            paths(&[base, grpc])[0],
            "http://c:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        );
    }

    #[test]
    fn headers_and_attributes_are_pairs_and_the_service_has_its_own_variable() {
        let read = read(
            Some("http://c"),
            &[
                (
                    "OTEL_EXPORTER_OTLP_HEADERS",
                    "authorization=Bearer%20x, a = b ,,=c",
                ),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=n,host.name=h"),
                ("OTEL_SERVICE_NAME", "mine"),
            ],
        );
        let read = read.unwrap().unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            read.headers,
            [pair("authorization", "Bearer x"), pair("a", "b")]
        );
        let value = |key: &str| {
            let found: Vec<_> = read.resource.iter().filter(|a| a.key == key).collect();
            assert_eq!(found.len(), 1, "{key}");
            found[0].value.clone()
        };
        assert_eq!(value("service.name"), AttributeValue::from("mine"));
        assert_eq!(value("host.name"), AttributeValue::from("h"));
    }

    #[test]
    fn wrong_values_are_told() {
        for (variable, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1s"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
        ] {
            let error = read(Some("http://c"), &[(variable, value)])
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(variable) && error.contains(value),
                "{error}"
            );
        }
        let error = read(Some("gopher://c"), &[]).unwrap_err().to_string();
        assert!(error.contains("ENDPOINT"), "{error}");
    }
}
