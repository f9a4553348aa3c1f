//! Conversion of tasks on volumes: from desired state, and to reports.

use std::collections::HashSet;

use fairlead_model::{StateError, VolumeAction, VolumeTask, VolumeTaskStatus};

use crate::agent;
use crate::agent::volume_task::Action;
use crate::parse::{digest, id, volume_key, wrong};
use crate::render::{failure, work};

/// Parses the tasks of a state.
pub(crate) fn volume_tasks(tasks: Vec<agent::VolumeTask>) -> Result<Vec<VolumeTask>, StateError> {
    let (mut parsed, mut ids) = (Vec::with_capacity(tasks.len()), HashSet::new());
    for (index, task) in tasks.into_iter().enumerate() {
        let task = volume_task(&format!("volume_tasks[{index}]"), task)?;
        if !ids.insert(task.id.clone()) {
            return Err(wrong(&format!("volume_tasks[{index}]"), "is the second of its id"));
        }
        parsed.push(task);
    }
    Ok(parsed)
}

fn volume_task(at: &str, task: agent::VolumeTask) -> Result<VolumeTask, StateError> {
    let volume = task.volume.ok_or_else(|| wrong(&format!("{at}.volume"), "is missing"))?;
    Ok(VolumeTask {
        id: id(at, "task_id", &task.task_id)?,
        volume: volume_key(&format!("{at}.volume"), volume)?,
        action: match task.action.ok_or_else(|| wrong(&format!("{at}.action"), "is missing"))? {
            Action::Snapshot(snapshot) => VolumeAction::Snapshot { stopped: snapshot.stopped },
            Action::Restore(restore) => {
                digest(&format!("{at}.restore.digest"), &restore.digest)?;
                VolumeAction::Restore { digest: restore.digest }
            }
        },
    })
}

/// Encodes the progress of a task.
pub(crate) fn volume_task_status(status: VolumeTaskStatus) -> agent::VolumeTaskStatus {
    let (digest, size_bytes) = status.packed.unwrap_or_default();
    agent::VolumeTaskStatus {
        task_id: status.id.to_string(),
        state: work(status.state),
        step: status.step.name().into(),
        failure: status.failure.map(failure),
        digest,
        size_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> agent::VolumeTask {
        let volume = agent::VolumeKey { app_id: "app_a".into(), environment_id: "env_p".into(), name: "data".into() };
        let action = Action::Restore(agent::VolumeRestore { digest: format!("sha256:{}", "a".repeat(64)) });
        agent::VolumeTask { task_id: "vtk_1".into(), volume: Some(volume), action: Some(action) }
    }

    #[test]
    fn a_task_with_any_fault_rejects_the_whole_state() {
        assert_eq!(volume_tasks(vec![good()]).unwrap().len(), 1);
        assert!(volume_tasks(vec![good(), good()]).is_err(), "one id has one outcome");
        let changes: [fn(&mut agent::VolumeTask); 6] = [
            |task| task.task_id = "../vtk_1".into(),
            |task| task.volume = None,
            |task| task.volume.iter_mut().for_each(|volume| volume.name = "../data".into()),
            |task| task.volume.iter_mut().for_each(|volume| volume.app_id = "app/..".into()),
            |task| task.action = None,
            |task| task.action = Some(Action::Restore(agent::VolumeRestore { digest: "sha256:ab".into() })),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut task = good();
            change(&mut task);
            assert!(volume_tasks(vec![task]).is_err(), "{index}");
        }
    }
}
