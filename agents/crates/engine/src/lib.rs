//! Client of a server's container engine (Docker or Podman) for images, containers and networks, over the API that both share.
//! Never starts an engine, and never prunes what others made.

#![warn(missing_docs)]

mod builder;
mod container;
mod error;
mod image;
mod network;
mod podman;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};

pub use bollard;
pub use builder::{ImageBuildRequest, LOCAL_REGISTRY};
pub use container::{BindMount, ContainerRequest, ContainerState, ImageFacts, OWNER_LABEL, OutputChunk, OutputStream};
pub use error::EngineError;
pub use image::{Login, NamedImage};
pub use network::OwnBridge;

/// Timeout of one request; transfers of images have none.
const TIMEOUT_SECONDS: u64 = 120;
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Default sockets of Docker and Podman.
const USUAL: [&str; 3] = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];

/// Client of an engine, which need not exist. Opens one connection per request.
#[derive(Debug, Clone)]
pub struct Engine {
    /// `None`: looked up at each request.
    socket: Option<PathBuf>,
}

impl Engine {
    /// Returns a client for the engine behind this socket.
    pub fn at(socket: &Path) -> Self {
        Self { socket: Some(socket.to_owned()) }
    }

    /// Returns a client for this server's engine: the first of `DOCKER_HOST`, Docker's socket and Podman's socket. Looks it up at
    /// each request, because an engine may be installed while the agent runs.
    pub fn usual() -> Self {
        Self { socket: None }
    }

    /// Returns the engine's socket; `None` if there is no engine.
    pub fn socket(&self) -> Option<PathBuf> {
        let named = || std::env::var("DOCKER_HOST").ok()?.strip_prefix("unix://").map(PathBuf::from);
        let usual = || named().into_iter().chain(USUAL.map(PathBuf::from)).find(|socket| socket.exists());
        self.socket.clone().or_else(usual)
    }

    /// Returns true if the engine answers a ping.
    pub async fn answers(&self) -> bool {
        let ping = async { self.connect()?.ping().await.map_err(EngineError::from) };
        matches!(tokio::time::timeout(PING_TIMEOUT, ping).await, Ok(Ok(_)))
    }

    /// Returns an API client with a version that the engine supports.
    pub async fn api(&self) -> Result<Docker, EngineError> {
        Ok(self.connect()?.negotiate_version().await?)
    }

    /// Returns true for Podman, which differs from Docker in details that the shared API leaves open.
    async fn is_podman(&self) -> Result<bool, EngineError> {
        let components = self.api().await?.version().await?.components.unwrap_or_default();
        Ok(components.iter().any(|component| component.name == "Podman Engine"))
    }

    fn connect(&self) -> Result<Docker, EngineError> {
        let socket = self.socket().ok_or(EngineError::Missing)?;
        Ok(Docker::connect_with_unix(&socket.to_string_lossy(), TIMEOUT_SECONDS, API_DEFAULT_VERSION)?)
    }
}
