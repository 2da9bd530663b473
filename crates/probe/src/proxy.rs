//! Through an HTTP proxy: TLS to it where it wants that, and a tunnel where the target needs one.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use roundtrip_http::{Stream, open_tunnel};
use roundtrip_model::{Event, Recorder, Scheme, Target};
use roundtrip_tls::Offer;

use crate::plan::Plan;
use crate::request::decoded;
use crate::{ProbeError, Prober};

impl Prober {
    /// TLS to the proxy where it wants that, and a tunnel where the target needs one.
    pub(crate) async fn through_proxy(
        &self,
        mut stream: Box<dyn Stream>,
        plan: &Plan,
        target: &Target,
        recorder: &Recorder,
    ) -> Result<(Box<dyn Stream>, u16), ProbeError> {
        let Some(proxy) = self.options.proxy_for(target) else {
            return Ok((stream, 0));
        };
        if proxy.0.scheme == Scheme::Https {
            recorder.record(Event::TunnelStarted);
            let offer = Offer {
                tls12: true,
                tls13: true,
                post_quantum: self.options.strategy.post_quantum,
                early_data: false,
                resume: false,
                alpn: vec!["http/1.1"],
                quic: false,
            };
            // What happens inside the hop to the proxy is not the target's handshake.
            let aside = recorder.branch();
            let mut tls =
                self.tls_ready()?
                    .connect(stream, &offer, &proxy.0.host_name(), &aside)?;
            tls.handshake().await?;
            stream = Box::new(tls);
        }
        if plan.tls.is_none() {
            if proxy.0.scheme == Scheme::Https {
                recorder.record(Event::TunnelReady);
            }
            return Ok((stream, 0));
        }
        let status = open_tunnel(
            stream.as_mut(),
            target,
            &self.proxy_headers(target),
            recorder,
        )
        .await?;
        Ok((stream, status))
    }

    /// What the proxy, and nobody behind it, is told.
    pub(crate) fn proxy_headers(&self, target: &Target) -> Vec<(String, String)> {
        let mut headers = vec![("User-Agent".to_owned(), self.options.user_agent.clone())];
        if let Some((user, password)) = self.options.proxy_for(target).and_then(|p| p.0.userinfo())
        {
            let token = basic(&decoded(user), &decoded(password));
            headers.push(("Proxy-Authorization".into(), token));
        }
        headers
    }
}

/// RFC 7617 §2.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{user}:{password}"))
    )
}
