//! One health check of an instance: an HTTP/1.1 request to its port or socket, or its own command. Keeps no connection
//! and no state.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use fairlead_base::handover::{self, HandoverRequest};
use fairlead_model::UpstreamAddress;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::process::Command;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::listener::{Listeners, Owner};
use crate::listening;
use crate::rollout::HealthCheckFailure;
use crate::socket::grant_proxy_access;

/// Maximum bytes read of an HTTP response: the status line comes first.
const HEAD_BYTES_MAX: usize = 1024;

/// Target of a health check.
#[derive(Debug, Clone)]
pub struct HealthTarget {
    /// Process of the app, for the ports that it listens on.
    pub pid: u32,
    /// Address of a container; `None` for a process, which is on this server's loopback.
    pub host: Option<IpAddr>,
    /// Required owner of the listener; `None`: any.
    pub owner: Option<Owner>,
    /// Port that the instance was given.
    pub port: u16,
    /// The instance's own network; `None` if it shares the server's.
    pub network: Option<NetworkTarget>,
    /// Socket of the instance and its required owner, instead of a port.
    pub socket: Option<UpstreamAddress>,
    /// HTTP path; if empty, an accepted connection is enough.
    pub path: String,
    /// Timeout of the whole check.
    pub timeout: Duration,
    /// Command of the app that runs instead of an HTTP request.
    pub command: Option<HealthCommand>,
}

/// Own network of an instance, in which every port belongs to it.
#[derive(Debug, Clone)]
pub struct NetworkTarget {
    /// Unix socket at which its shim hands sockets over.
    pub handover: PathBuf,
    /// Port that it listens on instead of the given one; zero if unknown.
    pub found: Arc<AtomicU16>,
}

/// Health command of a release. The shim's launcher runs it with the app's user, limits and sandbox.
#[derive(Debug, Clone)]
pub struct HealthCommand {
    /// The agent's own binary.
    pub program: PathBuf,
    pub folder: PathBuf,
    /// Check that the command belongs to.
    pub which: HealthCheckKind,
    /// Process of the instance; the command sees the same files.
    pub pid: u32,
}

/// Kind of an instance's check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthCheckKind {
    /// Readiness: the instance may receive requests.
    Readiness,
    /// Liveness: the instance still works.
    Liveness,
}

impl HealthCheckKind {
    /// Returns the flag of the launcher.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Readiness => "--readiness",
            Self::Liveness => "--liveness",
        }
    }
}

/// Runs one check. Also finds an app that listens on the IPv6 loopback only.
pub async fn run_check(target: &HealthTarget) -> Result<UpstreamAddress, HealthCheckFailure> {
    let address = answers(target).await?;
    match &target.command {
        Some(command) => run(command, target.timeout).await.map(|()| address),
        None => Ok(address),
    }
}

/// Returns `Ok` if the command exits with 0.
async fn run(command: &HealthCommand, limit: Duration) -> Result<(), HealthCheckFailure> {
    let failed = |outcome: String| Err(HealthCheckFailure::Command(outcome));
    let child = Command::new(&command.program)
        .args(["shim", command.which.flag()])
        .arg(&command.folder)
        .arg(command.pid.to_string())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("could not be run ({error})")),
    };
    // The command leads a session, so that what it started ends with it.
    let group = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let ended = timeout(limit, child.wait()).await;
    if let Some(group) = group {
        kill_process_group(group, Signal::KILL).ok();
    }
    match ended {
        Err(_) => failed(format!("did not end within {} s", limit.as_secs_f64())),
        Ok(Err(error)) => failed(format!("could not be waited for ({error})")),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => match (status.code(), status.signal()) {
            (Some(code), _) => failed(format!("ended with {code}")),
            (None, signal) => failed(format!("was ended by signal {}", signal.unwrap_or_default())),
        },
    }
}

async fn answers(target: &HealthTarget) -> Result<UpstreamAddress, HealthCheckFailure> {
    if let Some(socket) = &target.socket {
        let answer = timeout(target.timeout, check(socket, &target.path)).await;
        return match evaluate(answer, socket) {
            Some(outcome) => outcome,
            None => Err(not_listening(target)),
        };
    }
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let hosts = target.host.as_ref().map_or(loopback.as_slice(), std::slice::from_ref);
    let found = target.network.as_ref().map(|network| network.found.load(Ordering::Relaxed));
    let mut is_foreign = false;
    for port in [Some(target.port), found.filter(|port| *port != 0)].into_iter().flatten() {
        for host in hosts {
            let address = SocketAddr::from((*host, port));
            let outcome = match (&target.network, &target.owner) {
                (Some(network), _) => {
                    let handover = network.handover.clone();
                    answers_at(target, UpstreamAddress::Namespace { handover, address: Some(address) }).await
                }
                (None, Some(owner)) => answers_itself(target, owner, address).await,
                (None, None) => answers_at(target, address.into()).await,
            };
            match outcome {
                // The other address family may still be the app's own.
                Some(Err(HealthCheckFailure::Foreign)) => is_foreign = true,
                Some(outcome) => return outcome,
                None => {}
            }
        }
    }
    Err(if is_foreign { HealthCheckFailure::Foreign } else { not_listening(target) })
}

async fn answers_at(
    target: &HealthTarget,
    address: UpstreamAddress,
) -> Option<Result<UpstreamAddress, HealthCheckFailure>> {
    evaluate(timeout(target.timeout, check(&address, &target.path)).await, &address)
}

/// Checks an address of the loopback, where every program can listen. Looks up the listeners before, so that only the
/// app gets the request, and afterwards, so that only the app's answer counts.
async fn answers_itself(
    target: &HealthTarget,
    owner: &Owner,
    address: SocketAddr,
) -> Option<Result<UpstreamAddress, HealthCheckFailure>> {
    let failed = |error: io::Error| {
        tracing::warn!(%address, %error, "can't tell who listens");
        Some(Err(HealthCheckFailure::Broken))
    };
    let before = match owner.listeners(address) {
        Ok(Listeners::Missing) => return None,
        Ok(Listeners::Foreign) => return Some(Err(HealthCheckFailure::Foreign)),
        Ok(own) => own,
        Err(error) => return failed(error),
    };
    let outcome = answers_at(target, UpstreamAddress::Tcp { address, owner: Some(owner.user) }).await;
    if !matches!(outcome, Some(Ok(_))) {
        return outcome;
    }
    match owner.listeners(address) {
        Ok(after) if before.has_lasted(&after) => outcome,
        Ok(Listeners::Foreign) => Some(Err(HealthCheckFailure::Foreign)),
        // The app has closed its listener, or opened another one meanwhile: the next check decides.
        Ok(_) => Some(Err(HealthCheckFailure::Broken)),
        Err(error) => failed(error),
    }
}

/// Common ports of web servers, in the order in which they are tried.
const COMMON_PORTS: [u16; 10] = [3000, 8080, 8000, 5000, 4000, 80, 8888, 1337, 4321, 5173];
/// Ports of debuggers (Node.js, Java).
const DEBUG_PORTS: [u16; 4] = [9229, 9230, 5005, 5858];

/// Chooses among the ports that an app listens on instead of the given one; `None` if none is left to try. Each further
/// attempt returns the next port.
pub(crate) fn port_to_try(listening: &[u16], attempt: usize) -> Option<u16> {
    let mut ports: Vec<u16> = listening.iter().copied().filter(|port| !DEBUG_PORTS.contains(port)).collect();
    ports.sort_by_key(|port| COMMON_PORTS.iter().position(|common| common == port).unwrap_or(COMMON_PORTS.len()));
    ports.get(attempt % ports.len().max(1)).copied()
}

/// Evaluates the outcome of a check; `None` if nothing listens there.
fn evaluate(
    answer: Result<io::Result<Option<u16>>, Elapsed>,
    address: &UpstreamAddress,
) -> Option<Result<UpstreamAddress, HealthCheckFailure>> {
    match answer {
        Err(_) => Some(Err(HealthCheckFailure::TimedOut)),
        Ok(Err(error)) if refused(&error) => None,
        Ok(Err(_)) => Some(Err(HealthCheckFailure::Broken)),
        Ok(Ok(None)) => Some(Ok(address.clone())),
        Ok(Ok(Some(status @ 200..=399))) => {
            tracing::trace!(status, %address, "healthy");
            Some(Ok(address.clone()))
        }
        Ok(Ok(Some(status))) => Some(Err(HealthCheckFailure::Status(status))),
    }
}

fn not_listening(target: &HealthTarget) -> HealthCheckFailure {
    let listening = listening::ports(&listening::tree(target.pid));
    let is_own = target.owner.is_none() || target.socket.is_some() || listening.contains(&target.port);
    let picked = listening::picked_by_kernel();
    let ports: Vec<u16> = listening.iter().copied().filter(|port| !picked.contains(port)).collect();
    if is_own || ports.is_empty() {
        HealthCheckFailure::Refused { listening }
    } else {
        HealthCheckFailure::Elsewhere { ports }
    }
}

fn refused(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, NetworkUnreachable, NotFound, Unsupported};
    // Without IPv6 its loopback is unreachable, which means the same as no listener. A socket that does not exist yet
    // means the same.
    matches!(error.kind(), ConnectionRefused | AddrNotAvailable | NetworkUnreachable | NotFound | Unsupported)
}

async fn check(address: &UpstreamAddress, path: &str) -> io::Result<Option<u16>> {
    match address {
        UpstreamAddress::Tcp { address, .. } => {
            let stream = TcpStream::connect(address).await?;
            ask(stream, path, &format!("localhost:{}", address.port())).await
        }
        UpstreamAddress::Unix { path: socket, owner } => {
            let stream = UnixStream::connect(socket).await?;
            // The app owns the folder: a link in it could lead the agent, which has more rights, to another program's
            // socket.
            if let Some(owner) = owner {
                if stream.peer_cred()?.uid() != *owner {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                grant_proxy_access(socket, *owner)?;
            }
            ask(stream, path, "localhost").await
        }
        UpstreamAddress::Namespace { handover, address: Some(address) } => {
            let socket = handed_over(handover, HandoverRequest::sockets_for(*address, 1)).await?;
            let socket = TcpSocket::from_std_stream(socket.into());
            ask(socket.connect(*address).await?, path, &format!("localhost:{}", address.port())).await
        }
        UpstreamAddress::Namespace { handover, address: None } => {
            let socket = handed_over(handover, HandoverRequest::Unix).await?;
            ask(UnixStream::from_std(socket.into())?, path, "localhost").await
        }
    }
}

/// Requests a socket of an instance's network from its shim.
async fn handed_over(path: &Path, request: HandoverRequest) -> io::Result<OwnedFd> {
    handover::ask(path, request).await?.pop().ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str, host: &str) -> io::Result<Option<u16>> {
    if path.is_empty() {
        return Ok(None);
    }
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: fairlead-health\r\naccept: */*\r\nconnection: close\r\n\r\n"
    );
    // From here on, a refusal comes from the app itself, so it must not look like a missing listener.
    answered(stream.write_all(request.as_bytes()).await)?;
    let mut head = Vec::new();
    let mut bytes = [0u8; HEAD_BYTES_MAX];
    while head.len() < HEAD_BYTES_MAX {
        let count = answered(stream.read(&mut bytes).await)?;
        if count == 0 {
            break;
        }
        head.extend_from_slice(&bytes[..count]);
        if head.contains(&b'\n') {
            break;
        }
    }
    status(&head).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn answered<T>(result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Parses the status of a status line (RFC 9112, section 4).
fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    let digits = std::str::from_utf8(rest.get(..3)?).ok()?;
    let end = rest.get(3).is_none_or(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    digits.parse().ok().filter(|status| end && (100..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn target(port: u16, path: &str, timeout: Duration) -> HealthTarget {
        HealthTarget {
            pid: std::process::id(),
            host: None,
            owner: None,
            port,
            network: None,
            socket: None,
            path: path.into(),
            timeout,
            command: None,
        }
    }

    /// Checks an app that answers with these bytes; with `None` it never answers.
    async fn against(answer: Option<&'static [u8]>, path: &str) -> Result<UpstreamAddress, HealthCheckFailure> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0u8; 1024];
            let count = stream.read(&mut request).await.unwrap();
            match answer {
                Some(answer) => stream.write_all(answer).await.unwrap(),
                None => std::future::pending().await,
            }
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let timeout = Duration::from_millis(300);
        let result = run_check(&target(port, path, timeout)).await;
        app.abort();
        result
    }

    #[tokio::test]
    async fn answers_are_told_apart() {
        assert!(against(Some(b"HTTP/1.1 200 OK\r\n\r\n"), "/").await.is_ok());
        assert!(against(Some(b"HTTP/1.1 302 Found\r\n\r\n"), "/").await.is_ok());
        assert_eq!(against(Some(b"HTTP/1.1 404 Not Found\r\n\r\n"), "/").await, Err(HealthCheckFailure::Status(404)));
        assert_eq!(against(Some(b"SSH-2.0-OpenSSH\r\n"), "/").await, Err(HealthCheckFailure::Broken));
        assert_eq!(against(Some(b""), "/").await, Err(HealthCheckFailure::Broken));
        assert_eq!(against(None, "/").await, Err(HealthCheckFailure::TimedOut));
        assert!(against(None, "").await.is_ok(), "without a path a connection is enough");
    }

    #[tokio::test]
    async fn nobody_listening_names_the_ports_that_are_listened_on() {
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let timeout = Duration::from_secs(1);
        let Err(HealthCheckFailure::Refused { listening }) = run_check(&target(free, "/", timeout)).await else {
            panic!("it should be refused")
        };
        assert!(listening.contains(&other.local_addr().unwrap().port()));
    }

    #[tokio::test]
    async fn an_app_on_the_ipv6_loopback_only_is_found_there() {
        let listener = TcpListener::bind("[::1]:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let timeout = Duration::from_secs(1);
        assert_eq!(run_check(&target(address.port(), "", timeout)).await, Ok(address.into()));
    }

    /// This process is the app; others are children of another parent.
    fn own(port: u16) -> HealthTarget {
        let user = rustix::process::geteuid().as_raw();
        HealthTarget { owner: Some(Owner::new(user, std::process::id())), ..target(port, "", Duration::from_secs(5)) }
    }

    #[tokio::test]
    async fn another_program_on_the_app_s_port_hears_nothing_and_counts_as_no_answer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let anybody = target(address.port(), "", Duration::from_secs(5));
        assert_eq!(run_check(&anybody).await, Ok(address.into()), "control: without an owner it counts");
        listener.accept().unwrap();
        let foreign = HealthTarget { owner: Some(Owner::new(user + 1, std::process::id())), ..anybody };
        assert_eq!(run_check(&foreign).await, Err(HealthCheckFailure::Foreign));
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let owned = UpstreamAddress::Tcp { address, owner: Some(user) };
        assert_eq!(run_check(&own(address.port())).await, Ok(owned), "control: its own counts");
    }

    #[tokio::test]
    async fn an_app_that_closes_its_listener_within_a_check_does_not_pass_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(listener);
            let count = stream.read(&mut [0u8; 1024]).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            count
        });
        let target = HealthTarget { path: "/".into(), ..own(address.port()) };
        assert_eq!(run_check(&target).await, Err(HealthCheckFailure::Broken));
        assert!(app.await.unwrap() > 0);
    }

    #[tokio::test]
    async fn a_socket_is_asked_by_http_and_only_when_its_owner_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web");
        let own = rustix::process::geteuid().as_raw();
        let of = |owner| {
            let socket = UpstreamAddress::Unix { path: path.clone(), owner: Some(owner) };
            HealthTarget { socket: Some(socket), ..target(0, "/up", Duration::from_secs(5)) }
        };
        assert!(matches!(run_check(&of(own)).await, Err(HealthCheckFailure::Refused { .. })), "nobody listens yet");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let app = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0u8; 1024];
            let count = stream.read(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            let (other, _) = listener.accept().await.unwrap();
            let said = stream_is_silent(other).await;
            (String::from_utf8_lossy(&request[..count]).into_owned(), said)
        });
        assert_eq!(run_check(&of(own)).await, Ok(UpstreamAddress::Unix { path: path.clone(), owner: Some(own) }));
        assert_eq!(run_check(&of(own + 1)).await, Err(HealthCheckFailure::Broken), "somebody else's");
        let (request, said) = app.await.unwrap();
        assert!(request.starts_with("GET /up HTTP/1.1\r\nhost: localhost\r\n"), "{request}");
        assert!(said, "who is not the app hears nothing");
    }

    async fn stream_is_silent(mut stream: UnixStream) -> bool {
        stream.read(&mut [0u8; 64]).await.unwrap() == 0
    }
}
