//! The container engine of a server, Docker or Podman, by the API they share. Owns the connection, what an image is made
//! of, pulled to, saved to and loaded from, and containers. Never starts an engine, and never prunes what others made.

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
pub use builder::{BuildOrder, LOCAL_REGISTRY};
pub use container::{Bind, ContainerOrder, ContainerState, ImageFacts, OWNER_LABEL, Words, Written};
pub use error::EngineError;
pub use image::{Login, NamedImage};
pub use network::OwnBridge;

/// Of one question; images take as long as they take.
const TIMEOUT_SECONDS: u64 = 120;
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Where engines usually listen: Docker, Podman.
const USUAL: [&str; 3] = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];

/// An engine, there or not; each request has its own socket.
#[derive(Debug, Clone)]
pub struct Engine {
    /// `None`: wherever it is when it is asked.
    socket: Option<PathBuf>,
}

impl Engine {
    /// The engine behind this socket.
    pub fn at(socket: &Path) -> Self {
        Self { socket: Some(socket.to_owned()) }
    }

    /// The one that this server has, looked for each time it is asked: it may be installed while the agent runs. The first
    /// of what `DOCKER_HOST` names, Docker's socket, Podman's.
    pub fn usual() -> Self {
        Self { socket: None }
    }

    /// Where it listens; `None`: there is none.
    pub fn socket(&self) -> Option<PathBuf> {
        let named = || std::env::var("DOCKER_HOST").ok()?.strip_prefix("unix://").map(PathBuf::from);
        let usual = || named().into_iter().chain(USUAL.map(PathBuf::from)).find(|socket| socket.exists());
        self.socket.clone().or_else(usual)
    }

    /// Whether it answers now.
    pub async fn answers(&self) -> bool {
        let ping = async { self.connect()?.ping().await.map_err(EngineError::from) };
        matches!(tokio::time::timeout(PING_TIMEOUT, ping).await, Ok(Ok(_)))
    }

    /// To ask it for more; with a version of the API that it speaks.
    pub async fn api(&self) -> Result<Docker, EngineError> {
        Ok(self.connect()?.negotiate_version().await?)
    }

    /// Whether it is Podman, which differs where the API that both have says nothing.
    async fn is_podman(&self) -> Result<bool, EngineError> {
        let components = self.api().await?.version().await?.components.unwrap_or_default();
        Ok(components.iter().any(|component| component.name == "Podman Engine"))
    }

    fn connect(&self) -> Result<Docker, EngineError> {
        let socket = self.socket().ok_or(EngineError::Missing)?;
        Ok(Docker::connect_with_unix(&socket.to_string_lossy(), TIMEOUT_SECONDS, API_DEFAULT_VERSION)?)
    }
}
