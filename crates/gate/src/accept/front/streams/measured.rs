//! A body whose length must equal its `Content-Length`. RFC 9113 §8.1.1, RFC 9114 §4.1.2.

use crate::forward::exchange::{ExchangeError, Source};
use crate::forward::h1::Trailers;
use crate::judge::request::{BadRequestError, Body};

/// Without this check, a backend would treat surplus bytes as the next request, or wait for missing
/// ones.
pub(super) struct Measured<'a, B> {
    body: &'a mut B,
    left: Option<u64>,
}

impl<'a, B> Measured<'a, B> {
    pub(super) fn new(body: &'a mut B, announced: Body) -> Self {
        let left = match announced {
            Body::None => Some(0),
            Body::Length(length) => Some(length),
            Body::Chunked | Body::Framed => None,
        };
        Self { body, left }
    }
}

impl<B: Source> Source for Measured<'_, B> {
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        let before = into.len();
        let more = self.body.next(into).await?;
        let Some(left) = &mut self.left else {
            return Ok(more);
        };
        let came = (into.len() - before) as u64;
        *left = left.checked_sub(came).ok_or(BadRequestError::Length)?;
        if more || *left == 0 {
            Ok(more)
        } else {
            Err(BadRequestError::Length.into())
        }
    }

    fn trailers(&mut self) -> Trailers {
        self.body.trailers()
    }

    fn upgrade(&mut self) {
        self.left = None;
        self.body.upgrade();
    }

    async fn gone(&mut self) {
        self.body.gone().await;
    }

    async fn confirmed(&mut self) -> Result<(), ExchangeError> {
        self.body.confirmed().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns these pieces, and then ends.
    struct Pieces(Vec<&'static str>);

    impl Source for Pieces {
        async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
            let piece = (!self.0.is_empty()).then(|| self.0.remove(0));
            into.extend_from_slice(piece.unwrap_or_default().as_bytes());
            Ok(piece.is_some())
        }

        fn trailers(&mut self) -> Trailers {
            Trailers::default()
        }

        fn upgrade(&mut self) {}

        async fn gone(&mut self) {}

        async fn confirmed(&mut self) -> Result<(), ExchangeError> {
            Ok(())
        }
    }

    async fn read(pieces: &[&'static str], announced: Body) -> Option<String> {
        let mut pieces = Pieces(pieces.to_vec());
        let mut body = Measured::new(&mut pieces, announced);
        let mut all = Vec::new();
        loop {
            match body.next(&mut all).await {
                Ok(true) => {}
                Ok(false) => return Some(String::from_utf8(all).unwrap()),
                Err(error) => {
                    assert!(matches!(
                        error,
                        ExchangeError::Refused(BadRequestError::Length)
                    ));
                    return None;
                }
            }
        }
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_it_says() {
        let whole = Some("abc".to_owned());
        assert_eq!(read(&["a", "bc"], Body::Length(3)).await, whole);
        assert_eq!(read(&["a", "bc"], Body::Framed).await, whole);
        for length in [2, 4] {
            assert_eq!(read(&["a", "bc"], Body::Length(length)).await, None);
        }
        assert_eq!(read(&["a"], Body::None).await, None);
        assert_eq!(read(&[], Body::None).await, Some(String::new()));
    }
}
