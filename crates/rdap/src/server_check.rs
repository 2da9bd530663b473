//! Makes the requests that `check::server` judges: a few, one after another, at each address of the
//! server, and each only once.

use std::collections::BTreeSet;
use std::net::IpAddr;

use roundtrip_model::Target;
use roundtrip_tls::TlsError;
use url::Url;

use crate::answer::MEDIA_TYPE;
use crate::check::server::{Heard, ORIGIN, RequestForm, ServerReply, Subject, Unheard};
use roundtrip_fetch::pool::{
    Family, Override, Pool, PoolError, PoolErrorKind, PoolRequest, Settings,
};

/// A name that cannot be registered (RFC 6761, section 6.4).
const MISSING: &str = "domain/not-a-domain.invalid";

/// Malformed queries according to RFC 9082: an address, a number, a label of 64 letters, and a
/// kind.
const MALFORMED: [&str; 4] = [
    "ip/999.0.0.1",
    "autnum/not-a-number",
    "domain/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid",
    "not-a-query/1",
];

/// A parameter that no specification defines.
const PARAMETER: &str = "roundtrip_unknown=1";

/// The largest number of addresses of a family that are asked.
pub const MAX_ADDRESSES: usize = 8;

pub struct ServerCheck<'a> {
    /// The server's base URL.
    pub base: &'a Target,
    /// Objects that exist, as paths below the base.
    pub objects: &'a [String],
    pub user_agent: &'a str,
}

/// All results.
#[derive(Debug, Default)]
pub struct Survey {
    pub heard: Vec<Heard>,
    /// The number of addresses to which no request was sent, because there are too many.
    pub left_out: usize,
}

impl ServerCheck<'_> {
    /// Makes all requests at each IPv4 address and then at each IPv6 address, with new connections.
    pub async fn ask(&self, settings: &Settings) -> Result<Survey, TlsError> {
        let mut survey = Survey::default();
        for family in [Family::V4, Family::V6] {
            let settings = Settings {
                family,
                ..settings.clone()
            };
            let pool = Pool::new(settings.clone())?;
            let found = pool.addresses(self.base).await;
            pool.close().await;
            let mut addresses = match found {
                Ok(addresses) => addresses,
                Err(error) => {
                    survey.heard.extend(self.unresolved(family.shown(), &error));
                    continue;
                }
            };
            let mut known = BTreeSet::new();
            addresses.retain(|address| known.insert(*address));
            survey.left_out += addresses.len().saturating_sub(MAX_ADDRESSES);
            for address in addresses.into_iter().take(MAX_ADDRESSES) {
                self.ask_at(address, &settings, &mut survey.heard).await?;
            }
        }
        Ok(survey)
    }

    /// The result for a family that has no address.
    fn unresolved(&self, family: &'static str, error: &PoolError) -> Option<Heard> {
        Some(Heard {
            subject: Subject::Help,
            manner: RequestForm::Get,
            family,
            address: None,
            url: self.base.url().join("help").ok()?,
            reply: Err(unheard(error)),
        })
    }

    async fn ask_at(
        &self,
        address: IpAddr,
        settings: &Settings,
        heard: &mut Vec<Heard>,
    ) -> Result<(), TlsError> {
        let origin = self.base.origin();
        let mut settings = settings.clone();
        settings.overrides = vec![Override {
            host: origin.host,
            port: Some(origin.port),
            addresses: vec![address],
        }];
        let pool = Pool::new(settings)?;
        self.ask_all(&pool, address, heard).await;
        pool.close().await;
        Ok(())
    }

    async fn ask_all(&self, pool: &Pool, address: IpAddr, heard: &mut Vec<Heard>) {
        let malformed = MALFORMED.map(|path| (Subject::Malformed, path));
        let objects = self.objects.iter();
        let objects = objects.map(|path| (Subject::Object, path.as_str()));
        let plan = [(Subject::Help, "help"), (Subject::Missing, MISSING)];
        for (subject, path) in plan.into_iter().chain(malformed).chain(objects) {
            let manners: &[RequestForm] = match subject {
                Subject::Help => &[
                    RequestForm::Get,
                    RequestForm::Head,
                    RequestForm::WithoutOrigin,
                    RequestForm::WithParameter,
                ],
                Subject::Object => &[RequestForm::Get, RequestForm::Head],
                Subject::Missing | Subject::Malformed => &[RequestForm::Get],
            };
            for manner in manners {
                let Some(one) = self.ask_one(pool, address, subject, path, *manner).await else {
                    continue;
                };
                let unreached = one.reply.is_err() && subject == Subject::Help;
                heard.push(one);
                // If the server cannot be reached, no further requests are made.
                if unreached && *manner == RequestForm::Get {
                    return;
                }
            }
        }
    }

    async fn ask_one(
        &self,
        pool: &Pool,
        address: IpAddr,
        subject: Subject,
        path: &str,
        manner: RequestForm,
    ) -> Option<Heard> {
        let mut url: Url = self.base.url().join(path).ok()?;
        if manner == RequestForm::WithParameter {
            url.set_query(Some(PARAMETER));
        }
        let mut request = PoolRequest::new(Target::parse(url.as_str()).ok()?);
        request.early = false;
        request.headers = vec![
            ("Accept".into(), MEDIA_TYPE.into()),
            ("User-Agent".into(), self.user_agent.into()),
        ];
        if manner == RequestForm::Head {
            request.method = "HEAD";
        }
        if matches!(manner, RequestForm::Get | RequestForm::WithParameter) {
            request.headers.push(("Origin".into(), ORIGIN.into()));
        }
        let reply = match pool.fetch(&request).await {
            Ok(reply) => Ok(ServerReply {
                status: reply.status,
                headers: reply.headers,
                body: reply.body,
            }),
            Err(error) => Err(unheard(&error)),
        };
        Some(Heard {
            subject,
            manner,
            family: if address.is_ipv4() { "IPv4" } else { "IPv6" },
            address: Some(address),
            url,
            reply,
        })
    }
}

fn unheard(error: &PoolError) -> Unheard {
    let why = error.kind().to_string();
    match error.kind() {
        PoolErrorKind::NoAddressOfFamily { .. } => Unheard::NoAddress(why),
        fault if fault.is_certificate_refusal() => Unheard::Untrusted(why),
        _ => Unheard::Failed(why),
    }
}
