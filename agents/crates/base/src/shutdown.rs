//! Cancellation token of the process: SIGTERM and SIGINT cancel it, and every task watches it.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Installs the handlers at once and returns the token that the first SIGTERM or SIGINT cancels.
/// Must be called inside a tokio runtime.
pub fn on_signal() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!(signal = "SIGTERM", "stopping"),
            _ = interrupt.recv() => tracing::info!(signal = "SIGINT", "stopping"),
        }
        cancelled.cancel();
    });
    Ok(token)
}
