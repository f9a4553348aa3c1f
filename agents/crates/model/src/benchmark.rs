//! Benchmark plans and their result rows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{AppKey, RunId, UpstreamAddress};

/// Measurement target: the app through the proxy, or the app alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkTarget {
    /// Through this server's proxy, over TLS.
    Proxy,
    /// The instance's own port, over plain TCP.
    Direct,
}

/// Protocol that the benchmark's clients speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkProtocol {
    /// HTTP/1.1 with keepalive.
    Http1,
    /// HTTP/2; only for `Proxy`.
    Http2,
    /// HTTP/3; only for `Proxy`.
    Http3,
}

/// Network path of connections to the app, those of the proxy and direct ones alike. Rows of different paths can't be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkPath {
    /// Over the network of the server.
    SharedNetwork,
    /// With sockets of the app's own network, which its shim hands over.
    OwnNetwork,
    /// The app's Unix socket.
    UnixSocket,
}

impl NetworkPath {
    /// Returns the network path to an address.
    pub fn to(address: &UpstreamAddress) -> Self {
        match address {
            UpstreamAddress::Tcp { .. } => Self::SharedNetwork,
            UpstreamAddress::Namespace { address: Some(_), .. } => Self::OwnNetwork,
            UpstreamAddress::Unix { .. } | UpstreamAddress::Namespace { address: None, .. } => Self::UnixSocket,
        }
    }
}

/// Targets × protocols × concurrency, repeated in rounds so that noise is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkPlan {
    pub run: RunId,
    /// App that the benchmark measures.
    pub key: AppKey,
    /// Host of the requests.
    pub host: String,
    /// Path of the requests.
    pub path: String,
    pub targets: Vec<BenchmarkTarget>,
    pub protocols: Vec<BenchmarkProtocol>,
    /// Number of concurrent clients, one row each.
    pub concurrency: Vec<u32>,
    /// Number of rounds; each measures all combinations once.
    pub repeats: u32,
    /// Measured time of one row.
    pub duration: Duration,
    /// Time before the measurement that does not count.
    pub warmup: Duration,
}

/// Result of one combination of target, protocol and concurrency in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRow {
    /// Position in the run, from 0, without gaps.
    pub position: u32,
    /// Round, from 0.
    pub round: u32,
    pub target: BenchmarkTarget,
    pub protocol: BenchmarkProtocol,
    /// Network path to the app; `None`: no instance was running when the run began.
    #[serde(default)]
    pub network_path: Option<NetworkPath>,
    /// Number of concurrent clients.
    pub concurrency: u32,
    /// Length of the measurement.
    pub duration: Duration,
    /// Number of 2xx responses.
    pub requests: u64,
    /// Number of other responses and failed requests.
    pub errors: u64,
    /// Buckets of latency as (index, count), ascending; see the contract's histogram.
    pub latency: Vec<(u32, u64)>,
    /// Sum of latencies in microseconds.
    pub latency_sum_us: u64,
    /// CPU time of the proxy in the row; zero for `Direct`.
    pub proxy_cpu: Duration,
    /// PSS of the proxy at the end of the row; zero for `Direct`.
    pub proxy_memory_bytes: u64,
    /// Bytes of bodies received.
    pub bytes_received: u64,
}
