//! Factory of the networks of apps and builds, and the check that this server can make them.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use fairlead_base::Folders;
use tokio::task::JoinHandle;

use crate::{DeviceLink, Firewall, Namespace, PublicPorts, Relay, RootlessNetwork, remove_devices};

/// Alias of the devices of builds, which end with the agent.
const BUILD: &str = "build";

/// Factory of networks of apps' own. Exists only on a server that can make them.
#[derive(Debug, Clone)]
pub struct OwnNetwork {
    firewall: Firewall,
    ipv6: bool,
}

impl OwnNetwork {
    /// Installs the firewall and lets the server forward. The error ends a sentence after "because".
    pub fn open(folders: &Folders, ports: &PublicPorts) -> Result<Self, String> {
        // The probe changes nothing: if it fails, apps share the server's network.
        let Self { firewall, .. } = Self::probe(folders)?;
        if let Err(error) = firewall.remove_abandoned() {
            tracing::warn!(%error, "rules of data folders that are gone stay");
        }
        let ipv6 = firewall.enable_forwarding();
        let ipv6 = ipv6.map_err(|error| format!("the server can't forward what apps send ({error})"))?;
        firewall.install(ports).map_err(|error| error.to_string())?;
        Ok(Self { firewall, ipv6 })
    }

    /// Checks that this server can make networks, and changes nothing.
    pub fn probe(folders: &Folders) -> Result<Self, String> {
        let firewall = firewall(folders)?;
        firewall.check().map_err(|error| error.to_string())?;
        Self { firewall, ipv6: false }.tried()
    }

    /// Makes one network and drops it.
    fn tried(self) -> Result<Self, String> {
        let (_, bound) = Namespace::make(&self.link(false, BUILD), || Relay::bind(&[]).map(drop))
            .map_err(|error| format!("a network of their own can't be made here ({error})"))?;
        bound.map_err(|error| format!("their network can't have a resolver ({error})"))?;
        Ok(self)
    }

    /// Makes a namespace and runs its relay in the calling runtime.
    pub fn serve(&self, private: bool) -> io::Result<ServedNamespace> {
        let made = Namespace::make(&self.link(private, BUILD), || Relay::bind(&[]));
        let (namespace, relay) = made.map_err(io::Error::other)?;
        Ok(ServedNamespace { namespace, relay: tokio::spawn(relay?.serve()) })
    }

    /// Removes what a former run of the agent left: devices of builds, and of instances that are not `known`.
    pub fn remove_abandoned_devices(&self, known: impl Fn(&str) -> bool) -> io::Result<usize> {
        remove_devices(self.firewall.device_prefix(), |alias| !known(alias))
    }

    /// The firewall of these networks.
    pub fn firewall(&self) -> &Firewall {
        &self.firewall
    }

    /// Describes the way out of the network of the instance or build that the alias names.
    pub fn link(&self, private: bool, alias: &str) -> DeviceLink {
        DeviceLink {
            prefix: self.firewall.device_prefix().to_owned(),
            group: Firewall::device_group(private),
            alias: alias.to_owned(),
            ipv6: self.ipv6,
        }
    }
}

/// Factory of networks of apps.
#[derive(Debug, Clone)]
pub enum AppNetwork {
    /// As root, for builds and containers too.
    Own(OwnNetwork),
    /// Without root, for processes of apps only.
    Rootless(RootlessNetwork),
}

impl From<OwnNetwork> for AppNetwork {
    fn from(network: OwnNetwork) -> Self {
        Self::Own(network)
    }
}

impl AppNetwork {
    /// Opens that of root, or the one without.
    pub fn open(folders: &Folders, program: &Path, ports: &PublicPorts) -> Result<Self, String> {
        if rustix::process::geteuid().is_root() {
            return OwnNetwork::open(folders, ports).map(Self::Own);
        }
        RootlessNetwork::open(program, ports).map(Self::Rootless)
    }

    /// Does the same as `open`, but changes nothing.
    pub fn probe(folders: &Folders, program: &Path) -> Result<Self, String> {
        if rustix::process::geteuid().is_root() {
            return OwnNetwork::probe(folders).map(Self::Own);
        }
        RootlessNetwork::open(program, &PublicPorts::default()).map(Self::Rootless)
    }
}

/// Network namespace of a build, and the relay that serves it until it is dropped.
#[derive(Debug)]
pub struct ServedNamespace {
    namespace: Namespace,
    relay: JoinHandle<io::Result<()>>,
}

impl ServedNamespace {
    /// Returns the file descriptor of the namespace.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.namespace.descriptor()
    }
}

impl Drop for ServedNamespace {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

fn firewall(folders: &Folders) -> Result<Firewall, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("the agent does not run as root".to_owned());
    }
    Firewall::of(folders.root()).map_err(|error| error.to_string())
}
