//! What follows 101: carries bytes of another protocol both ways, until either side closes.

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::download::BodyDownload;
use super::gather::Gather;
use super::{ExchangeError, Sink, Source};

pub(super) async fn run<B, W, R, A>(
    client: &mut B,
    to: &mut W,
    answer: &mut BodyDownload<'_, R, A>,
) -> Result<(), ExchangeError>
where
    B: Source,
    W: AsyncWrite + Unpin,
    R: Gather,
    A: Sink,
{
    client.upgrade();
    let up = async {
        let mut piece = Vec::new();
        while client.next(&mut piece).await? {
            let passed = async {
                to.write_all(&piece).await?;
                to.flush().await
            };
            // The backend may go without reading for as long as it likes.
            tokio::select! {
                biased;
                passed = passed => passed.map_err(ExchangeError::lost)?,
                () = client.gone() => return Err(ExchangeError::Gone),
            }
            piece.clear();
        }
        // The backend may still be sending.
        to.shutdown().await.map_err(ExchangeError::lost)
    };
    let (mut up, mut down) = (std::pin::pin!(up), std::pin::pin!(answer.until_close()));
    let mut open = true;
    loop {
        tokio::select! {
            ended = &mut down => return ended,
            ended = &mut up, if open => {
                ended?;
                open = false;
            }
        }
    }
}
