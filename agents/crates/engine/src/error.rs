//! What an engine refuses, in its own words where it has some.

use std::io;

/// Why it did not do it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It said no.
    #[error("{0}")]
    Refused(String),
    /// There is none.
    #[error("this server has no container engine")]
    Missing,
    /// It can't be asked.
    #[error("the container engine can't be asked: {0}")]
    Connection(#[source] bollard::errors::Error),
    /// A file here.
    #[error("a file of the image can't be read or written")]
    File(#[from] io::Error),
    /// Asked to stop.
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
