//! Makes the requests that `check::server` judges: a few, one after another, over each address
//! family, and each only once.

use roundtrip_model::Target;
use roundtrip_tls::TlsError;
use url::Url;

use crate::answer::MEDIA_TYPE;
use crate::check::server::{Heard, ORIGIN, RequestForm, ServerReply, Subject, Unheard};
use roundtrip_fetch::pool::{Family, Pool, PoolError, PoolErrorKind, PoolRequest, Settings};

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

pub struct ServerCheck<'a> {
    /// The server's base URL.
    pub base: &'a Target,
    /// Objects that exist, as paths below the base.
    pub objects: &'a [String],
    pub user_agent: &'a str,
}

impl ServerCheck<'_> {
    /// Makes all requests over IPv4 and then over IPv6, each with separate settings.
    pub async fn ask(&self, settings: [Settings; 2]) -> Result<Vec<Heard>, TlsError> {
        let mut heard = Vec::new();
        for (settings, family) in settings.into_iter().zip([Family::V4, Family::V6]) {
            let pool = Pool::new(Settings { family, ..settings })?;
            self.ask_over(&pool, family.shown(), &mut heard).await;
            pool.close().await;
        }
        Ok(heard)
    }

    async fn ask_over(&self, pool: &Pool, family: &'static str, heard: &mut Vec<Heard>) {
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
                let Some(one) = self.ask_one(pool, family, subject, path, *manner).await else {
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
        family: &'static str,
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
            family,
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
