//! Reasons why files give no plan, as sentences that say what to do.

use serde::{Deserialize, Serialize};

/// Reason why files give no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum InspectError {
    /// The files do not tell how to build or start the app.
    #[error("{0}")]
    NotDetected(String),
    /// The folder holds no app, but folders below it do.
    #[error("{sentence}")]
    InFolders { sentence: String, folders: Vec<String> },
    /// A committed file such as fairlead.toml has a mistake.
    #[error("{0}")]
    Manifest(String),
}

impl InspectError {
    /// Code in the contract's error table.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotDetected(_) | Self::InFolders { .. } => "build.not_detected",
            Self::Manifest(_) => "build.manifest_invalid",
        }
    }

    /// Folders that hold an app, below the app folder that was looked at.
    pub fn app_folders(&self) -> &[String] {
        match self {
            Self::InFolders { folders, .. } => folders,
            Self::NotDetected(_) | Self::Manifest(_) => &[],
        }
    }
}
