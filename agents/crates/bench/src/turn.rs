//! Queue that lets one measurement run at a time: two on one machine would measure each other. Invariant: a holder waits for no
//! other turn of this machine, so that no deadlock is possible. A row of a distributed run also waits for other machines, so the
//! control plane starts such a run only when no other run uses any of its servers.

use std::sync::Arc;

use fairlead_base::CancellationToken;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::BenchError;

/// Queue of measurements, first come, first served. A benchmark takes a turn for each row, and a benchmark gate one for all its
/// rounds, so a gate waits for one row at most.
#[derive(Debug, Clone, Default)]
pub struct MeasurementTurns(Arc<Mutex<()>>);

impl MeasurementTurns {
    /// Waits for a turn, which ends when the guard is dropped.
    pub(crate) async fn take(&self) -> OwnedMutexGuard<()> {
        self.0.clone().lock_owned().await
    }

    /// Waits for a turn unless cancelled.
    pub(crate) async fn take_unless(&self, cancel: &CancellationToken) -> Result<OwnedMutexGuard<()>, BenchError> {
        tokio::select! {
            turn = self.take() => Ok(turn),
            () = cancel.cancelled() => Err(BenchError::Cancelled),
        }
    }
}
