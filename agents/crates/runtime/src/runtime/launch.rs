//! From a release to an instance's spec: its folders, user, port and environment. Blocking: called off the runtime's task.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_model::{AppKey, DeploymentId, InstanceId, ReleaseSpec};

use super::RuntimeOptions;
use crate::instance::{InstanceFolder, InstanceSpec};

/// What the rollout asked for, and the port that was found for it.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) instance: InstanceId,
    pub(super) key: AppKey,
    pub(super) release: ReleaseSpec,
    pub(super) folder: PathBuf,
    pub(super) deployment: Option<DeploymentId>,
    pub(super) restarts: u32,
    pub(super) port: u16,
}

/// Makes the instance's folders and writes its spec; the error is a sentence.
pub(super) fn prepare(options: &Arc<RuntimeOptions>, order: Order) -> Result<(InstanceFolder, InstanceSpec), String> {
    build(options, order).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => {
            "The app could not be started: the server's disk is full. Free some space, then deploy again.".to_owned()
        }
        _ => format!("The app could not be started: {error}."),
    })
}

fn build(options: &Arc<RuntimeOptions>, order: Order) -> io::Result<(InstanceFolder, InstanceSpec)> {
    let user = options.identities.user_for(&format!("run/{}", order.key))?;
    // Of the app, not of this environment: a release may be live in several.
    let group = options.identities.user_for(&format!("release/{}", order.key.app))?;
    if let Some(group) = group {
        give_to_group(&order.folder, group)?;
    }
    let folder = InstanceFolder::new(options.folders.instances().join(order.instance.as_str()));
    make_folder(folder.path(), 0o711, None)?;
    let home = options.folders.homes().join(format!("{}-{}", order.key.app, order.key.environment));
    make_folder(&home, 0o700, user)?;
    let private_tmp = if options.isolation.private_tmp {
        make_folder(&folder.tmp(), 0o700, user)?;
        Some(folder.tmp())
    } else {
        None
    };
    let cgroup = options.isolation.cgroups.create(order.instance.as_str(), order.release.memory_bytes_max)?;
    let spec = InstanceSpec {
        environment: environment(&order, options, &home),
        instance: order.instance,
        key: order.key,
        release: order.release.id,
        deployment: order.deployment,
        command: order.release.command,
        folder: order.folder,
        port: order.port,
        user,
        group,
        private_tmp,
        cgroup,
        restarts: order.restarts,
        health: order.release.health,
        drain_timeout: order.release.drain_timeout,
        stop_grace: order.release.stop_grace,
    };
    folder.prepare(&spec)?;
    Ok((folder, spec))
}

fn environment(order: &Order, options: &RuntimeOptions, home: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut environment: BTreeMap<String, String> =
        [("NODE_ENV", "production"), ("LANG", "C.UTF-8")].map(|(name, value)| (name.into(), value.into())).into();
    environment.extend(order.release.environment.clone());
    // The app's own programs come first, as in a terminal of its package manager.
    let path = format!("{}:{}", text(&order.folder.join("node_modules/.bin")), options.path.to_string_lossy());
    environment.extend(
        [
            ("PORT", order.port.to_string()),
            ("HOME", text(home)),
            ("PATH", path),
            ("FAIRLEAD_INSTANCE_ID", order.instance.to_string()),
            ("FAIRLEAD_RELEASE_ID", order.release.id.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    environment
}

/// Lets the app's own instances into a release, and nobody else: what is inside is readable by all.
fn give_to_group(release: &Path, group: u32) -> io::Result<()> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = match OpenOptions::new().read(true).custom_flags(flags).open(release) {
        // The start has a better sentence for it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    fchown(&folder, None, Some(group))?;
    folder.set_permissions(PermissionsExt::from_mode(0o750))
}

fn make_folder(path: &Path, mode: u32, owner: Option<u32>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // The umask may have taken some bits away.
    set_permissions(path, PermissionsExt::from_mode(mode))?;
    if owner.is_some() {
        chown(path, owner, owner)?;
    }
    Ok(())
}
