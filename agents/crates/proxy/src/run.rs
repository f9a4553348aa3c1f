//! The `proxy` subcommand: receives sockets on standard input, starts the cores, and runs the control loop until a
//! stop.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_base::{CancellationToken, shutdown};
use fairlead_reactor::SendRing;
use fairlead_tls::{CertificateStore, ServerConfigs, Tickets};
use fairlead_wire::local::proxy_command;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::access_log::AccessLogWriter;
use crate::confine::confine;
use crate::control::{
    ControlServer, ListenerKind, OwnedListener, ProxyError, ProxyKeys, ProxySockets, ServeEnd, SupervisorChannel,
};
use crate::core::{AnnouncedPorts, Siblings};
use crate::filters::SharedPolicyState;
use crate::h3::{EndpointSockets, QuicSettings};
use crate::health_check::HealthChecks;
use crate::limits::Limits;
use crate::worker::{Worker, WorkerOptions};

/// Maximum wait for the sockets, which `run` sends first.
const SOCKETS_TIMEOUT: Duration = Duration::from_secs(10);
/// Descriptors reserved for other uses than clients: sockets to apps, listeners and event loops.
const DESCRIPTORS_APART: u64 = 256;

/// Serves until SIGTERM, SIGINT or a drain command, with only the rights that serving needs. Creates its own threads
/// and runtime, so it must be called outside of any runtime. The descriptor limit sets the maximum number of clients,
/// whatever `limits` says.
pub fn run(agent_version: &str, limits: Limits) -> Result<(), ProxyError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ProxyError::system("cannot make the control thread's runtime"))?;
    runtime.block_on(async {
        let shutdown = shutdown::on_signal().map_err(ProxyError::system("cannot install signal handlers"))?;
        let stream = inherited_socket().map_err(|_| ProxyError::NotStartedByRun)?;
        let descriptors = raise_descriptor_limit().map_err(ProxyError::system("cannot read the descriptor limit"))?;
        let mut channel = SupervisorChannel::new(stream);
        let (sockets, keys) = receive_sockets(&mut channel).await?;
        let cores = u64::try_from(sockets.cores()).unwrap_or(1);
        // Each client may need a second descriptor for its app.
        let connections_max = descriptors.saturating_sub(DESCRIPTORS_APART) * 2 / 3 / cores;
        let connections_max = u32::try_from(connections_max).unwrap_or(u32::MAX).max(64);
        let limits = Limits { connections_max, ..limits };
        serve_sockets(agent_version, limits, (sockets, keys), Some(channel), true, &shutdown).await
    })
}

/// Serves on sockets of this process until `shutdown`; accepts `run` on the control socket.
pub async fn serve(
    agent_version: &str,
    limits: Limits,
    sockets: ProxySockets,
    shutdown: &CancellationToken,
) -> Result<(), ProxyError> {
    serve_sockets(agent_version, limits, (sockets, ProxyKeys::generate()?), None, false, shutdown).await
}

async fn serve_sockets(
    agent_version: &str,
    limits: Limits,
    (sockets, keys): (ProxySockets, ProxyKeys),
    channel: Option<SupervisorChannel>,
    confined: bool,
    shutdown: &CancellationToken,
) -> Result<(), ProxyError> {
    let certificates = Arc::new(CertificateStore::default());
    let tickets = Tickets::new(&keys.tickets)?;
    let tls = ServerConfigs::new(Arc::clone(&certificates), Arc::clone(&tickets))?;
    let port = |kind| sockets.address(kind).map(|address| address.port());
    let ports = AnnouncedPorts { https: port(ListenerKind::Https), quic: port(ListenerKind::Quic) };
    let mut workers = Vec::new();
    let listeners = share_out(&sockets).map_err(ProxyError::system("cannot duplicate the listening sockets"))?;
    let control_path = sockets.control_path().map_err(ProxyError::system("the control socket has no path"))?;
    let quic = QuicSettings::new(&*tls.quic()?, &keys, &limits)?;
    let ways = EndpointSockets::of_cores(&listeners, quic.generation, &control_path);
    // A confined process can use a ring but can't make one.
    let send_rings = send_rings(listeners.len());
    // The user who started this process commands it, even after a switch to another user.
    let owner = rustix::process::geteuid().as_raw();
    if confined {
        fairlead_tls::load_system_authorities();
        confine().map_err(ProxyError::system("cannot give up the rights that serving does not need"))?;
    }
    let access_log = AccessLogWriter::start().map_err(ProxyError::system("cannot start the access log's thread"))?;
    let siblings = Siblings::default();
    let (wakes, called) = tokio::sync::mpsc::unbounded_channel();
    for (index, ((listeners, ways), send_ring)) in listeners.into_iter().zip(ways).zip(send_rings).enumerate() {
        let siblings = siblings.clone();
        let (limits, tls, quic) = (limits.clone(), Arc::clone(&tls), quic.clone());
        let (access_log, wakes) = (access_log.clone(), wakes.clone());
        let options =
            WorkerOptions { index, limits, ports, tls, listeners, send_ring, quic, ways, access_log, wakes, siblings };
        workers.push(Worker::spawn(options).map_err(ProxyError::system("cannot start a core"))?);
    }
    siblings.introduce(workers.iter().map(Worker::sibling));
    let cores = workers.len();
    tracing::info!(cores, https = ?sockets.addresses(ListenerKind::Https), http = ?sockets.addresses(ListenerKind::Http), "serving");
    let agent_version = agent_version.to_owned();
    let shared = SharedPolicyState::new().map_err(ProxyError::system("cannot read random bytes"))?;
    let mut server = ControlServer {
        agent_version,
        health_checks: HealthChecks::new(workers.iter().map(|worker| worker.commands.clone())),
        workers,
        sockets: Some(sockets),
        access_log: access_log.clone(),
        certificates,
        keys,
        tickets,
        generation: 0,
        channel,
        shared,
        collected_at: Instant::now(),
        warnings: Vec::new(),
        wakes: called,
        owner,
    };
    if server.serve(shutdown).await? == ServeEnd::Cut {
        tracing::warn!("ended with exchanges in flight");
    }
    AccessLogWriter::sync(&access_log);
    Ok(())
}

/// Makes a send ring for each core; `None` for the rest after the kernel or a container refused one.
fn send_rings(cores: usize) -> Vec<Option<SendRing>> {
    let mut rings = Vec::with_capacity(cores);
    let refused = (0..cores).find_map(|_| SendRing::new().map(|ring| rings.push(Some(ring))).err());
    if let Some(error) = refused {
        tracing::info!(%error, "io_uring is not available: each send is a system call of its own");
    }
    rings.resize_with(cores, || None);
    rings
}

/// Distributes the listeners: every core gets one for each address.
fn share_out(sockets: &ProxySockets) -> io::Result<Vec<Vec<OwnedListener>>> {
    let mut shares: Vec<Vec<OwnedListener>> = (0..sockets.cores()).map(|_| Vec::new()).collect();
    for listener in &sockets.listeners {
        let has = |share: &[OwnedListener]| {
            share.iter().filter(|other| (other.kind, other.address) == (listener.kind, listener.address)).count()
        };
        if let Some(share) = shares.iter_mut().min_by_key(|share| has(share)) {
            share.push(listener.try_clone()?);
        }
    }
    Ok(shares)
}

fn inherited_socket() -> io::Result<UnixStream> {
    let descriptor = io::stdin().as_fd().try_clone_to_owned()?;
    // Returns an error for anything but a socket.
    let kind = rustix::net::sockopt::socket_type(&descriptor)?;
    if kind != rustix::net::SocketType::STREAM {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let stream = StdUnixStream::from(descriptor);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

async fn receive_sockets(channel: &mut SupervisorChannel) -> Result<(ProxySockets, ProxyKeys), ProxyError> {
    let received = timeout(SOCKETS_TIMEOUT, channel.receive()).await.map_err(|_| ProxyError::NotStartedByRun)??;
    match received.and_then(|command| command.body) {
        Some(proxy_command::Body::Serve(listeners)) => {
            // An older `run` sends no keys; then session tickets of earlier clients are not accepted.
            let keys = listeners.keys.as_ref().and_then(ProxyKeys::read).map_or_else(ProxyKeys::generate, Ok)?;
            let descriptors = channel.take_descriptors(listeners.listeners.len());
            Ok((ProxySockets::adopt(&listeners, descriptors)?, keys))
        }
        _ => Err(ProxyError::NotStartedByRun),
    }
}

/// Raises the soft limit to the hard one and returns it.
fn raise_descriptor_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let Some(hard) = limit.maximum else { return Ok(limit.current.unwrap_or(u64::from(u32::MAX))) };
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: Some(hard), maximum: Some(hard) })?;
    }
    Ok(hard)
}
