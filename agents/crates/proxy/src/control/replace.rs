//! A proxy that can't be adopted: ended, its listening sockets kept when they are the ones wanted. Never touches one that can.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::process::{self, Process};
use super::sockets::takes_ipv4;
use super::supervisor::SupervisorOptions;
use super::{ListenerKind, OwnedListener, ProxyError, Sockets};

/// Processes that listen on the control socket beside this one.
pub(super) fn others(control_path: &Path) -> Vec<Process> {
    process::listening_on(control_path).unwrap_or_else(|error| {
        tracing::warn!(%error, "can't look for proxies that were left behind");
        Vec::new()
    })
}

/// Ends whatever still listens on the control socket. Its listening sockets are kept, when they are the ones wanted and the
/// system hands them out: then clients only wait.
pub(super) async fn replace(
    options: &SupervisorOptions,
    drain_timeout: Duration,
) -> Result<Option<Sockets>, ProxyError> {
    let others = others(&options.control_path);
    let mut kept = Vec::new();
    for process in &others {
        match process.listening_sockets() {
            Ok(sockets) if kept.is_empty() => kept = sockets,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "an old proxy's sockets can't be kept; its ports are bound anew"),
        }
    }
    for process in &others {
        process.end(drain_timeout).await?;
        tracing::warn!(pid = process.pid, "ended an old proxy");
    }
    if kept.is_empty() {
        return Ok(None);
    }
    let kind = |address| {
        let any = |wanted: &[SocketAddr]| wanted.iter().any(|wanted| fits(options, *wanted, address));
        match (any(&options.https), any(&options.http)) {
            (true, false) => Some(ListenerKind::Https),
            (false, true) => Some(ListenerKind::Http),
            // With ports of the system's choice nobody knows which was which.
            _ => None,
        }
    };
    let mut sockets = Sockets::recover(kept, kind, &options.control_path)?;
    sockets.complete_quic();
    Ok(is_wanted(&sockets, options).then_some(sockets))
}

/// Whether a listener on `found` is what was wanted; a port of zero is any. Without IPv6 `0.0.0.0` stands for `[::]`.
fn fits(options: &SupervisorOptions, wanted: SocketAddr, found: SocketAddr) -> bool {
    let stands_in = || {
        found.is_ipv4() && found.ip().is_unspecified() && takes_ipv4(wanted, options.https.iter().chain(&options.http))
    };
    (wanted.ip() == found.ip() || stands_in()) && (wanted.port() == 0 || wanted.port() == found.port())
}

/// Whether a living proxy listens where it should.
pub(super) fn is_wanted(sockets: &Sockets, options: &SupervisorOptions) -> bool {
    let both = |address| takes_ipv4(address, options.https.iter().chain(&options.http));
    let same = |kind, wanted: &[SocketAddr]| {
        let found = sockets.addresses(kind);
        found.len() == wanted.len()
            && wanted.iter().all(|wanted| found.iter().any(|found| fits(options, *wanted, *found)))
    };
    // Sockets of a former version took IPv6 only.
    let as_wide = |listener: &OwnedListener| !both(listener.address) || listener.takes_ipv4();
    if !sockets.listeners.iter().all(as_wide) {
        return false;
    }
    same(ListenerKind::Https, &options.https) && same(ListenerKind::Http, &options.http)
}
