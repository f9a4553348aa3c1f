//! Part of this server in a distributed run. Invariant: each row starts at the time that the control plane names, after
//! every server was ready for it, or fails.

use std::time::{Duration, Instant};

use fairlead_base::{CancellationToken, clock};
use fairlead_model::{
    BenchmarkPart, BenchmarkPlan, BenchmarkRole, BenchmarkRow, BenchmarkTarget, NetworkPath, RowOrder,
};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::cell::{Cell, Measurement, measure_from, observe};
use crate::client::Protocol;
use crate::error::BenchError;
use crate::plan::{RunObserver, TargetEndpoint, Targets, cell, order, row};
use crate::port_check::answers_check;
use crate::tls::client_config;
use crate::turn::MeasurementTurns;

/// Time within which an address of the app's server answers.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum wait of a ready server for the others. Each of them may take two minutes for its connections.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// Part of this server, and what it can measure.
#[derive(Debug, Clone, Copy)]
pub struct PartPlace<'a> {
    pub plan: &'a BenchmarkPlan,
    pub part: &'a BenchmarkPart,
    /// Targets on this server, for the role `Measure`.
    pub local: &'a Targets,
}

/// Measures every row of a plan together with the other servers, after the rows that are `done`. `orders` holds the current
/// row and its start.
pub async fn run_part(
    PartPlace { plan, part, local }: PartPlace<'_>,
    done: Vec<BenchmarkRow>,
    mut orders: watch::Receiver<RowOrder>,
    turns: &MeasurementTurns,
    cancel: CancellationToken,
    observer: &mut impl RunObserver,
) -> Result<Vec<BenchmarkRow>, BenchError> {
    let found;
    let targets = match part.role {
        BenchmarkRole::Measure => local,
        BenchmarkRole::Load => {
            found = tokio::select! {
                found = find_target(plan, part) => found?,
                () = cancel.cancelled() => return Err(BenchError::Cancelled),
            };
            &found
        }
    };
    let mut rows = done;
    let steps: Vec<_> = (0..).zip(order(plan)).skip(rows.len()).collect();
    for (position, step) in steps {
        let current = tokio::select! {
            current = orders.wait_for(|order| order.row >= position) => current.map(|order| *order),
            () = cancel.cancelled() => return Err(BenchError::Cancelled),
        };
        if current.map_err(|_| BenchError::Cancelled)?.row > position {
            return Err(BenchError::Part(format!("The other servers went on without its row {}", position + 1)));
        }
        let cell = cell(plan, targets, step)?;
        let turn = turns.take_unless(&cancel).await?;
        let mut started = None;
        let measured = take(part.role, &cell, &cancel, &mut orders, position, observer, &mut started).await?;
        drop(turn);
        let row = BenchmarkRow { start_unix_us: started, ..row(position, step, targets.network_path, &cell, measured) };
        observer.row(&row);
        rows.push(row);
    }
    Ok(rows)
}

/// Measures one row: connects, reports that this server is ready and waits for the start first.
async fn take(
    role: BenchmarkRole,
    cell: &Cell,
    cancel: &CancellationToken,
    orders: &mut watch::Receiver<RowOrder>,
    position: u32,
    observer: &mut impl RunObserver,
    started: &mut Option<u64>,
) -> Result<Measurement, BenchError> {
    let clients = cell.concurrency;
    let begin = |answered: u32| async move {
        if answered < clients {
            let why = format!("Only {answered} of its {clients} clients got a response before the start");
            return Err(BenchError::Part(why));
        }
        observer.ready(position + 1);
        let start = wait_for_start(orders, position).await?;
        start
            .checked_sub(cell.warmup)
            .filter(|begin| *begin >= Instant::now())
            .ok_or_else(|| BenchError::Part("The start of the row arrived too late".to_owned()))
    };
    let on_start = || *started = Some(clock::unix_us());
    match role {
        BenchmarkRole::Load => measure_from(cell, cancel, begin, on_start).await,
        BenchmarkRole::Measure => observe(cell, cancel, begin(clients), on_start).await,
    }
}

/// Returns the start of the measured time.
async fn wait_for_start(orders: &mut watch::Receiver<RowOrder>, position: u32) -> Result<Instant, BenchError> {
    let start = orders.wait_for(|order| order.row != position || order.start_unix_us.is_some());
    let late = |_| BenchError::Part(format!("The other servers were not ready within {} s", START_TIMEOUT.as_secs()));
    let order = *timeout(START_TIMEOUT, start).await.map_err(late)?.map_err(|_| BenchError::Cancelled)?;
    match order {
        RowOrder { row, start_unix_us: Some(start_unix_us) } if row == position => Ok(instant_of(start_unix_us)),
        _ => Err(BenchError::Part(format!("The other servers went on without its row {}", position + 1))),
    }
}

/// Converts a time of this server's wall clock. A time before the start of the machine becomes now.
fn instant_of(unix_us: u64) -> Instant {
    let (now, now_us) = (Instant::now(), clock::unix_us());
    let past = Duration::from_micros(now_us.saturating_sub(unix_us));
    now.checked_sub(past).unwrap_or(now) + Duration::from_micros(unix_us.saturating_sub(now_us))
}

/// Returns the proxy of the app's server as the only target: its first address where a proxy of the organization answers, with a
/// certificate for the host that this server trusts. A certificate alone proves nothing: any host has one.
async fn find_target(plan: &BenchmarkPlan, part: &BenchmarkPart) -> Result<Targets, BenchError> {
    let roots = roots(&part.ca_pem)?;
    let host = ServerName::try_from(plan.host.clone());
    let host = host.map_err(|_| BenchError::Plan(format!("`{}` is not a host name", plan.host)))?;
    let check = part.check.as_ref();
    let check = check.ok_or_else(|| BenchError::Plan("it has no check of the app's server".to_owned()))?;
    let connector = TlsConnector::from(client_config(&roots, Protocol::Http1)?);
    for address in &part.addresses {
        let answers = async {
            answers_check(*address, check).await?;
            connector.connect(host.clone(), TcpStream::connect(address).await?).await
        };
        match timeout(ADDRESS_TIMEOUT, answers).await {
            Ok(Ok(_)) => {
                let proxy = TargetEndpoint { https: Some(*address), ..TargetEndpoint::default() };
                return Ok(Targets {
                    endpoints: [(BenchmarkTarget::Proxy, proxy)].into(),
                    roots,
                    network_path: Some(NetworkPath::BetweenServers),
                    ..Targets::default()
                });
            }
            // Reasons stay in this log: in the run, they would tell which ports are open in this network.
            Ok(Err(error)) => tracing::info!(%address, %error, "the app's server does not answer at an address"),
            Err(_) => tracing::info!(%address, "nothing answers in time at an address of the app's server"),
        }
    }
    let detail = "its server answers at none of its addresses".to_owned();
    Err(BenchError::Unreachable { target: plan.host.clone(), detail })
}

/// Returns the given authority and those of this system (DER).
fn roots(pem: &str) -> Result<Vec<Vec<u8>>, BenchError> {
    let own = CertificateDer::pem_slice_iter(pem.as_bytes()).map(|der| {
        der.map_err(|error| BenchError::Plan(format!("the root of the app's server is not usable: {error}")))
    });
    let own = own.collect::<Result<Vec<_>, _>>()?;
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::debug!(%error, "can't read some of the system's certificate authorities");
    }
    // Some systems still list authorities with an encoding that rustls rejects.
    let usable = system.certs.into_iter().filter(|der| RootCertStore::empty().add(der.clone()).is_ok());
    Ok(own.into_iter().chain(usable).map(|der| der.to_vec()).collect())
}
