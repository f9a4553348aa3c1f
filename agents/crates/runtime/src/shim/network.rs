//! Network that a shim enters before it starts its app: made by root, or without root.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use fairlead_network::{DeviceLink, Namespace, Relay, RootlessLink, RootlessNamespace};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};

use super::handover::Handover;
use crate::instance::{InstanceSpec, NetworkLink, NetworkSpec};

/// Timeout of the end of `pasta`.
const END_LIMIT: Duration = Duration::from_secs(5);
const END_PAUSE: Duration = Duration::from_millis(5);

/// Connection of a network without root, which this process keeps up.
pub(super) struct RootlessConnection {
    namespace: RootlessNamespace,
    is_warned: bool,
}

/// Network that this process has entered, for as long as its app runs.
pub(super) struct InstanceNetwork {
    pub(super) handover: Handover,
    /// Namespace of a network that root made. Dropping this value removes its device.
    pub(super) namespace: Option<Namespace>,
    /// Connection of a network without root.
    pub(super) connection: Option<RootlessConnection>,
}

/// Moves this process into a network of the instance's own, and connects it to the server's resolver and ports.
pub(super) fn enter(spec: &InstanceSpec, network: &NetworkSpec) -> Result<InstanceNetwork, String> {
    let (inside, namespace, connection) = match &network.link {
        NetworkLink::Devices(link) => {
            let (inside, namespace) = enter_devices(link, network)?;
            (inside, Some(namespace), None)
        }
        NetworkLink::Rootless(link) => {
            let (inside, connection) = enter_rootless(link, network)?;
            (inside, None, Some(connection))
        }
    };
    let app = spec.socket.clone().map(|path| (path, spec.user));
    let handover = Handover::open(&network.handover, inside, app);
    let handover = handover.map_err(|error| failed("the hand-over of its sockets", error))?;
    Ok(InstanceNetwork { handover, namespace, connection })
}

fn failed(what: &str, error: io::Error) -> String {
    format!("its network: {what}: {error}")
}

fn enter_devices(link: &DeviceLink, network: &NetworkSpec) -> Result<(OwnedFd, Namespace), String> {
    let namespace = Namespace::enter_new(link).map_err(|error| format!("its network: {error}"))?;
    let relay = Relay::bind(&network.server_ports).map_err(|error| failed("listening for it", error))?;
    let outside = namespace.host_descriptor().try_clone_to_owned();
    let inside = namespace.descriptor().try_clone_to_owned();
    let (outside, inside) =
        outside.and_then(|outside| Ok((outside, inside?))).map_err(|error| failed("keeping it", error))?;
    relay.spawn(outside).map_err(|error| failed("starting its relay", error))?;
    Ok((inside, namespace))
}

fn enter_rootless(link: &RootlessLink, network: &NetworkSpec) -> Result<(OwnedFd, RootlessConnection), String> {
    let namespace = RootlessNamespace::enter(link, &network.server_ports, connector());
    let namespace = namespace.map_err(|error| format!("its network: {error}"))?;
    let inside = namespace.descriptor().try_clone_to_owned().map_err(|error| failed("keeping it", error))?;
    Ok((inside, RootlessConnection { namespace, is_warned: false }))
}

/// Makes a network without root, checks it and drops it. `link` is JSON.
pub(super) fn check(link: &str) -> Result<(), String> {
    let link: RootlessLink = serde_json::from_str(link).map_err(|error| error.to_string())?;
    let namespace = RootlessNamespace::enter(&link, &[], connector())?;
    let checked = namespace.check();
    namespace.disconnect();
    checked
}

fn connector() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["shim", super::CONNECT]);
    command
}

impl RootlessConnection {
    /// Returns a descriptor that is readable when addresses of the server have changed.
    pub(super) fn changes(&self) -> BorrowedFd<'_> {
        self.namespace.changes()
    }

    /// Denies the addresses that the server has now.
    pub(super) fn update(&mut self) {
        if let Err(error) = self.namespace.update()
            && !std::mem::replace(&mut self.is_warned, true)
        {
            tracing::error!(%error, "an address that the server has now is not denied");
        }
    }

    /// Returns the process that keeps the connection up: a child of this one, but no process of the app.
    pub(super) fn process(&self) -> Option<Pid> {
        self.namespace.connector()
    }

    /// Ends the connection and its processes, after this process has no other children.
    pub(super) fn end(self) {
        self.namespace.disconnect();
        let until = Instant::now() + END_LIMIT;
        // `pasta` is a child of this process now, and its parent's end has stopped it.
        while !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) && Instant::now() < until {
            std::thread::sleep(END_PAUSE);
        }
    }
}
