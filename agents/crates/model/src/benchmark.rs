//! Benchmark plans and their result rows.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{AppKey, ReleaseId, RunId, UpstreamAddress};

/// Measurement target: the app through a proxy, or the app alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkTarget {
    /// Fairlead's proxy: this server's own, or in the lab another process of it.
    Proxy,
    /// The instance's own port, over plain TCP.
    Direct,
    /// Null proxy of the lab, which forwards bytes without parsing them.
    Floor,
    Nginx,
    Haproxy,
    Envoy,
    Caddy,
    Traefik,
    H2o,
    #[serde(rename = "kamal-proxy")]
    KamalProxy,
    Spooky,
    Godoxy,
}

impl BenchmarkTarget {
    /// Returns whether the target can be measured with this protocol. Apps speak HTTP/1.1; the control plane counts rows by the
    /// same table.
    pub fn speaks(self, protocol: BenchmarkProtocol) -> bool {
        use BenchmarkProtocol::{Grpc, Http1, Http1Cleartext, Http2, Http3};
        match protocol {
            Http1 => true,
            // The app then speaks HTTP/2, and the floor forwards its bytes.
            Grpc => !matches!(self, Self::H2o | Self::KamalProxy | Self::Spooky),
            // Its TCP listener speaks TLS only.
            Http1Cleartext => self != Self::Spooky,
            Http2 => !matches!(self, Self::Direct | Self::Floor),
            Http3 => matches!(
                self,
                Self::Proxy
                    | Self::Envoy
                    | Self::Caddy
                    | Self::Traefik
                    | Self::KamalProxy
                    | Self::Spooky
                    | Self::Godoxy
            ),
        }
    }
}

/// Protocol that the benchmark's clients speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkProtocol {
    /// HTTP/1.1 over TLS; without it for `Direct`.
    Http1,
    Http2,
    Http3,
    /// HTTP/1.1 without TLS; for the lab only.
    #[serde(rename = "http1-cleartext")]
    Http1Cleartext,
    /// Unary calls of gRPC: over HTTP/2 with TLS, and without it (h2c) for `Direct`. A plan with it has no other protocol.
    Grpc,
}

/// Program that answers in the lab.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabServer {
    /// Lab's own app.
    #[default]
    Own,
    /// Node.js with one process per core (module `cluster`).
    NodeCluster,
    /// Uvicorn with one process per core, for Python.
    Uvicorn,
    /// Puma, for Ruby.
    Puma,
    /// Copy of the app's live release.
    Release,
}

/// Response of the lab's app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabApp {
    pub response_bytes: u32,
    pub response_delay: Duration,
    /// Every n-th request gets status 503, or status 14 of gRPC; zero: none. For the lab's own app only.
    pub error_every: u32,
    /// True: serves the endpoints of the latency probes, and no other.
    #[serde(default)]
    pub serves_probes: bool,
    /// True: answers unary calls of gRPC over HTTP/2 without TLS, and nothing else.
    #[serde(default)]
    pub speaks_grpc: bool,
}

/// Impairment of the emulated link between clients and proxies, in each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCondition {
    /// Probability that a packet is lost, in millionths.
    pub loss_per_million: u32,
    /// Time that a packet takes longer.
    pub delay: Duration,
    /// Start of the sequence of random numbers that decide about packets.
    pub seed: u64,
}

/// Packets on the emulated link, in both directions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Packets that the emulator took.
    pub packets: u64,
    /// Packets that it dropped by chance.
    pub lost: u64,
    /// Packets that it dropped because its queue was full, and those that the kernel had no room for. The latter are not
    /// among `packets`.
    pub overflowed: u64,
    /// Packets that it delivered, also those that still waited at the end.
    pub forwarded: u64,
    /// Packets that the kernel counts as sent into the link. They are those that the emulator took.
    pub kernel_sent: u64,
    /// Packets that the kernel counts as received from the link. They are those that the emulator forwarded.
    pub kernel_received: u64,
}

/// Measured condition of the link during a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkReport {
    pub condition: LinkCondition,
    /// From the first connection of the row to its end.
    pub counters: LinkCounters,
    /// Shortest time of several TCP handshakes over the link.
    pub round_trip: Duration,
}

/// Event of a run. Every scenario but the matrix, latency and wake has three phases, and its event happens during the
/// second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchmarkScenario {
    /// Targets × protocols × concurrency, without an event.
    #[default]
    Matrix,
    /// Ten times the requests per second.
    Burst,
    /// As many clients again wait for slow responses.
    SlowUpstream,
    /// A few clients download large responses as fast as they can.
    GreedyClient,
    /// The control plane deploys the app's live release again.
    Deploy,
    /// The app has no instance, and requests wake it.
    Wake,
    /// Another route table for the proxy ten times a second.
    RouteChange,
    /// A new proxy process takes over from the old one.
    ProxyUpgrade,
    /// The network between clients and proxy loses packets.
    PacketLoss,
    /// Latency probes, one row each.
    Latency,
}

impl BenchmarkScenario {
    /// Returns the phases of each combination; `None` is the only one of a matrix and of latency.
    pub fn phases(self) -> &'static [Option<BenchmarkPhase>] {
        use BenchmarkPhase::{After, Before, During};
        match self {
            Self::Matrix | Self::Latency | Self::Wake => &[None],
            _ => &[Some(Before), Some(During), Some(After)],
        }
    }

    /// Returns the probes of each combination; `None` is a plain request.
    pub fn probes(self) -> &'static [Option<BenchmarkProbe>] {
        use BenchmarkProbe::{Json, Sse, Stream, StreamFirstByte, Upload, Websocket};
        match self {
            Self::Latency => {
                &[Some(Json), Some(Upload), Some(StreamFirstByte), Some(Stream), Some(Sse), Some(Websocket)]
            }
            _ => &[None],
        }
    }
}

/// Request or message of a latency probe, and the part of it that latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchmarkProbe {
    /// Small JSON document, from the request to its last byte.
    Json,
    /// Request body of 64 KiB, until the response to all of it.
    Upload,
    /// Streamed response, until its first byte.
    StreamFirstByte,
    /// Streamed response, until its end.
    Stream,
    /// Server-sent event, from its send time to its receipt. Each event counts as a request.
    Sse,
    /// Round trip of a WebSocket message. Each counts as a request.
    Websocket,
}

impl BenchmarkProbe {
    /// Returns its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Upload => "upload",
            Self::StreamFirstByte => "stream-first-byte",
            Self::Stream => "stream",
            Self::Sse => "sse",
            Self::Websocket => "websocket",
        }
    }

    /// Returns the path of its endpoint in the lab's app.
    pub fn path(self) -> &'static str {
        match self {
            Self::Json => "/probe/json",
            Self::Upload => "/probe/upload",
            Self::StreamFirstByte | Self::Stream => "/probe/stream",
            Self::Sse => "/probe/events",
            Self::Websocket => "/probe/websocket",
        }
    }
}

/// Phase of a row around the event of its scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkPhase {
    Before,
    During,
    After,
    /// Stage of an open loop, from 1.
    Stage(u32),
}

/// Program behind a target of the lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkProgram {
    pub target: BenchmarkTarget,
    /// Version as the program prints it.
    pub version: String,
    /// Configuration as the program got it.
    pub configuration: String,
    /// Reason if the program was not measured.
    pub skipped: Option<String>,
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
    /// Over the loopback of a bench namespace, which holds a copy of the app, the clients and the proxies.
    BenchNamespace,
    /// From clients on other servers: over the network between servers to the proxy, and from there to the app.
    BetweenServers,
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

/// Requests of a plan beyond one GET of its path. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkLoad {
    /// Empty: GET of the plan's path.
    pub requests: Vec<BenchmarkRequest>,
    /// Time of a client between a response and its next request, in a closed loop.
    pub think_time: Duration,
    /// Stages of an open loop, each a row of its own.
    pub stages: Vec<BenchmarkStage>,
    /// Number of threads that generate load; `None`: half of the cores, or all of them for a target on another machine.
    #[serde(default)]
    pub workers: Option<NonZeroU32>,
}

/// One of several requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkRequest {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Message of a gRPC call in base64; otherwise text.
    pub body: String,
    /// Number of times in a sequence that has the sum of all weights.
    pub weight: u32,
}

impl BenchmarkRequest {
    pub const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    /// Headers that the generator decides, or that belong to one connection (RFC 9110, section 7.6.1).
    pub const RESERVED_HEADERS: [&str; 10] = [
        "host",
        "content-length",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "expect",
    ];
}

/// Part of an open loop. Its rate changes evenly from that of the stage before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkStage {
    pub duration: Duration,
    /// Requests per second at its end.
    pub rate: f64,
}

/// Targets × protocols × concurrency, repeated in rounds so that noise is shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Set: the lab's app answers, behind proxies that the agent starts. `None`: the app behind this server's proxy.
    pub lab: Option<LabApp>,
    /// Program that answers in the lab as `lab` says.
    pub lab_server: LabServer,
    /// Live release of the app, for the server `Release` only.
    #[serde(default)]
    pub lab_release: Option<ReleaseId>,
    pub scenario: BenchmarkScenario,
    /// True: one connection for each request.
    pub fresh_connections: bool,
    /// Requests per second of an open loop, over all clients; `None`: a closed loop.
    pub rate: Option<f64>,
    pub load: BenchmarkLoad,
    /// Impairment of the second phase of `BenchmarkScenario::PacketLoss`. Its seed is not used.
    pub link: LinkCondition,
    /// Set: this server has a part in a distributed run, and clients and rates are its share.
    #[serde(default)]
    pub part: Option<BenchmarkPart>,
}

/// Part of a server in a distributed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkPart {
    pub role: BenchmarkRole,
    /// Addresses of the app's server; empty for the role `Measure`.
    pub addresses: Vec<SocketAddr>,
    /// Root certificate of the app's server (PEM), to trust beside those of this system; empty: none.
    pub ca_pem: String,
    pub order: RowOrder,
    /// Proof that an address belongs to a server of the organization; `None` for the role `Measure`.
    #[serde(default)]
    pub check: Option<PortCheck>,
}

/// Port check of an organization: its proxies answer a TLS-ALPN-01 handshake for a secret name with a secret digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCheck {
    pub name: String,
    pub answer: [u8; 32],
}

/// Role of a server in a distributed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchmarkRole {
    /// Server of the app: measures while the others send requests.
    Measure,
    Load,
}

/// Row that all servers of a distributed run measure now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOrder {
    pub row: u32,
    /// Start of its measured time by the clock of this server; `None`: not all servers are ready.
    pub start_unix_us: Option<u64>,
}

impl BenchmarkPlan {
    /// Returns the phases of each combination: its stages, or those of its scenario.
    pub fn phases(&self) -> Vec<Option<BenchmarkPhase>> {
        if self.load.stages.is_empty() {
            return self.scenario.phases().to_vec();
        }
        (1..).zip(&self.load.stages).map(|(number, _)| Some(BenchmarkPhase::Stage(number))).collect()
    }
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
    /// Number of 2xx responses, or of gRPC calls with status 0.
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
    #[serde(default)]
    pub phase: Option<BenchmarkPhase>,
    /// Errors by kind.
    #[serde(default)]
    pub failures: BTreeMap<String, u64>,
    /// CPU time of the load generator.
    #[serde(default)]
    pub generator_cpu: Duration,
    /// True if the generator, not the target, limits the result.
    #[serde(default)]
    pub generator_saturated: bool,
    /// CPU time of the app; zero if it is not known.
    #[serde(default)]
    pub app_cpu: Duration,
    /// Number of clients that got a response.
    #[serde(default)]
    pub clients: u32,
    #[serde(default)]
    pub latency_max_us: u64,
    /// Number of requests of an open loop that could not be sent before the end.
    #[serde(default)]
    pub unsent: u64,
    /// Load of the machine beside the measurement; `None`: the kernel does not show it.
    #[serde(default)]
    pub noise: Option<MachineNoise>,
    /// `None`: a plain request.
    #[serde(default)]
    pub probe: Option<BenchmarkProbe>,
    /// Set if an emulated link was between clients and proxies.
    #[serde(default)]
    pub link: Option<LinkReport>,
    /// Number of connections to the lab's app at the end; zero outside the lab.
    #[serde(default)]
    pub app_connections: u32,
    /// Start of the measured time by this server's clock, for a part in a distributed run.
    #[serde(default)]
    pub start_unix_us: Option<u64>,
}

/// CPU time and clock frequency of the machine in the measured time of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineNoise {
    /// Sum of the time of all cores, including idle time.
    pub machine_cpu: Duration,
    /// Time of all processes but proxy, app and load generator; `None` if the time of one of these is not known.
    pub other_cpu: Option<Duration>,
    /// Time that the hypervisor gave to other machines.
    pub steal: Duration,
    /// Mean of the cores; `None` if the machine does not show it.
    pub frequency_mhz: Option<u32>,
}
