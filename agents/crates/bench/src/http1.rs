//! A keepalive HTTP/1.1 client in a closed loop: one request, its whole answer, the next request.

use std::io;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{SharedRef, Stream, pause_after_failure};
use crate::response::ResponseReader;

const BUFFER_BYTES: usize = 8 * 1024;

/// Sends requests until its worker ends it.
pub(crate) async fn run(shared: SharedRef) {
    let destination = &shared.destination;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fairlead-bench\r\nAccept: */*\r\n\r\n",
        destination.path, destination.authority
    );
    let mut ready = false;
    loop {
        let outcome = match shared.connect().await {
            Ok(mut stream) => keep_asking(&mut *stream, request.as_bytes(), &shared, &mut ready).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            shared.failed(&error);
            pause_after_failure().await;
        }
    }
}

/// Uses one connection until the server closes it in order (`Ok`) or it fails.
async fn keep_asking(stream: &mut dyn Stream, request: &[u8], shared: &SharedRef, ready: &mut bool) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut reader = ResponseReader::new();
    loop {
        let started = Instant::now();
        stream.write_all(request).await?;
        stream.flush().await?;
        let response = loop {
            if !buffer.is_empty() {
                let progress = reader.advance(&buffer).map_err(|error| io::Error::other(error.to_string()))?;
                buffer.drain(..progress.consumed);
                if let Some(response) = progress.response {
                    break response;
                }
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                break reader.close().ok_or(io::ErrorKind::UnexpectedEof)?;
            }
        };
        shared.answered(started, response.status, response.body_bytes);
        shared.ready(ready);
        if response.closes {
            return Ok(());
        }
    }
}
