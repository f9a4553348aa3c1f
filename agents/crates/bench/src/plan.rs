//! Runs a benchmark plan of desired state: the order of its measurements, and their rows.

use std::net::SocketAddr;

use fairlead_base::CancellationToken;
use fairlead_model::{
    BenchmarkGate, BenchmarkPlan, BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, NetworkPath, UpstreamAddress,
};
use rustls::pki_types::ServerName;

use crate::cell::{Cell, Measurement, REQUEST_TIMEOUT, measure};
use crate::client::{LoadTarget, Protocol};
use crate::error::BenchError;
use crate::mode::Mode;
use crate::tls::client_config;
use crate::turn::MeasurementTurns;

/// Proxy of this server, as a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyTarget {
    /// Address of the HTTPS listener.
    pub address: SocketAddr,
    /// Certificates (DER) to trust, and no others.
    pub roots: Vec<Vec<u8>>,
    /// Process to measure CPU and memory of.
    pub pid: Option<u32>,
}

/// Addresses of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// Path through the proxy; `None` without an HTTPS listener.
    pub proxy: Option<ProxyTarget>,
    /// Path directly to an instance. One with its own network is reached with sockets that its shim hands over, as the proxy
    /// does.
    pub direct: Option<UpstreamAddress>,
}

/// Returns the number of rows of a plan.
pub fn rows_total(plan: &BenchmarkPlan) -> u32 {
    u32::try_from(order(plan).count()).unwrap_or(u32::MAX)
}

/// Runs every measurement of a plan, round by round, and calls `on_row` after each. An error ends the run; rows reported before
/// it stay valid.
pub async fn run_plan(
    plan: &BenchmarkPlan,
    targets: &Targets,
    turns: &MeasurementTurns,
    cancel: CancellationToken,
    mut on_row: impl FnMut(&BenchmarkRow),
) -> Result<Vec<BenchmarkRow>, BenchError> {
    let mut rows = Vec::new();
    for (position, step) in (0..).zip(order(plan)) {
        let cell = cell(plan, targets, step)?;
        let network_path = targets.direct.as_ref().map(NetworkPath::to);
        let turn = turns.take_unless(&cancel).await?;
        let measured = measure(&cell, &cancel).await?;
        drop(turn);
        let row = row(position, step, network_path, &cell, measured);
        on_row(&row);
        rows.push(row);
    }
    Ok(rows)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlannedCell {
    round: u32,
    concurrency: u32,
    protocol: BenchmarkProtocol,
    target: BenchmarkTarget,
}

/// Orders rounds outermost and targets innermost, so that compared targets run one after the other.
fn order(plan: &BenchmarkPlan) -> impl Iterator<Item = PlannedCell> + '_ {
    (0..plan.repeats).flat_map(move |round| {
        plan.concurrency.iter().flat_map(move |concurrency| {
            plan.protocols.iter().flat_map(move |protocol| {
                plan.targets.iter().filter_map(move |target| {
                    // Apps speak HTTP/1.1; newer versions are measured only through the proxy.
                    let speaks = *target == BenchmarkTarget::Proxy || *protocol == BenchmarkProtocol::Http1;
                    speaks.then_some(PlannedCell {
                        round,
                        concurrency: *concurrency,
                        protocol: *protocol,
                        target: *target,
                    })
                })
            })
        })
    })
}

fn cell(plan: &BenchmarkPlan, targets: &Targets, step: PlannedCell) -> Result<Cell, BenchError> {
    let protocol = match step.protocol {
        BenchmarkProtocol::Http1 => Protocol::Http1,
        BenchmarkProtocol::Http2 => Protocol::Http2,
        BenchmarkProtocol::Http3 => Protocol::Http3,
    };
    let (address, tls, pids, name) = match step.target {
        BenchmarkTarget::Direct => {
            let address = targets.direct.clone().ok_or(BenchError::NotRunning)?;
            (address, None, Vec::new(), "the app itself")
        }
        BenchmarkTarget::Proxy => {
            let proxy = targets.proxy.as_ref().ok_or(BenchError::NotRunning)?;
            let host = ServerName::try_from(plan.host.clone());
            let host = host.map_err(|_| BenchError::Plan(format!("`{}` is not a host name", plan.host)))?;
            let tls = Some((client_config(&proxy.roots, protocol)?, host));
            (proxy.address.into(), tls, proxy.pid.into_iter().collect(), "the app through the proxy")
        }
    };
    let authority = match (step.target, port(&address)) {
        (BenchmarkTarget::Proxy, Some(443)) | (_, None) => plan.host.clone(),
        (_, Some(port)) => format!("{}:{port}", plan.host),
    };
    Ok(Cell {
        name: name.to_owned(),
        destination: LoadTarget { address, tls, authority, path: plan.path.clone() },
        protocol,
        mode: Mode::Keepalive,
        rate: None,
        request_timeout: REQUEST_TIMEOUT,
        concurrency: step.concurrency,
        warmup: plan.warmup,
        duration: plan.duration,
        pids,
    })
}

/// Returns a measurement of an instance for a benchmark gate.
pub(crate) fn direct_cell(address: UpstreamAddress, gate: &BenchmarkGate) -> Cell {
    let authority = match port(&address) {
        Some(port) => format!("{}:{port}", gate.host),
        None => gate.host.clone(),
    };
    Cell {
        name: "the new release".to_owned(),
        destination: LoadTarget { address, tls: None, authority, path: gate.path.clone() },
        protocol: Protocol::Http1,
        mode: Mode::Keepalive,
        rate: None,
        request_timeout: REQUEST_TIMEOUT,
        concurrency: gate.concurrency,
        warmup: gate.warmup,
        duration: gate.duration,
        pids: Vec::new(),
    }
}

/// `None`: the app listens on a Unix socket.
fn port(address: &UpstreamAddress) -> Option<u16> {
    match address {
        UpstreamAddress::Tcp { address, .. } | UpstreamAddress::Namespace { address: Some(address), .. } => {
            Some(address.port())
        }
        UpstreamAddress::Unix { .. } | UpstreamAddress::Namespace { address: None, .. } => None,
    }
}

fn row(
    position: u32,
    step: PlannedCell,
    network_path: Option<NetworkPath>,
    cell: &Cell,
    measured: Measurement,
) -> BenchmarkRow {
    let Measurement { tally, cpu, memory_bytes, .. } = measured;
    BenchmarkRow {
        position,
        round: step.round,
        target: step.target,
        protocol: step.protocol,
        network_path,
        concurrency: step.concurrency,
        duration: cell.duration,
        requests: tally.requests,
        errors: tally.errors(),
        latency: tally.latency.sparse().collect(),
        latency_sum_us: tally.latency.sum_us(),
        proxy_cpu: cpu,
        proxy_memory_bytes: memory_bytes,
        bytes_received: tally.body_bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairlead_model::{AppId, AppKey, EnvironmentId, RunId};

    use super::*;

    #[test]
    fn rounds_interleave_the_targets_and_http2_is_measured_through_the_proxy_only() {
        let plan = BenchmarkPlan {
            run: RunId::parse("run_1").unwrap(),
            key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
            host: "hello.localhost".to_owned(),
            path: "/".to_owned(),
            targets: vec![BenchmarkTarget::Proxy, BenchmarkTarget::Direct],
            protocols: vec![BenchmarkProtocol::Http1, BenchmarkProtocol::Http2],
            concurrency: vec![8],
            repeats: 2,
            duration: Duration::from_millis(100),
            warmup: Duration::ZERO,
        };
        let cells: Vec<_> = order(&plan).map(|step| (step.round, step.protocol, step.target)).collect();
        let round = [
            (BenchmarkProtocol::Http1, BenchmarkTarget::Proxy),
            (BenchmarkProtocol::Http1, BenchmarkTarget::Direct),
            (BenchmarkProtocol::Http2, BenchmarkTarget::Proxy),
        ];
        let expected: Vec<_> = (0..2).flat_map(|number| round.map(|(p, t)| (number, p, t))).collect();
        assert_eq!(cells, expected);
        assert_eq!(rows_total(&plan), 6);
    }
}
