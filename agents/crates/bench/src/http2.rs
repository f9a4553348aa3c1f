//! HTTP/2 clients: a connection carries a fixed number of streams, each a separate closed loop.

use std::time::Instant;

use bytes::Bytes;
use h2::client::SendRequest;
use http::{Method, Request, Version};

use crate::client::{SharedRef, pause_after_failure};
use crate::failure::{FailureKind, RequestError};

const WINDOW_BYTES: u32 = 1024 * 1024;

/// Runs `streams` loops on one connection until the worker ends.
pub(crate) async fn run(shared: SharedRef, streams: u32) {
    let mut ready = vec![false; streams as usize];
    loop {
        if let Err(error) = connection(&shared, &mut ready).await {
            shared.failed(&error);
        }
        pause_after_failure().await;
    }
}

async fn connection(shared: &SharedRef, ready: &mut [bool]) -> Result<(), RequestError> {
    let stream = shared.connect(&shared.destination).await?;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES * 4).enable_push(false);
    let (sender, connection) = builder.handshake::<_, Bytes>(stream).await.map_err(failure)?;
    let destination = &shared.destination;
    let request = Request::builder()
        .method(Method::GET)
        .version(Version::HTTP_2)
        .uri(format!("https://{}{}", destination.authority, destination.path))
        .header("user-agent", "fairlead-bench")
        .body(())
        .map_err(|error| RequestError::new(FailureKind::Malformed, error))?;
    let mut loops = tokio::task::JoinSet::new();
    for said in ready.iter() {
        loops.spawn_local(request_loop(sender.clone(), request.clone(), shared.clone(), *said));
    }
    drop(sender);
    tokio::select! {
        ended = connection => ended.map_err(failure)?,
        failed = loops.join_next() => {
            if let Some(outcome) = failed {
                outcome.map_err(|error| RequestError::new(FailureKind::Closed, error))?.map_err(failure)?;
            }
        }
    }
    // An ended stream closes its connection. All its clients count as ready, since the others would never become ready.
    ready.fill(true);
    Err(RequestError::new(FailureKind::Closed, "the server closed the connection"))
}

/// Gives an error its kind: h2 itself raises protocol errors, for bytes that are not valid.
fn failure(error: h2::Error) -> RequestError {
    let invalid = error.is_library() && !error.is_io();
    RequestError::new(if invalid { FailureKind::Malformed } else { FailureKind::Closed }, error)
}

async fn request_loop(
    mut sender: SendRequest<Bytes>,
    request: Request<()>,
    shared: SharedRef,
    mut ready: bool,
) -> Result<(), h2::Error> {
    loop {
        sender = sender.ready().await?;
        let started = Instant::now();
        let (response, _) = sender.send_request(request.clone(), true)?;
        let (head, mut body) = response.await?.into_parts();
        let mut body_bytes = 0;
        while let Some(data) = body.data().await {
            let length = data?.len();
            body_bytes += length as u64;
            body.flow_control().release_capacity(length)?;
        }
        shared.answered(started, head.status.as_u16(), body_bytes);
        shared.ready(&mut ready);
    }
}
