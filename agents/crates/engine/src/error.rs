//! Errors of the container engine, with the engine's message where it has one.

use std::io;

/// Error of a request to the container engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine refused the request; its message.
    #[error("{0}")]
    Refused(String),
    /// This server has no container engine.
    #[error("this server has no container engine")]
    Missing,
    /// The connection to the engine failed.
    #[error("the container engine can't be asked: {0}")]
    Connection(#[source] bollard::errors::Error),
    /// A local file can't be read or written.
    #[error("a file of the image can't be read or written")]
    File(#[from] io::Error),
    /// The caller cancelled the request.
    #[error("it was cancelled")]
    Cancelled,
}

impl From<bollard::errors::Error> for EngineError {
    fn from(error: bollard::errors::Error) -> Self {
        use bollard::errors::Error;
        match error {
            Error::DockerResponseServerError { message, .. } => Self::Refused(message),
            Error::DockerStreamError { error } => Self::Refused(error),
            error => Self::Connection(error),
        }
    }
}
