//! Lifecycle of container instances on the agent's side: waits for their start, and removes what remains of them. Never
//! touches a container that another data folder or another program made.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::folders::fingerprint;
use fairlead_base::{Folders, tree};
use fairlead_engine::{Engine, EngineError};
use fairlead_model::InstanceId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::time::{Instant, sleep};

use crate::instance::{ContainerRecord, ContainerSpec, InstanceFolder, InstanceSpec};
use crate::shim::container_name;

/// Pause between two checks for a container that is being made.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// Maximum wait for an engine that restarts.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);
const REMOVE_PAUSE: Duration = Duration::from_millis(500);
/// File systems in memory that all of root's processes share.
const IN_MEMORY: [&str; 2] = ["/run", "/dev/shm"];

/// Returns the owner label of this data folder's containers: another folder on the same engine has another one.
pub fn owner(folders: &Folders) -> String {
    format!("{:016x}", fingerprint(folders.root()))
}

/// Returns the folders in memory that hold secrets of containers with this owner label.
pub(crate) fn secrets_folders(owner: &str) -> [PathBuf; 2] {
    IN_MEMORY.map(|path| Path::new(path).join(format!("fairlead-{owner}")))
}

/// Returns the folder in memory for an instance's secrets; `None` if this server has no such file system.
pub(crate) fn secrets_folder(owner: &str, instance: &InstanceId) -> Option<PathBuf> {
    let found = IN_MEMORY.iter().find(|path| {
        rustix::fs::statfs(**path).is_ok_and(|found| found.f_type == libc::TMPFS_MAGIC as rustix::fs::FsWord)
    })?;
    Some(Path::new(found).join(format!("fairlead-{owner}")).join(instance.as_str()))
}

/// Waits until the container runs. The task that waits for its end learns if it never does.
pub(crate) async fn wait_until_running(folder: &InstanceFolder) -> ContainerRecord {
    loop {
        match folder.container_record() {
            Ok(Some(container_record)) => return container_record,
            Ok(None) => {}
            Err(error) => tracing::warn!(folder = %folder.path().display(), %error, "can't be read"),
        }
        sleep(LOOK_PAUSE).await;
    }
}

/// Stops and removes what remains of an instance's container, and its secrets.
pub(crate) async fn clean(spec: &InstanceSpec, container: &ContainerSpec) {
    if let Some(folder) = &container.secrets
        && let Err(error) = tree::remove(folder)
    {
        tracing::warn!(instance = %spec.instance, %error, "its secrets could not be removed");
    }
    let name = container_name(container, &spec.instance);
    let until = Instant::now() + REMOVE_TIMEOUT;
    let has_network = spec.network.is_some();
    while let Err(error) = remove(&container.socket, &name, has_network).await {
        if Instant::now() >= until {
            tracing::error!(instance = %spec.instance, %error, "its container could not be removed");
            return;
        }
        sleep(REMOVE_PAUSE).await;
    }
}

async fn remove(socket: &Path, name: &str, has_network: bool) -> Result<(), EngineError> {
    let engine = Engine::at(socket);
    engine.remove_container(name).await?;
    if has_network { engine.remove_network(name).await } else { Ok(()) }
}

/// Removes containers of this data folder without a known instance: they were made while no agent followed them. Also
/// removes its empty networks, unless a container is about to join one: its launcher holds the lock of `instances`.
pub(crate) async fn sweep(
    engine: &Engine,
    owner: &str,
    instances: &Path,
    known: &HashSet<InstanceId>,
) -> Result<(), EngineError> {
    for name in engine.containers_of(owner).await? {
        let instance = name.rsplit('-').next().and_then(|id| InstanceId::parse(id).ok());
        if instance.is_none_or(|id| !known.contains(&id)) {
            tracing::info!(container = name, "removed: its instance is gone");
            engine.remove_container(&name).await?;
        }
    }
    let lock = File::open(instances).map_err(EngineError::from)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => engine.remove_empty_networks(owner).await,
        // Does not wait, because the agent's start would wait too; the next start removes them.
        Err(Errno::WOULDBLOCK) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}
