//! Networks of containers: a bridge for each container, or closed bridges where apps share the server's network. Never
//! touches a network that another program made.

use std::collections::HashMap;

use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptionsBuilder};

use fairlead_base::random;

use crate::container::{OWNER_LABEL, found_or_none, status};
use crate::{Engine, EngineError, podman};

/// Docker's option that blocks traffic between containers of a bridge.
const CLOSED_WITHIN: (&str, &str) = ("com.docker.network.bridge.enable_icc", "false");

/// Docker's name for the option that names the bridge's device.
const BRIDGE_NAME: &str = "com.docker.network.bridge.name";
/// First bytes of the addresses of bridges: the upper half of 198.18.0.0/15, which is set aside for networks within one lab
/// (RFC 2544, RFC 6890), so that no provider's network uses it. Network namespaces of processes have the lower half.
const SUBNETS: [u8; 2] = [198, 19];
/// Attempts to find a free subnet and device name.
const DRAWS: usize = 64;

/// A network of one container's own.
#[derive(Debug, Clone, Copy)]
pub struct OwnBridge<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// Value of `OWNER_LABEL`.
    pub owner: &'a str,
    /// Prefix of the name of its device, at most seven bytes: the server's firewall matches it from the first packet.
    pub device_prefix: &'a str,
}

impl Engine {
    /// Makes a network for one container and replaces one of the same name. Returns the name of its device, which Podman makes as
    /// the container starts.
    pub async fn make_own_bridge(&self, order: OwnBridge<'_>) -> Result<String, EngineError> {
        self.remove_network(order.name).await?;
        let is_podman = self.is_podman().await?;
        let mut refused = None;
        for _ in 0..DRAWS {
            let device = format!("{}{:08x}", order.device_prefix, random::number() & 0xffff_ffff);
            let subnet = random_subnet();
            let made = if is_podman {
                let socket = self.socket().ok_or(EngineError::Missing)?;
                podman::create_bridge(&socket, &order, &device, &subnet).await
            } else {
                self.create_bridge(&order, &device, &subnet).await
            };
            match made {
                Err(EngineError::Refused(why)) if is_taken(&why) => refused = Some(EngineError::Refused(why)),
                made => return made.map(|()| device),
            }
        }
        Err(refused.unwrap_or(EngineError::Missing))
    }

    async fn create_bridge(&self, order: &OwnBridge<'_>, device: &str, subnet: &str) -> Result<(), EngineError> {
        let options = [(BRIDGE_NAME, device), CLOSED_WITHIN].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let subnet = IpamConfig { subnet: Some(subnet.to_owned()), ..IpamConfig::default() };
        let request = NetworkCreateRequest {
            name: order.name.to_owned(),
            driver: Some("bridge".to_owned()),
            ipam: Some(Ipam { config: Some(vec![subnet]), ..Ipam::default() }),
            enable_ipv6: Some(false),
            options: Some(options.into()),
            labels: Some(HashMap::from([(OWNER_LABEL.to_owned(), order.owner.to_owned())])),
            ..NetworkCreateRequest::default()
        };
        Ok(self.api().await?.create_network(request).await.map(drop)?)
    }

    /// Removes a network by its name, and its device with it. Does nothing if there is none.
    pub async fn remove_network(&self, name: &str) -> Result<(), EngineError> {
        found_or_none(self.api().await?.remove_network(name).await).map(drop)
    }

    /// Returns the name of the closed network of an app and creates the network if it is missing. Docker has room for few
    /// networks, so all apps of an owner share one. Podman only isolates bridges from each other, so each app has its own.
    pub async fn closed_network(&self, owner: &str, app: &str) -> Result<String, EngineError> {
        let shared = format!("fairlead-{owner}");
        if self.is_podman().await? {
            let own = format!("{shared}-{app}");
            self.make_podman_network(&own, owner).await?;
            return Ok(own);
        }
        self.make_network(&shared, owner).await?;
        Ok(shared)
    }

    /// Creates a closed network over Podman's own API: the shared API drops the isolation option with only a warning.
    async fn make_podman_network(&self, name: &str, owner: &str) -> Result<(), EngineError> {
        let socket = self.socket().ok_or(EngineError::Missing)?;
        if podman::is_closed(&socket, name).await?.is_none() {
            podman::create_network(&socket, name, (OWNER_LABEL, owner)).await?;
        }
        if podman::is_closed(&socket, name).await? == Some(true) {
            return Ok(());
        }
        Err(EngineError::Refused(format!(
            "the network {name} is not closed against others; Podman 4 or newer with netavark can close it"
        )))
    }

    async fn make_network(&self, name: &str, owner: &str) -> Result<(), EngineError> {
        let docker = self.api().await?;
        if found_or_none(docker.inspect_network(name, None::<InspectNetworkOptions>).await)?.is_some() {
            return Ok(());
        }
        let order = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            options: Some(HashMap::from([(CLOSED_WITHIN.0.to_owned(), CLOSED_WITHIN.1.to_owned())])),
            labels: Some(HashMap::from([(OWNER_LABEL.to_owned(), owner.to_owned())])),
            ..NetworkCreateRequest::default()
        };
        match docker.create_network(order).await {
            // Another instance created it first.
            Err(error) if status(&error) == Some(409) => Ok(()),
            made => made.map(drop).map_err(EngineError::from),
        }
    }

    /// Removes the networks of this owner that no container is in.
    pub async fn remove_empty_networks(&self, owner: &str) -> Result<(), EngineError> {
        let docker = self.api().await?;
        let filters = HashMap::from([("label".to_owned(), vec![format!("{OWNER_LABEL}={owner}")])]);
        let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
        for name in docker.list_networks(Some(options)).await?.into_iter().filter_map(|network| network.name) {
            match docker.remove_network(&name).await {
                // In use (the engines differ in the status), or already removed.
                Err(error)
                    if matches!(status(&error), Some(403 | 404 | 409))
                        || error.to_string().contains("is being used") =>
                {
                    tracing::debug!(network = name, %error, "stays");
                }
                removed => removed?,
            }
        }
        Ok(())
    }
}

/// Draws a subnet with room for a gateway and one container.
fn random_subnet() -> String {
    let [third, fourth, ..] = random::number().to_ne_bytes();
    format!("{}.{}.{third}.{}/30", SUBNETS[0], SUBNETS[1], fourth & 0xfc)
}

/// Reports whether an engine refused a network because another one has its addresses or its device.
fn is_taken(why: &str) -> bool {
    ["overlap", "is already used", "conflicts with network"].iter().any(|words| why.contains(words))
}
