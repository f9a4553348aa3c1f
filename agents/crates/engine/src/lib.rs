//! The container engine of a server, Docker or Podman, by the API they share. Owns the connection and what an image is made
//! of, pulled to, saved to and loaded from. Never starts an engine, and never prunes what others made.

mod error;
mod image;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};

pub use bollard;
pub use error::EngineError;
pub use image::{BuildOrder, Login};

/// Of one question; images take as long as they take.
const TIMEOUT_SECONDS: u64 = 120;
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection to an engine; each request has its own socket.
#[derive(Debug, Clone)]
pub struct Engine {
    docker: Docker,
    socket: PathBuf,
}

impl Engine {
    /// The engine behind a socket, which must be there.
    pub fn at(socket: &Path) -> Result<Self, EngineError> {
        let docker = Docker::connect_with_unix(&socket.to_string_lossy(), TIMEOUT_SECONDS, API_DEFAULT_VERSION)?;
        Ok(Self { docker, socket: socket.to_owned() })
    }

    /// The first of the usual sockets that exists: what `DOCKER_HOST` names, Docker's, Podman's.
    pub fn find() -> Option<Self> {
        let named = std::env::var("DOCKER_HOST").ok().and_then(|host| host.strip_prefix("unix://").map(PathBuf::from));
        let usual = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
        let found = named.into_iter().chain(usual).find(|socket| socket.exists())?;
        Self::at(&found).map_err(|error| tracing::warn!(%error, "the container engine can't be used")).ok()
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether it answers now.
    pub async fn answers(&self) -> bool {
        matches!(tokio::time::timeout(PING_TIMEOUT, self.docker.ping()).await, Ok(Ok(_)))
    }

    /// To ask it for more; with a version of the API that it speaks.
    pub async fn api(&self) -> Result<Docker, EngineError> {
        Ok(self.docker.clone().negotiate_version().await?)
    }
}
