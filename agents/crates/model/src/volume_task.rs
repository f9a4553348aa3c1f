//! Tasks on volumes in desired state: snapshots and restores.

use serde::{Deserialize, Serialize};

use crate::{Failure, VolumeKey, VolumeTaskId, WorkState};

/// Task on a volume that the server runs once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeTask {
    pub id: VolumeTaskId,
    pub volume: VolumeKey,
    pub action: VolumeAction,
}

/// Work of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeAction {
    /// Packs the volume and uploads it; with `stopped` only once the app has stopped.
    Snapshot { stopped: bool },
    /// Makes the volume from the snapshot with this digest.
    Restore { digest: String },
}

/// Step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeStep {
    /// Waits until the app has stopped, or for the task before it.
    Wait,
    Pack,
    Upload,
    Fetch,
    Unpack,
}

impl VolumeStep {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Pack => "pack",
            Self::Upload => "upload",
            Self::Fetch => "fetch",
            Self::Unpack => "unpack",
        }
    }
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeTaskStatus {
    pub id: VolumeTaskId,
    pub state: WorkState,
    pub step: VolumeStep,
    pub failure: Option<Failure>,
    /// Digest and packed size of a snapshot that succeeded.
    pub packed: Option<(String, u64)>,
}
