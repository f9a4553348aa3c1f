//! Static site over HTTP: files of one folder with clean URLs, a fallback page, and the rules of its `_redirects` and `_headers`.
//! Never leaves its folder, never lists one, never shows a hidden file.

mod answer;
mod caching;
mod contents;
mod headers;
mod path;
mod pattern;
mod redirects;
mod rule_file;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

pub use answer::Site;

/// Serves `folder` on `address` until the process ends. `fallback` is the page for navigation to paths without a file.
pub async fn serve(folder: &Path, fallback: Option<&Path>, address: SocketAddr) -> io::Result<()> {
    let site = Arc::new(Site::open(folder, fallback)?);
    let listener = TcpListener::bind(address).await?;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Most likely the process is out of descriptors; closed connections free some.
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let site = Arc::clone(&site);
                async move { site.answer(request).await }
            });
            let served = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}
