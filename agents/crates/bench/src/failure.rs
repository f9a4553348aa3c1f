//! Failures of requests by kind, as the rows of a campaign count them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::time::Duration;

use serde::Serialize;

/// Kind of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The connection was refused or could not be opened in time.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No complete response within the request timeout.
    Timeout,
    /// The connection was closed or reset before the end of the response.
    Closed,
    /// The response was not valid HTTP, or that of a gRPC call was invalid.
    Malformed,
    #[serde(rename = "3xx")]
    Redirect,
    #[serde(rename = "4xx")]
    ClientStatus,
    #[serde(rename = "5xx")]
    ServerStatus,
    /// A gRPC call ended with a status other than 0, or without one.
    GrpcStatus,
}

impl FailureKind {
    /// Returns the name in rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Redirect => "3xx",
            Self::ClientStatus => "4xx",
            Self::ServerStatus => "5xx",
            Self::GrpcStatus => "grpc_status",
        }
    }
}

/// Number of failed requests by kind. Kinds without a failure are absent.
pub type Failures = BTreeMap<FailureKind, u64>;

/// Returns the failure that a status means; `None` for 2xx.
pub(crate) fn of_status(status: u16) -> Option<FailureKind> {
    match status {
        200..300 => None,
        300..400 => Some(FailureKind::Redirect),
        400..500 => Some(FailureKind::ClientStatus),
        500..600 => Some(FailureKind::ServerStatus),
        _ => Some(FailureKind::Malformed),
    }
}

/// Failed request or connection of a client.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub(crate) struct RequestError {
    pub(crate) kind: FailureKind,
    pub(crate) source: Box<dyn Error>,
}

impl RequestError {
    pub(crate) fn new(kind: FailureKind, source: impl Into<Box<dyn Error>>) -> Self {
        Self { kind, source: source.into() }
    }

    /// Returns the failure of a request without a response within `timeout`.
    pub(crate) fn late(timeout: Duration) -> Self {
        Self::new(FailureKind::Timeout, format!("no response within {} s", timeout.as_secs_f64()))
    }

    /// Returns the failure of a connection that was not open within `limit`.
    pub(crate) fn late_connection(limit: Duration) -> Self {
        Self::new(FailureKind::Connect, format!("no connection within {} s", limit.as_secs_f64()))
    }

    /// Returns the failure of a request with a connection that ended before its response.
    pub(crate) fn ended_early() -> Self {
        Self::new(FailureKind::Closed, "the connection was closed before the response ended")
    }

    /// Returns a function that gives an I/O error this kind.
    pub(crate) fn io(kind: FailureKind) -> impl Fn(io::Error) -> Self {
        move |error| Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_but_2xx_are_failures_and_rows_name_their_class() {
        let kinds: Vec<_> = [200, 299, 302, 404, 503, 999].into_iter().map(of_status).collect();
        let expected = [
            None,
            None,
            Some(FailureKind::Redirect),
            Some(FailureKind::ClientStatus),
            Some(FailureKind::ServerStatus),
            Some(FailureKind::Malformed),
        ];
        assert_eq!(kinds, expected);
        let failures =
            Failures::from([(FailureKind::ServerStatus, 2), (FailureKind::Connect, 1), (FailureKind::GrpcStatus, 3)]);
        assert_eq!(serde_json::to_string(&failures).unwrap(), r#"{"connect":1,"5xx":2,"grpc_status":3}"#);
        assert!(failures.keys().all(|kind| serde_json::to_value(kind).unwrap() == kind.name()));
    }
}
