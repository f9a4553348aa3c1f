//! Benchmark plans and their rows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{AppKey, RunId, UpstreamAddress};

/// What is measured: through the proxy, or the app alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkTarget {
    /// Through this server's proxy, over TLS.
    Proxy,
    /// The instance's own port, over plain TCP.
    Direct,
}

/// The protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkProtocol {
    /// HTTP/1.1 with keepalive.
    Http1,
    /// HTTP/2; of the proxy only.
    Http2,
    /// HTTP/3; of the proxy only.
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
    /// The path to an address.
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
    /// The run.
    pub run: RunId,
    /// The app that is measured.
    pub key: AppKey,
    /// Host that is asked for.
    pub host: String,
    /// Path that is asked for.
    pub path: String,
    /// What is measured.
    pub targets: Vec<BenchmarkTarget>,
    /// How it is spoken to.
    pub protocols: Vec<BenchmarkProtocol>,
    /// Clients at once.
    pub concurrency: Vec<u32>,
    /// Rounds.
    pub repeats: u32,
    /// Measured time of one row.
    pub duration: Duration,
    /// Time before it that does not count.
    pub warmup: Duration,
}

/// One measured cell in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRow {
    /// Place in the run, from 0, without gaps.
    pub position: u32,
    /// Round, from 0.
    pub round: u32,
    /// What was measured.
    pub target: BenchmarkTarget,
    /// How.
    pub protocol: BenchmarkProtocol,
    /// Network path to the app; `None`: no instance was running when the run began.
    #[serde(default)]
    pub network_path: Option<NetworkPath>,
    /// Clients at once.
    pub concurrency: u32,
    /// Time measured.
    pub duration: Duration,
    /// Responses 2xx.
    pub requests: u64,
    /// Other responses, and requests that failed.
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
