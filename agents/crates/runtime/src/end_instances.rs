//! End of all instances of a data folder, without the `run` that started them. Needs no state but their folders.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::cgroup::Cgroups;
use fairlead_base::{Folders, tree};
use fairlead_engine::{Engine, EngineError};
use fairlead_model::InstanceId;
use rustix::process::{Signal, kill_process};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::container;
use crate::instance::{InstanceFolder, InstanceSpec};
use crate::isolation::group_name;
use crate::supervisor::{Supervisor, shim_process};

/// Time that an instance gets beyond its stop timeout, after which its shim is killed.
const STOP_RESERVE: Duration = Duration::from_secs(10);
/// Timeout of emptying the control groups, and the pause between two attempts.
const GROUPS_TIMEOUT: Duration = Duration::from_secs(10);
const GROUPS_PAUSE: Duration = Duration::from_millis(20);

/// Reason why something of the instances may be left.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    #[error("the instances in {path} can't be listed")]
    Instances {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the control groups of apps can't be removed")]
    Groups(#[source] io::Error),
    #[error("the secrets of containers can't be removed")]
    Secrets(#[source] io::Error),
    #[error("the containers of apps can't be removed")]
    Containers(#[source] EngineError),
}

/// Stops every instance, each with its stop timeout, and removes its processes, control groups, containers and secrets in memory.
/// Files of the data folder stay. The caller holds the lock of `run`.
pub async fn end_instances(folders: &Folders, engine: &Engine) -> Result<(), EndError> {
    let path = folders.instances();
    let entries = match std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(|source| EndError::Instances { path, source })?,
    };
    let mut ending = JoinSet::new();
    for entry in entries {
        let supervisor = Supervisor { program: PathBuf::new(), sockets: folders.run() };
        ending.spawn(end(supervisor, InstanceFolder::new(entry.path())));
    }
    ending.join_all().await;
    if engine.answers().await {
        let (owner, instances) = (container::owner(folders), folders.instances());
        if instances.exists() {
            let none = std::collections::HashSet::<InstanceId>::new();
            container::sweep(engine, &owner, &instances, &none).await.map_err(EndError::Containers)?;
        }
    }
    end_groups(&Cgroups::detect(&group_name(folders.root()))).await.map_err(EndError::Groups)?;
    container::secrets_folders(&container::owner(folders))
        .iter()
        .try_for_each(|folder| tree::remove(folder))
        .map_err(EndError::Secrets)
}

async fn end(supervisor: Supervisor, folder: InstanceFolder) {
    let spec = match folder.spec() {
        Ok(spec) => spec,
        Err(error) => {
            tracing::warn!(folder = %folder.path().display(), %error, "an instance can't be read; its shim is killed");
            None
        }
    };
    let Some(spec) = spec else { return kill_shim(&folder) };
    let limit = spec.stop_timeout + STOP_RESERVE;
    if timeout(limit, stop(&supervisor, &folder, &spec)).await.is_err() {
        tracing::warn!(instance = %spec.instance, "did not stop in time and is killed");
    }
    kill_shim(&folder);
    supervisor.clean(&spec).await;
}

async fn stop(supervisor: &Supervisor, folder: &InstanceFolder, spec: &InstanceSpec) {
    let attached = match supervisor.attach(&spec.instance).await {
        Ok(attached) if attached.status.running => attached,
        _ => return,
    };
    let (stop, stops) = mpsc::unbounded_channel();
    // The receiver is in this function.
    stop.send(spec.stop_timeout).ok();
    supervisor.follow(folder, spec, attached, stops).await;
}

fn kill_shim(folder: &InstanceFolder) {
    if let Some(shim) = shim_process(folder.path()) {
        // Its app dies with it. It may have ended since.
        kill_process(shim, Signal::KILL).ok();
    }
}

async fn end_groups(groups: &Cgroups) -> io::Result<()> {
    let until = Instant::now() + GROUPS_TIMEOUT;
    while let Err(error) = groups.end_all() {
        if Instant::now() >= until {
            return Err(error);
        }
        sleep(GROUPS_PAUSE).await;
    }
    Ok(())
}
