//! Benchmark campaign of `fairlead-agent bench`: compares contenders of a JSON file, for people and for `e2e/perf`.

use std::net::ToSocketAddrs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_model::{BenchmarkProtocol, NetworkPath, UpstreamAddress};
use http::Uri;
use http::uri::Authority;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::Deserialize;

use crate::cell::{Cell, REQUEST_TIMEOUT, measure};

use crate::client::{LoadTarget, Protocol};
use crate::error::BenchError;
use crate::mode::Mode;
use crate::row::{CampaignRow, row};
use crate::tls::client_config;

/// Benchmark plan of a JSON file. Every contender is measured in each round at each concurrency, in turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    pub contenders: Vec<Contender>,
    /// Connection mode of the clients.
    #[serde(default)]
    pub mode: Mode,
    pub concurrency: Vec<u32>,
    /// Number of threads that generate load, at most one per core. Absent: half of the cores, because the measured servers need
    /// the others, or all of them for a contender on another machine.
    #[serde(default)]
    pub workers: Option<NonZeroU32>,
    #[serde(default = "one")]
    pub repeats: u32,
    /// Requests per second of a whole row, for an open loop: requests are sent at fixed times and latency counts from these.
    /// Absent: closed loop.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Limit of one request, in milliseconds.
    #[serde(default = "request_timeout_ms")]
    pub request_timeout_ms: u64,
    /// Measured time of one row, in milliseconds.
    pub duration_ms: u64,
    /// Warm-up time before it, in milliseconds.
    #[serde(default)]
    pub warmup_ms: u64,
}

/// One of the servers to compare.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Name in the rows.
    pub name: String,
    /// URL to request; `http` or `https`.
    pub url: String,
    /// Address to connect to instead of the URL's: `127.0.0.1:3000`, `unix:/path`, or an address in a network that hands over its
    /// sockets, `ns:127.0.0.1:3000@/path`.
    #[serde(default)]
    pub connect: Option<UpstreamAddress>,
    /// PEM file of the certificates to trust; needed for `https`.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// HTTP version, or gRPC with an empty message; HTTP/2 and HTTP/3 need `https`.
    #[serde(default = "http1")]
    pub protocol: BenchmarkProtocol,
    /// Processes to measure CPU and memory of.
    #[serde(default)]
    pub pids: Vec<u32>,
}

/// Measures a campaign in rounds and calls `on_row` after each measurement.
pub async fn run_campaign(
    campaign: &Campaign,
    cancel: CancellationToken,
    mut on_row: impl FnMut(&CampaignRow),
) -> Result<Vec<CampaignRow>, BenchError> {
    let mut rows = Vec::new();
    for round in 0..campaign.repeats {
        for concurrency in &campaign.concurrency {
            for contender in &campaign.contenders {
                let cell = cell(campaign, contender, *concurrency)?;
                let row = row(contender, round, &cell, measure(&cell, &cancel, || ()).await?);
                on_row(&row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn cell(campaign: &Campaign, contender: &Contender, concurrency: u32) -> Result<Cell, BenchError> {
    // Messages name the contender and not its URL, which may hold a secret.
    let unusable = |reason: &str| BenchError::Plan(format!("`{}`: {reason}", contender.name));
    let uri: Uri = contender.url.parse().map_err(|_| unusable("its url is not a URL"))?;
    let host = uri.host().ok_or_else(|| unusable("its url has no host"))?.to_owned();
    let authority = uri.authority().map_or(host.as_str(), Authority::as_str).to_owned();
    if authority.contains('@') {
        return Err(unusable("its url has a user name or a password, which are never sent: remove them"));
    }
    if authority != host && uri.port_u16().is_none() {
        return Err(unusable("its url has an invalid port"));
    }
    let secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(unusable("its url must start with http:// or https://")),
    };
    let protocol = match contender.protocol {
        BenchmarkProtocol::Http2 | BenchmarkProtocol::Http3 if !secure => {
            return Err(unusable("HTTP/2 and HTTP/3 are measured over https"));
        }
        BenchmarkProtocol::Http2 => Protocol::Http2,
        BenchmarkProtocol::Http3 => Protocol::Http3,
        BenchmarkProtocol::Http1 => Protocol::Http1,
        BenchmarkProtocol::Http1Cleartext if secure => return Err(unusable("http1-cleartext is measured over http")),
        BenchmarkProtocol::Http1Cleartext => Protocol::Http1,
        BenchmarkProtocol::Grpc => Protocol::Grpc,
    };
    match (campaign.mode, protocol) {
        (Mode::Fresh | Mode::Resumed | Mode::Idle, Protocol::Http2 | Protocol::Http3 | Protocol::Grpc) => {
            return Err(unusable("only kept connections are measured over HTTP/2 and HTTP/3"));
        }
        (Mode::Resumed, _) if !secure => return Err(unusable("only https has sessions to resume")),
        _ => {}
    }
    if let Some(rate) = campaign.rate {
        if !rate.is_finite() || rate <= 0.0 {
            return Err(unusable("its rate must be more than 0"));
        }
        if campaign.mode != Mode::Keepalive {
            return Err(unusable("an open loop needs kept connections"));
        }
    }
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let address = match &contender.connect {
        Some(address) => address.clone(),
        None => {
            let found = (host.as_str(), port).to_socket_addrs().ok().and_then(|mut found| found.next());
            found.ok_or_else(|| unusable("its host has no address"))?.into()
        }
    };
    match NetworkPath::to(&address) {
        NetworkPath::UnixSocket if secure => return Err(unusable("https is spoken over TCP only")),
        NetworkPath::OwnNetwork if protocol == Protocol::Http3 => {
            return Err(unusable("HTTP/3 is measured over the network of the server only"));
        }
        _ => {}
    }
    let tls = match secure {
        false => None,
        true => {
            let name = ServerName::try_from(host.clone()).map_err(|_| unusable("its host is not a name"))?;
            Some((client_config(&roots(contender)?, protocol)?, name))
        }
    };
    let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    Ok(Cell {
        name: contender.name.clone(),
        destination: LoadTarget { address, tls, authority, path, requests: [].into() },
        protocol,
        probe: None,
        mode: campaign.mode,
        rate: campaign.rate,
        last_rate: None,
        think_time: Duration::ZERO,
        request_timeout: Duration::from_millis(campaign.request_timeout_ms),
        concurrency,
        workers: campaign.workers,
        warmup: Duration::from_millis(campaign.warmup_ms),
        duration: Duration::from_millis(campaign.duration_ms),
        pids: contender.pids.clone(),
        app_pids: Vec::new(),
        knows_processes: false,
        app_address: None,
        network: None,
    })
}

fn roots(contender: &Contender) -> Result<Vec<Vec<u8>>, BenchError> {
    let missing = || BenchError::Plan(format!("`{}` needs ca_file: nothing else is trusted", contender.name));
    let file = contender.ca_file.as_ref().ok_or_else(missing)?;
    let unreadable = |error: rustls::pki_types::pem::Error| BenchError::Plan(format!("{}: {error}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(unreadable)?;
    certificates.map(|der| der.map(|der| der.to_vec()).map_err(unreadable)).collect()
}

fn request_timeout_ms() -> u64 {
    REQUEST_TIMEOUT.as_millis() as u64
}

fn one() -> u32 {
    1
}

fn http1() -> BenchmarkProtocol {
    BenchmarkProtocol::Http1
}
