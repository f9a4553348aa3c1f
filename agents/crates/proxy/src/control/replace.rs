//! Replaces a proxy that can't be adopted: ends it and keeps its listening sockets if they match the options.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::process::{self, ProcessHandle};
use super::sockets::takes_ipv4;
use super::supervisor::SupervisorOptions;
use super::{ListenerKind, OwnedListener, ProxyError, ProxySockets};

/// Returns the other processes that listen on the control socket.
pub(super) fn others(control_path: &Path) -> Vec<ProcessHandle> {
    process::listening_on(control_path).unwrap_or_else(|error| {
        tracing::warn!(%error, "can't look for proxies that were left behind");
        Vec::new()
    })
}

/// Ends every proxy of a data folder, by its control socket. Returns their number.
pub async fn end_proxies(control_path: &Path, drain_timeout: Duration) -> Result<usize, ProxyError> {
    let found = others(control_path);
    for process in &found {
        process.end(drain_timeout).await?;
    }
    Ok(found.len())
}

/// Ends every process that still listens on the control socket. Keeps its listening sockets if they match the options
/// and the kernel passes them out, so that clients only wait.
pub(super) async fn replace(
    options: &SupervisorOptions,
    drain_timeout: Duration,
) -> Result<Option<ProxySockets>, ProxyError> {
    let others = others(&options.control_path);
    let mut inherited = Vec::new();
    for process in &others {
        match process.listening_sockets() {
            Ok(sockets) if inherited.is_empty() => inherited = sockets,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "an old proxy's sockets can't be kept; its ports are bound anew"),
        }
    }
    for process in &others {
        process.end(drain_timeout).await?;
        tracing::warn!(pid = process.pid, "ended an old proxy");
    }
    if inherited.is_empty() {
        return Ok(None);
    }
    let kind = |address| {
        let any = |wanted: &[SocketAddr]| wanted.iter().any(|wanted| fits(options, *wanted, address));
        match (any(&options.https), any(&options.http)) {
            (true, false) => Some(ListenerKind::Https),
            (false, true) => Some(ListenerKind::Http),
            // With ports that the system chose, the kind of a socket is unknown.
            _ => None,
        }
    };
    let mut sockets = ProxySockets::recover(inherited, kind, &options.control_path)?;
    sockets.complete_quic();
    Ok(is_wanted(&sockets, options).then_some(sockets))
}

/// True if a listener on `found` matches `wanted`; port zero matches any port. Without IPv6, `0.0.0.0` matches `[::]`.
fn fits(options: &SupervisorOptions, wanted: SocketAddr, found: SocketAddr) -> bool {
    let stands_in = || {
        found.is_ipv4() && found.ip().is_unspecified() && takes_ipv4(wanted, options.https.iter().chain(&options.http))
    };
    (wanted.ip() == found.ip() || stands_in()) && (wanted.port() == 0 || wanted.port() == found.port())
}

/// True if the sockets of a running proxy match the options.
pub(super) fn is_wanted(sockets: &ProxySockets, options: &SupervisorOptions) -> bool {
    let both = |address| takes_ipv4(address, options.https.iter().chain(&options.http));
    let same = |kind, wanted: &[SocketAddr]| {
        let found = sockets.addresses(kind);
        found.len() == wanted.len()
            && wanted.iter().all(|wanted| found.iter().any(|found| fits(options, *wanted, *found)))
    };
    // Sockets of an older version accepted IPv6 only.
    let as_wide = |listener: &OwnedListener| !both(listener.address) || listener.takes_ipv4();
    if !sockets.listeners.iter().all(as_wide) {
        return false;
    }
    same(ListenerKind::Https, &options.https) && same(ListenerKind::Http, &options.http)
}
