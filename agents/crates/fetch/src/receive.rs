//! Downloads: a small response into memory, or a file with resume after a failed attempt.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::digest::Context;
use bytes::Bytes;
use fairlead_base::{Backoff, CancellationToken};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_RANGE, RANGE};
use http::{HeaderValue, Request, StatusCode};
use tokio::io::AsyncWriteExt;

use crate::connection::{Address, piece};
use crate::{Digest, FetchClient, FetchError};

/// Parameters of a download.
#[derive(Debug, Clone, Copy)]
pub struct Receive<'a> {
    /// URL of the file.
    pub url: &'a str,
    /// Bearer token; empty for a request without `Authorization`.
    pub token: &'a str,
    /// Maximum size in bytes; a larger response is an error.
    pub bytes_max: u64,
}

impl FetchClient {
    /// Returns the whole body of a response.
    pub async fn bytes(&self, what: Receive<'_>, accept: &'static str) -> Result<Vec<u8>, FetchError> {
        let mut request = request(what)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        let (address, answer) = self.request(what.url, &request).await?;
        if answer.status() != StatusCode::OK {
            return Err(address.status(answer.status()));
        }
        let (mut body, mut bytes) = (answer.into_body(), Vec::new());
        while let Some(data) = piece(&address, &mut body).await? {
            if bytes.len() as u64 + data.len() as u64 > what.bytes_max {
                return Err(too_large(&address, what));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }

    /// Downloads a file to `to`, which only ever appears whole. Resumes the partial file that an earlier attempt left beside it.
    /// Without a digest, the caller verifies the file.
    pub async fn file(
        &self,
        what: Receive<'_>,
        digest: Option<&Digest>,
        to: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), FetchError> {
        let partial = beside(to);
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
        let mut attempt = 1;
        let context = loop {
            let part = tokio::select! {
                () = cancel.cancelled() => return Err(FetchError::Cancelled),
                part = self.part(what, digest, &partial) => part,
            };
            match part {
                Ok(context) => break context,
                Err(error) if error.is_passing() && attempt < self.attempts => {
                    tracing::info!(%error, attempt, "a file comes in parts");
                    attempt += 1;
                    tokio::select! {
                        () = cancel.cancelled() => return Err(FetchError::Cancelled),
                        () = tokio::time::sleep(backoff.pause()) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        };
        if digest.is_some_and(|digest| !digest.is(context)) {
            // Otherwise every further attempt would resume it.
            tokio::fs::remove_file(&partial).await?;
            return Err(FetchError::Digest { host: Address::parse(what.url)?.host });
        }
        tokio::fs::rename(&partial, to).await?;
        let to = to.to_owned();
        let synced = tokio::task::spawn_blocking(move || fairlead_base::file::sync_folder(&to)).await;
        Ok(synced.map_err(std::io::Error::other)??)
    }

    /// Makes one attempt; returns the hash of the whole partial file.
    async fn part(&self, what: Receive<'_>, digest: Option<&Digest>, partial: &Path) -> Result<Context, FetchError> {
        let (mut have, mut context) = hashed(digest, partial).await?;
        let mut request = request(what)?;
        if have > 0 {
            let range = HeaderValue::from_str(&format!("bytes={have}-"));
            request.headers_mut().insert(RANGE, range.map_err(std::io::Error::other)?);
        }
        let (address, answer) = self.request(what.url, &request).await?;
        let begins = format!("bytes {have}-");
        let goes_on =
            answer.headers().get(CONTENT_RANGE).is_some_and(|range| range.as_bytes().starts_with(begins.as_bytes()));
        match answer.status() {
            StatusCode::PARTIAL_CONTENT if have > 0 && goes_on => {}
            // The partial file is complete.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => return Ok(context),
            StatusCode::OK => (have, context) = (0, Digest::context(digest)),
            status => return Err(address.status(status)),
        }
        let mut file = tokio::fs::OpenOptions::new()
            .create(true)
            .append(have > 0)
            .write(true)
            .truncate(have == 0)
            .open(partial)
            .await?;
        let mut body = answer.into_body();
        loop {
            let data = match piece(&address, &mut body).await {
                Ok(Some(data)) => data,
                Ok(None) => break,
                Err(error) => {
                    // The next attempt resumes from these bytes.
                    file.sync_all().await?;
                    return Err(error);
                }
            };
            have += data.len() as u64;
            if have > what.bytes_max {
                return Err(too_large(&address, what));
            }
            context.update(&data);
            file.write_all(&data).await?;
        }
        file.flush().await?;
        file.sync_all().await?;
        Ok(context)
    }
}

fn beside(to: &Path) -> std::path::PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(".fetch");
    to.with_file_name(name)
}

/// Length and hash of what is there already.
async fn hashed(digest: Option<&Digest>, partial: &Path) -> Result<(u64, Context), FetchError> {
    let (mut context, partial) = (Digest::context(digest), partial.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let mut file = match std::fs::File::open(&partial) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((0, context)),
            file => file?,
        };
        let (mut have, mut buffer) = (0u64, vec![0; 1 << 17]);
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok((have, context));
            }
            context.update(&buffer[..count]);
            have += count as u64;
        }
    });
    let read: std::io::Result<(u64, Context)> = read.await.map_err(std::io::Error::other)?;
    Ok(read?)
}

pub(crate) fn request(what: Receive<'_>) -> Result<Request<Bytes>, FetchError> {
    let mut request = Request::new(Bytes::new());
    if !what.token.is_empty() {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", what.token))
            .map_err(|_| std::io::Error::other("the transfer token is no header"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

fn too_large(address: &Address, what: Receive<'_>) -> FetchError {
    FetchError::TooLarge { host: address.host.clone(), bytes_max: what.bytes_max }
}
