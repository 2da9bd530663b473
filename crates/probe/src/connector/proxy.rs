//! Connects through an HTTP proxy: TLS to the proxy if it requires that, and a tunnel if the target
//! needs one.

use roundtrip_http::{ByteStream, open_tunnel};
use roundtrip_model::{Event, Recorder, Scheme, Target};
use roundtrip_tls::Offer;

use super::Connector;
use crate::ProbeError;
use crate::plan::ConnectionPlan;

impl Connector {
    /// Returns the stream to the target, and the status of the answer to CONNECT, or zero.
    pub(super) async fn through_proxy(
        &self,
        mut stream: Box<dyn ByteStream>,
        plan: &ConnectionPlan,
        target: &Target,
        recorder: &Recorder,
    ) -> Result<(Box<dyn ByteStream>, u16), ProbeError> {
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
            // The handshake with the proxy is not that with the target.
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
            &self.options.tunnel_headers(target),
            recorder,
        )
        .await?;
        Ok((stream, status))
    }
}
