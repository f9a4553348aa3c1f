//! Networks of containers: a bridge from which they reach the world and this server reaches them, but they not each other.
//! Owns how an engine is told so. Never touches a network that somebody else made.

use std::collections::HashMap;

use bollard::models::NetworkCreateRequest;
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptionsBuilder};

use crate::container::{OWNER_LABEL, found_or_none, status};
use crate::{Engine, EngineError, podman};

/// Docker's word: nothing goes from one container of the bridge to another.
const CLOSED_WITHIN: (&str, &str) = ("com.docker.network.bridge.enable_icc", "false");

impl Engine {
    /// The network for a container of this owner and app, made if it is missing; its name. With Docker one for all of the
    /// owner, as the networks that it has room for are few; Podman closes bridges against each other only, so there each app
    /// has its own.
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

    /// Podman's own API: the one that it shares with Docker leaves out, with no more than a warning, the word that closes.
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
            // Another instance was quicker.
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
                // In use, as each engine says it; or gone by itself.
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
