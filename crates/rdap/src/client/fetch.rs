//! Fetches one URL, with everything that can avoid or delay the request: a stored copy, the
//! server's rate limit, waiting for a server that complains, and redirects.

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_model::{Scheme, Target};
use tokio::time::Instant;

use super::expected::Asked;
use super::outage::Passing;
use super::{Client, From, Source, SourceError};
use crate::answer::{Answer, AnswerError};
use crate::credentials::{CredentialsError, Secret};
use crate::text::{Part, State};
use roundtrip_fetch::memory::Authority;
use roundtrip_fetch::memory::answers::{Decision, Received, Request, Stored};
use roundtrip_fetch::pool::{PoolError, PoolRequest, Reply};
use roundtrip_fetch::rate_limiter::{Permit, Verdict};

const MAX_REDIRECTS: usize = 5;
/// The `Accept` field (RFC 7480 §4.2).
const ACCEPT: &str = "application/rdap+json, application/json;q=0.5";
const AUTHORIZATION: &str = "Authorization";
/// The largest number of challenges: a server could call every nonce stale and so continue without
/// end.
const MAX_CHALLENGES: u32 = 2;

impl Client {
    /// Fetches the answer that `target` leads to, over redirects. The future is boxed because
    /// thousands of lookups wait at once: memory for a request is allocated only while it is sent.
    pub(super) fn fetch<'a>(
        &'a self,
        target: &'a Target,
        asked: Asked,
    ) -> Pin<Box<dyn Future<Output = Result<Box<Source>, SourceError>> + 'a>> {
        Box::pin(self.fetch_along(target, asked))
    }

    async fn fetch_along(&self, target: &Target, asked: Asked) -> Result<Box<Source>, SourceError> {
        // Passwords are sent only to their origin.
        let mut target = target.clone().without_userinfo();
        let mut seen: Vec<String> = Vec::new();
        let mut clear = false;
        loop {
            let url = target.url().as_str().to_owned();
            if seen.contains(&url) || seen.len() > MAX_REDIRECTS {
                let why = match seen.len() {
                    1 => "a redirect that leads to itself".to_owned(),
                    n => format!("{n} redirects, and no answer"),
                };
                return Err(trouble(&target, State::Failed, why));
            }
            let mut source = self.fetch_once(&target, asked).await?;
            clear |= target.scheme == Scheme::Http;
            source.clear = clear;
            let Some(next) = redirect(&source) else {
                source.expect(asked.expected);
                return Ok(source);
            };
            seen.push(url);
            target = next?.without_userinfo();
        }
    }

    /// Like `fetch`, but equal requests in flight share one answer.
    async fn fetch_once(&self, target: &Target, asked: Asked) -> Result<Box<Source>, SourceError> {
        let fetch = || Box::pin(self.fetch_here(target, asked));
        if !self.options.shares {
            return fetch().await;
        }
        let url = target.url().as_str().to_owned();
        let (mut outcome, is_anothers) = self.flights.join(url, fetch).await;
        if let Ok(source) = &mut outcome
            && let Some(timing) = &mut source.timing
        {
            timing.coalesced |= is_anothers;
        }
        outcome
    }

    /// Fetches without following redirects.
    async fn fetch_here(&self, target: &Target, asked: Asked) -> Result<Box<Source>, SourceError> {
        let headers = self.headers(target)?;
        let credentials = self.is_known_to(target);
        let request = Request {
            method: "GET",
            url: target.url().as_str(),
            headers: &headers,
            credentials,
        };
        match self
            .memory
            .decide(&request, &self.options.policy, Self::now())
        {
            Decision::Fresh(stored) => Ok(remembered(target, stored, From::Memory)),
            Decision::NotThere(why) => Err(trouble(target, State::Failed, why.to_string())),
            Decision::Fetch => self.ask(target, &request, &mut None, asked).await,
            Decision::Revalidate {
                stored,
                headers: conditions,
            } => {
                let mut copy = Some((stored, conditions));
                self.ask(target, &request, &mut copy, asked).await
            }
        }
    }

    /// Requests the answer over the network, conditionally if there is a copy.
    async fn ask(
        &self,
        target: &Target,
        request: &Request<'_>,
        copy: &mut Option<(Stored, Vec<(String, String)>)>,
        asked: Asked,
    ) -> Result<Box<Source>, SourceError> {
        loop {
            let mut ask = PoolRequest::new(target.clone());
            ask.early = self.options.early && !request.credentials;
            // `fetch_once` has found equal ones.
            ask.shares = false;
            ask.headers = request.headers.to_vec();
            if let Some((_, conditions)) = copy.as_ref() {
                ask.headers.extend(conditions.iter().cloned());
            }
            let asked_at = Self::now();
            let (reply, patience) = self.ask_politely(&mut ask, asked.personal).await?;
            let received = Received {
                status: reply.status,
                headers: &reply.headers,
                body: &reply.body,
                asked_at,
                received_at: Self::now(),
            };
            if reply.status == 304
                && let Some((stored, _)) = copy.take()
            {
                if let Some(stored) = self.memory.confirm(request, stored, &received) {
                    let source = remembered(target, stored, From::Confirmed);
                    return Ok(Box::new(Source {
                        timing: Some(reply.timing),
                        patience,
                        ..*source
                    }));
                }
                // The server confirmed another copy: ask again without conditions.
                continue;
            }
            // An answer that cannot be used is not stored: the next one may be better.
            let answer = Answer::read(reply.body.clone());
            let fits = |answer: &Answer| asked.expected.mismatch(answer).is_none();
            if reply.status != 200 || answer.as_ref().is_ok_and(fits) {
                self.memory.keep_answer(request, &received);
            }
            return Ok(received_now(target, reply, answer, patience));
        }
    }

    /// Waits for permission to ask, and repeats the request as often as allowed if the server
    /// complains.
    async fn ask_politely(
        &self,
        ask: &mut PoolRequest,
        personal: bool,
    ) -> Result<(Reply, Duration), SourceError> {
        let mut patience = Duration::ZERO;
        let mut challenges = 0;
        let mut complaint = None;
        for asked in 1.. {
            let heard = self.ask_patiently(ask, personal, &mut patience).await;
            let (permit, reply) = heard.map_err(|trouble| match complaint.take() {
                Some(words) => SourceError {
                    why: format!("{} ({words})", trouble.why),
                    ..trouble
                },
                None => trouble,
            })?;
            let after = reply.header("retry-after");
            let verdict = self.rate_limiter.heard(&permit, reply.status, after, asked);
            match verdict.await {
                Verdict::AskAgain { .. } => {
                    complaint = words(&reply);
                    continue;
                }
                tired @ Verdict::GiveUp { status: 429, .. } => self.memory.note(tired.to_string()),
                Verdict::GiveUp { .. } | Verdict::Content => {}
            }
            challenges += u32::from(reply.status == 401);
            if reply.status != 401
                || challenges > MAX_CHALLENGES
                || !self.answer_challenge(ask, &reply)?
            {
                return Ok((reply, patience));
            }
        }
        Err(trouble(
            &ask.target,
            State::Failed,
            "asked too often".into(),
        ))
    }

    /// Asks once, and again if a new connection closed in silence, or while the server is out.
    async fn ask_patiently(
        &self,
        ask: &PoolRequest,
        personal: bool,
        patience: &mut Duration,
    ) -> Result<(Permit, Reply), SourceError> {
        let target = &ask.target;
        let origin = Authority::from(target);
        let health = self.outages.health(&origin);
        let mut persistence = health.persistence();
        let mut closed = false;
        loop {
            *patience += persistence.wait().await;
            let permit = self.rate_limiter.acquire(&origin, personal).await;
            let permit = permit.map_err(|e| trouble(target, State::Refused, e.to_string()))?;
            *patience += permit.waited;
            self.saved.load(target, &self.pool, Self::now());
            let began = Instant::now();
            let reply = self.pool.fetch(ask).await;
            // A server, or a proxy before it, can close even a new connection: once is chance.
            let is_silent = |e: &PoolError| e.kind().is_silent_end();
            if reply.as_ref().is_err_and(is_silent) && !std::mem::replace(&mut closed, true) {
                continue;
            }
            match Passing::from_reply(&reply) {
                Some(failure) if persistence.failed(began, self.outage_patience(failure)) => {
                    continue;
                }
                Some(_) => {}
                None => {
                    if let (Ok(_), Some(lasted)) = (&reply, persistence.answered()) {
                        let seconds = lasted.as_secs_f64();
                        self.memory.note(format!(
                            "{origin} did not answer for {seconds:.1} s; lookups waited for it"
                        ));
                    }
                }
            }
            let reply = reply.map_err(|e| SourceError {
                untrusted: e.kind().is_certificate_refusal(),
                ..trouble(target, State::Failed, e.to_string())
            });
            return Ok((permit, reply?));
        }
    }

    /// Handles a request for credentials. Returns whether to repeat the request.
    fn answer_challenge(&self, ask: &mut PoolRequest, reply: &Reply) -> Result<bool, SourceError> {
        let Some(credentials) = &self.options.credentials else {
            return Ok(false);
        };
        let refuse = |e: CredentialsError| trouble(&ask.target, State::Refused, e.to_string());
        let lines = reply.headers.iter();
        let lines = lines.filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let sent = ask.headers.iter().find(|(name, _)| name == AUTHORIZATION);
        let sent = sent.map(|(_, value)| Secret::from(value.as_str()));
        let heard = credentials.hear(
            &ask.target,
            lines.map(|(_, value)| value.as_slice()),
            sent.as_ref(),
        );
        if !heard.map_err(refuse)? {
            return Ok(false);
        }
        ask.headers.retain(|(name, _)| name != AUTHORIZATION);
        ask.headers.extend(self.authorization(&ask.target)?);
        ask.early = false;
        Ok(true)
    }

    fn authorization(&self, target: &Target) -> Result<Option<(String, String)>, SourceError> {
        let Some(credentials) = &self.options.credentials else {
            return Ok(None);
        };
        let value = credentials.header(target, "GET");
        let value = value.map_err(|e| trouble(target, State::Refused, e.to_string()))?;
        Ok(value.map(|secret| (AUTHORIZATION.to_owned(), secret.expose().to_owned())))
    }

    /// Whether the server learns the client's identity, now or when it requests that. If so, its
    /// answers are for this client only.
    fn is_known_to(&self, target: &Target) -> bool {
        let credentials = self.options.credentials.as_ref();
        let certified = self.options.certified.as_ref();
        credentials.is_some_and(|credentials| credentials.are_for(target))
            || certified.is_some_and(|origin| origin.same_origin(target))
    }

    fn headers(&self, target: &Target) -> Result<Vec<(String, String)>, SourceError> {
        let mut headers = self.plain_headers();
        headers.extend(self.authorization(target)?);
        Ok(headers)
    }

    pub(super) fn plain_headers(&self) -> Vec<(String, String)> {
        vec![
            ("Accept".to_owned(), ACCEPT.to_owned()),
            ("User-Agent".to_owned(), self.options.user_agent.clone()),
        ]
    }
}

/// What an error response says, in one line.
fn words(reply: &Reply) -> Option<String> {
    let answer = Answer::read(reply.body.clone()).ok()?;
    let status = format!("HTTP {}", reply.status);
    let part = Part {
        server: None,
        state: State::from_status(reply.status),
        answer: Some(&answer),
        why: Some(&status),
        clear: false,
        other: None,
    };
    crate::text::trouble(&part).filter(|words| *words != status)
}

/// The target of a redirect, or the reason why it is not followed. RFC 7480 §5.2.
fn redirect(source: &Source) -> Option<Result<Target, SourceError>> {
    if !matches!(source.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = source.header("location")?;
    let from = &source.target;
    let refuse = |why: &str| {
        let location: String = String::from_utf8_lossy(location)
            .chars()
            .take(200)
            .collect();
        trouble(
            from,
            State::Failed,
            format!("a redirect to '{location}': {why}"),
        )
    };
    let Ok(text) = std::str::from_utf8(location) else {
        return Some(Err(refuse("no URL")));
    };
    let next = match from.join(text) {
        Ok(next) => next,
        Err(error) => return Some(Err(refuse(&error.to_string()))),
    };
    if next.scheme == Scheme::Tcp {
        return Some(Err(refuse("not an http or https URL")));
    }
    if from.scheme == Scheme::Https && next.scheme != Scheme::Https {
        return Some(Err(refuse("it leaves TLS, and is not followed")));
    }
    Some(Ok(next))
}

pub(super) fn trouble(target: &Target, state: State, why: String) -> SourceError {
    SourceError {
        url: target.redacted(),
        state,
        why,
        untrusted: false,
    }
}

fn remembered(target: &Target, stored: Stored, from: From) -> Box<Source> {
    Box::new(Source {
        target: target.clone(),
        status: stored.status,
        headers: stored.headers,
        answer: Answer::read(stored.body.clone()).map_err(Rc::new),
        body: stored.body,
        from,
        clear: false,
        mismatch: None,
        other: None,
        patience: Duration::ZERO,
        timing: None,
    })
}

fn received_now(
    target: &Target,
    reply: Reply,
    answer: Result<Answer, AnswerError>,
    patience: Duration,
) -> Box<Source> {
    Box::new(Source {
        target: target.clone(),
        status: reply.status,
        headers: reply.headers,
        answer: answer.map_err(Rc::new),
        body: reply.body,
        from: From::Network,
        clear: false,
        mismatch: None,
        other: None,
        patience,
        timing: Some(reply.timing),
    })
}
