//! From a release to an instance's spec: its folders, user, port and environment. Blocking: called off the runtime's task.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::cgroup::GroupLimits;
use fairlead_model::{AppKey, DeploymentId, InstanceId, ReleaseSpec};
use zeroize::Zeroizing;

use super::RuntimeOptions;
use crate::instance::{InstanceFolder, InstanceSpec, SecretsSpec};
use crate::rollout::Exit;
use crate::secrets::{self, Opened};

/// Only root can make a file system that one app alone sees.
const NO_SECRET_FILES: &str = "The app could not be started: some of its secrets are to be files, which needs an agent that runs as root. Deliver them as variables, or run the agent as root.";

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

/// An instance that is ready to be started.
pub(super) struct Prepared {
    pub(super) folder: InstanceFolder,
    pub(super) spec: InstanceSpec,
    /// For the shim alone.
    pub(super) secrets: Option<Zeroizing<Vec<u8>>>,
}

/// Opens the secrets, makes the instance's folders and writes its spec; the exit tells in a sentence why that failed.
pub(super) fn prepare(options: &Arc<RuntimeOptions>, order: Order) -> Result<Prepared, Exit> {
    let failed = |unopenable, error| Exit { start_error: Some(error), unopenable, ..Exit::default() };
    let sealed = order.release.secrets.as_ref();
    let opened = sealed.map(|sealed| secrets::open(&options.sealing, &order.key, sealed)).transpose();
    let opened = opened.map_err(|error| failed(true, error))?;
    if opened.as_ref().is_some_and(|opened| opened.files) && !rustix::process::geteuid().is_root() {
        return Err(failed(false, NO_SECRET_FILES.to_owned()));
    }
    let (folder, spec) = build(options, order, opened.as_ref()).map_err(|error| {
        let words = match error.kind() {
            io::ErrorKind::StorageFull => {
                "The app could not be started: the server's disk is full. Free some space, then deploy again."
                    .to_owned()
            }
            _ => format!("The app could not be started: {error}."),
        };
        failed(false, words)
    })?;
    Ok(Prepared { folder, spec, secrets: opened.map(|opened| opened.plain) })
}

fn build(
    options: &Arc<RuntimeOptions>,
    order: Order,
    opened: Option<&Opened>,
) -> io::Result<(InstanceFolder, InstanceSpec)> {
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
    let secrets_folder = opened.is_some_and(|opened| opened.files).then(|| folder.secrets());
    if let Some(path) = &secrets_folder {
        make_folder(path, 0o711, None)?;
    }
    let cgroup = options.isolation.cgroups.create(
        order.instance.as_str(),
        GroupLimits { memory_bytes: order.release.memory_bytes_max, ..GroupLimits::default() },
    )?;
    let spec = InstanceSpec {
        environment: environment(&order, options, &home, secrets_folder.as_deref()),
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
        secrets: order.release.secrets.map(|sealed| SecretsSpec { version: sealed.version, folder: secrets_folder }),
        cgroup,
        restarts: order.restarts,
        health: order.release.health,
        drain_timeout: order.release.drain_timeout,
        stop_grace: order.release.stop_grace,
    };
    folder.prepare(&spec)?;
    Ok((folder, spec))
}

fn environment(
    order: &Order,
    options: &RuntimeOptions,
    home: &Path,
    secrets: Option<&Path>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut environment: BTreeMap<String, String> =
        [("NODE_ENV", "production"), ("LANG", "C.UTF-8")].map(|(name, value)| (name.into(), value.into())).into();
    environment.extend(order.release.environment.clone());
    // The app's own programs come first, as in a terminal of its package manager.
    let runtimes = order.release.toolchains.iter().filter_map(|name| options.folders.toolchain_programs(name));
    let path: Vec<String> =
        [order.folder.join("node_modules/.bin")].into_iter().chain(runtimes).map(|path| text(&path)).collect();
    let path = format!("{}:{}", path.join(":"), options.path.to_string_lossy());
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
    environment.extend(secrets.map(|path| (secrets::FOLDER_VARIABLE.to_owned(), text(path))));
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
