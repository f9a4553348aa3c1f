//! The agent's side of instances that are containers: when they run, what is left of them, and which of them nobody knows.
//! Owns their removal. Never touches a container that another data folder, or anybody else, made.

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

use crate::instance::{Contained, ContainerSpec, InstanceFolder, InstanceSpec};
use crate::shim::container_name;

/// Between two looks for a container that is being made.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// An engine that is being started anew is waited for so long.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);
const REMOVE_PAUSE: Duration = Duration::from_millis(500);
/// Where systems have a file system in memory that every process of root's sees as the same.
const IN_MEMORY: [&str; 2] = ["/run", "/dev/shm"];

/// Names the owner of this data folder's containers: another folder on the same engine has another name.
pub fn owner(folders: &Folders) -> String {
    format!("{:016x}", fingerprint(folders.root()))
}

/// The folder in memory for an instance's secrets; `None`: this server has no such file system.
pub(crate) fn secrets_folder(owner: &str, instance: &InstanceId) -> Option<PathBuf> {
    let found = IN_MEMORY.iter().find(|path| {
        rustix::fs::statfs(**path).is_ok_and(|found| found.f_type == libc::TMPFS_MAGIC as rustix::fs::FsWord)
    })?;
    Some(Path::new(found).join(format!("fairlead-{owner}")).join(instance.as_str()))
}

/// Waits until the container runs. Whoever waits for its end meanwhile hears when it never does.
pub(crate) async fn contained(folder: &InstanceFolder) -> Contained {
    loop {
        match folder.contained() {
            Ok(Some(contained)) => return contained,
            Ok(None) => {}
            Err(error) => tracing::warn!(folder = %folder.path().display(), %error, "can't be read"),
        }
        sleep(LOOK_PAUSE).await;
    }
}

/// Ends and removes what is left of an instance's container, and its secrets.
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

/// Removes containers of this data folder whose instance nobody knows: what was made while nobody followed it. And its
/// networks that are empty, unless a container is on its way into one: whoever starts it holds the lock of `instances`.
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
        // Not waited for, as the agent's start would be; they go at its next one.
        Err(Errno::WOULDBLOCK) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}
