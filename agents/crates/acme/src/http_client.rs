//! HTTP client for requests to a certificate authority: bounded bodies, and the authorities that the account names.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fairlead_fetch::FetchClient;
use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};

/// Maximum size of a response; a chain has a few kilobytes.
const RESPONSE_BYTES_MAX: usize = 1024 * 1024;

/// Client of one order.
#[derive(Clone)]
pub(crate) struct AcmeHttpClient {
    client: FetchClient,
    retry_after: RetryAfter,
}

/// Time at which the authority allows the next attempt, in Unix milliseconds.
#[derive(Clone, Default)]
pub(crate) struct RetryAfter(Arc<AtomicU64>);

impl RetryAfter {
    /// Returns zero if the authority named no time.
    pub(crate) fn unix_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Reads the header of a refusal. Seconds only: authorities send no dates.
    fn note(&self, response: &Response<Bytes>) {
        if response.status() != StatusCode::TOO_MANY_REQUESTS && response.status() != StatusCode::SERVICE_UNAVAILABLE {
            return;
        }
        let value = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        if let Some(seconds) = value.and_then(|value| value.trim().parse::<u64>().ok()) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            let at = now.saturating_add(Duration::from_secs(seconds));
            self.0.store(u64::try_from(at.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }
}

impl AcmeHttpClient {
    /// `ca_pem` holds the trusted authorities; empty: the system's.
    pub(crate) fn new(ca_pem: &str) -> Result<Self, fairlead_tls::ClientConfigError> {
        let tls = fairlead_tls::client_config(ca_pem, b"http/1.1")?;
        Ok(Self { client: FetchClient::with_tls(tls), retry_after: RetryAfter::default() })
    }

    pub(crate) fn retry_after(&self) -> RetryAfter {
        self.retry_after.clone()
    }
}

impl HttpClient for AcmeHttpClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let (client, retry_after) = (self.client.clone(), self.retry_after.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = head.uri.to_string();
            let Ok(body) = body.collect().await;
            let sent = client.send_request(&url, &Request::from_parts(head, body.to_bytes()), RESPONSE_BYTES_MAX).await;
            let response = sent.map_err(|error| Error::Other(Box::new(error)))?;
            retry_after.note(&response);
            Ok(response.map(Full::new).into())
        })
    }
}
