//! Uploads a file in parts to a store that keeps files by digest. Skips parts that the store has.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use fairlead_base::{Backoff, CancellationToken};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::receive::request;
use crate::{FetchClient, FetchError, Receive};

const PART_BYTES: u64 = 8 << 20;
/// Maximum number of attempts without progress.
const ATTEMPTS: u32 = 5;
/// Header with the number of bytes that the store has.
const OFFSET: &str = "upload-offset";

/// Work that the store accepts an upload for.
#[derive(Debug, Clone, Copy)]
pub enum SendReason<'a> {
    /// Id of the deployment that built the file.
    Deployment(&'a str),
    /// Id of the task that packed a volume.
    VolumeTask(&'a str),
}

impl<'a> SendReason<'a> {
    fn header(self) -> (&'static str, &'a str) {
        match self {
            Self::Deployment(id) => ("fairlead-deployment", id),
            Self::VolumeTask(id) => ("fairlead-volume-task", id),
        }
    }
}

/// Parameters of an upload.
#[derive(Debug, Clone, Copy)]
pub struct Send<'a> {
    /// URL of the file in the store.
    pub url: &'a str,
    /// Bearer token of the `Authorization` header.
    pub token: &'a str,
    /// Path of the local file.
    pub file: &'a Path,
    /// Work that made the file.
    pub reason: SendReason<'a>,
}

impl Send<'_> {
    fn request(&self, method: Method) -> Result<Request<Bytes>, FetchError> {
        let mut request = request(Receive { url: self.url, token: self.token, bytes_max: 0 })?;
        *request.method_mut() = method;
        let (name, id) = self.reason.header();
        request.headers_mut().insert(name, HeaderValue::from_str(id).map_err(std::io::Error::other)?);
        Ok(request)
    }
}

impl FetchClient {
    /// Uploads the parts of the file that the store lacks.
    pub async fn send(&self, what: Send<'_>, cancel: &CancellationToken) -> Result<(), FetchError> {
        let mut file = tokio::fs::File::open(what.file).await?;
        let total = file.metadata().await?.len();
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
        let (mut at, mut failures) = (None, 0);
        loop {
            let step = async {
                let from = match at {
                    Some(from) => from,
                    None => match self.held(what, total).await? {
                        Some(held) => held,
                        None => return Ok(None),
                    },
                };
                self.send_part(what, &mut file, from, total).await
            };
            let result = tokio::select! {
                () = cancel.cancelled() => return Err(FetchError::Cancelled),
                result = step => result,
            };
            match result {
                Ok(None) => return Ok(()),
                Ok(Some(next)) => {
                    // A store that makes no progress would be asked forever.
                    failures = if at.is_none_or(|at| next > at) { 0 } else { failures + 1 };
                    at = Some(next);
                    if failures >= ATTEMPTS {
                        return Err(crate::connection::Address::parse(what.url)?.failed("it takes nothing"));
                    }
                }
                Err(error) if error.is_passing() && failures + 1 < ATTEMPTS => {
                    failures += 1;
                    at = None;
                    tokio::select! {
                        () = cancel.cancelled() => return Err(FetchError::Cancelled),
                        () = tokio::time::sleep(backoff.pause()) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the number of bytes that the store has; `None` if it has the whole file and verified it.
    async fn held(&self, what: Send<'_>, total: u64) -> Result<Option<u64>, FetchError> {
        let head = what.request(Method::HEAD)?;
        let (address, answer) = self.request(what.url, &head).await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(Some(0)),
            StatusCode::OK | StatusCode::NO_CONTENT => match number(answer.headers(), OFFSET) {
                Some(offset) => Ok(Some(offset.min(total))),
                None if number(answer.headers(), CONTENT_LENGTH.as_str()) == Some(total) => Ok(None),
                None => Err(FetchError::Digest { host: address.host }),
            },
            status => Err(address.status(status)),
        }
    }

    /// Uploads one part; returns the next offset, or `None` when the store has the whole file.
    async fn send_part(
        &self,
        what: Send<'_>,
        file: &mut tokio::fs::File,
        from: u64,
        total: u64,
    ) -> Result<Option<u64>, FetchError> {
        let length = PART_BYTES.min(total.saturating_sub(from));
        let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
        file.seek(std::io::SeekFrom::Start(from)).await?;
        file.read_exact(&mut bytes).await?;
        let mut put = what.request(Method::PUT)?;
        let range = if length == 0 {
            format!("bytes */{total}")
        } else {
            format!("bytes {from}-{}/{total}", from + length - 1)
        };
        put.headers_mut().insert(CONTENT_RANGE, HeaderValue::from_str(&range).map_err(std::io::Error::other)?);
        *put.body_mut() = Bytes::from(bytes);
        let (address, answer) = self.request(what.url, &put).await?;
        match answer.status() {
            StatusCode::CREATED | StatusCode::OK => Ok(None),
            StatusCode::ACCEPTED => Ok(Some(number(answer.headers(), OFFSET).unwrap_or(from + length))),
            StatusCode::CONFLICT => {
                let offset = number(answer.headers(), OFFSET).filter(|offset| *offset <= total);
                offset.map(Some).ok_or_else(|| address.status(StatusCode::CONFLICT))
            }
            StatusCode::UNPROCESSABLE_ENTITY => Err(FetchError::Digest { host: address.host }),
            status => Err(address.status(status)),
        }
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}
