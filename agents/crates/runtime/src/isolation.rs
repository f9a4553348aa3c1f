//! Isolation features of this server, detected once at start. Invariant: every missing feature has a sentence in `off`,
//! which people see.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairlead_base::cgroup::{APPS_UNIT, Cgroups};
use fairlead_base::folders::fingerprint;
use fairlead_base::sandbox::{LANDLOCK_PORTS, LANDLOCK_SCOPES, landlock_version, seccomp_known};
use fairlead_base::sock_diag::SocketDiagnostics;
use fairlead_base::{Folders, root_view};
use fairlead_network::{AppNetwork, OwnNetwork};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen};

use crate::layer::LayerKind;
use crate::shared_network::{SharedNetwork, rootless_weaknesses, shared_network_weaknesses};

/// Isolation that this agent can give its apps.
#[derive(Debug, Clone)]
pub struct Isolation {
    pub(crate) cgroups: Cgroups,
    /// True if apps have their own /tmp.
    pub(crate) private_tmp: bool,
    /// Kind of layer, if apps and builds have their own root file system. Apps write beside their code in such a layer.
    pub(crate) layer: Option<LayerKind>,
    /// True if apps have their own /dev.
    pub(crate) private_dev: bool,
    /// True if apps have a /proc that shows only their own processes.
    pub(crate) private_proc: bool,
    /// True if the kernel can restrict them to their files (Landlock).
    pub(crate) landlock: bool,
    /// True if the kernel can deny them system calls that they have no use for (seccomp).
    pub(crate) seccomp: bool,
    /// Networks of apps; `None` if they share the server's.
    pub(crate) network: Option<AppNetwork>,
    /// True if the kernel can restrict them to their own TCP ports.
    pub(crate) ports: bool,
    /// True if the kernel reports the users of TCP sockets.
    pub(crate) diagnostics: bool,
    off: Vec<String>,
}

impl Isolation {
    /// Detects the rights of this process and the features of the kernel; makes the parent of the control groups.
    /// `network` makes networks of apps' own, or is the reason why apps share the server's.
    pub fn detect(folders: &Folders, network: Result<impl Into<AppNetwork>, String>) -> Self {
        let root = rustix::process::geteuid().is_root();
        let cgroups = Cgroups::detect(&group_name(folders.root()));
        let mut off = Vec::new();
        if !root {
            off.push("Apps and builds run as the agent's own user, because the agent does not run as root.".to_owned());
            off.push(
                "Apps share /tmp with everything on the server, because the agent does not run as root.".to_owned(),
            );
        }
        // A private /tmp would hide the app's own files from it.
        let private_tmp = root && !folders.root().starts_with("/tmp");
        if root && !private_tmp {
            off.push("/tmp isn't isolated, because the data folder is in /tmp.".to_owned());
        }
        let layer = (root && root_view::is_possible()).then(|| LayerKind::detect(folders));
        if layer.is_none() {
            let why = if root { "this server can't make one" } else { "the agent does not run as root" };
            off.push(format!(
                "Apps and builds have no root file system of their own, because {why}: builds see the files above the data folder, and what apps write beside their code changes their release."
            ));
        }
        if let Some(reason) = cgroups.off_reason() {
            off.push(format!("Apps have no memory limit, because {reason}."));
        }
        off.extend(
            cgroups
                .missing()
                .iter()
                .map(|missing| format!("{missing}, because this kernel has no control group for it.")),
        );
        if cgroups.lacks_apps_unit() {
            off.push(format!(
                "The agent can't be started again while apps run, because systemd's unit {APPS_UNIT} does not run: start it, then restart the agent while no app runs."
            ));
        }
        let private_proc = root && private_proc_possible();
        if !private_proc {
            let why =
                if root { "a /proc of their own can't be mounted here" } else { "the agent does not run as root" };
            off.push(format!("Apps see the names and arguments of all processes of the server, because {why}."));
        }
        let (landlock, seccomp) = (landlock_version(), seccomp_known());
        if landlock == 0 {
            off.push(
                "Apps can read every file that all users of this server may, because this kernel has no Landlock."
                    .to_owned(),
            );
        }
        if landlock < LANDLOCK_SCOPES {
            off.push(
                "Apps can connect to abstract Unix sockets of other programs, because this kernel is older than Linux 6.12."
                    .to_owned(),
            );
        }
        if !seccomp {
            off.push("Apps can make every system call, because this kernel has no seccomp filters.".to_owned());
        }
        let diagnostics = SocketDiagnostics::is_available();
        let network = match network {
            Ok(network) => {
                let network = network.into();
                if matches!(network, AppNetwork::Rootless(_)) {
                    off.extend(rootless_weaknesses());
                }
                Some(network)
            }
            Err(reason) => {
                off.push(format!("Apps and builds share the server's network, because {reason}."));
                let server = SharedNetwork { landlock, seccomp, diagnostics, users: root };
                off.extend(shared_network_weaknesses(server));
                None
            }
        };
        if root && let Some(closed) = closed_parent(folders.root()) {
            off.push(format!(
                "Apps can't reach their files, because {} is closed to other users: move the data folder, or chmod o+x it.",
                closed.display()
            ));
        }
        Self {
            cgroups,
            private_tmp,
            layer,
            private_dev: root,
            private_proc,
            landlock: landlock > 0,
            seccomp,
            ports: landlock >= LANDLOCK_PORTS,
            diagnostics,
            network,
            off,
        }
    }

    /// Gives instances copies of their releases instead of overlays, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_copies(self) -> Self {
        Self { layer: self.layer.map(|_| LayerKind::Copy), ..self }
    }

    /// Returns the version of the control groups that limit apps, or why there are none.
    pub fn limits(&self) -> Result<u8, &str> {
        self.cgroups.version().ok_or_else(|| self.cgroups.off_reason().unwrap_or_default())
    }

    /// Returns the factory of control groups, for builds too.
    pub fn groups(&self) -> &Cgroups {
        &self.cgroups
    }

    /// Returns the factory of networks that root makes, for builds too; `None` if builds share the server's.
    pub fn network(&self) -> Option<&OwnNetwork> {
        match &self.network {
            Some(AppNetwork::Own(network)) => Some(network),
            Some(AppNetwork::Rootless(_)) | None => None,
        }
    }

    /// True if apps that are processes get networks of their own, from root or without.
    pub fn has_networks(&self) -> bool {
        self.network.is_some()
    }

    /// True if an instance gets a network of its own.
    pub(crate) fn gives_network(&self, is_container: bool) -> bool {
        match &self.network {
            Some(AppNetwork::Own(_)) => true,
            Some(AppNetwork::Rootless(_)) => !is_container,
            None => false,
        }
    }

    /// Lists missing isolation in whole sentences; empty if isolation is complete.
    pub fn off(&self) -> &[String] {
        &self.off
    }
}

/// True if the agent can give each app a `/proc` that shows only its own processes. Older kernels (before 5.8) have no
/// such mount, and a container may forbid it.
fn private_proc_possible() -> bool {
    let mounted = || {
        let proc = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&proc, "hidepid", "invisible")?;
        fsconfig_create(&proc)?;
        // The mount is never attached: it ends with its descriptor.
        fsmount(&proc, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    mounted().is_ok()
}

pub(crate) fn group_name(root: &Path) -> String {
    format!("fairlead-{:016x}", fingerprint(root))
}

/// Returns the first parent folder that users of apps can't enter.
fn closed_parent(root: &Path) -> Option<PathBuf> {
    let parents: Vec<&Path> = root.ancestors().skip(1).collect();
    let closed = |path: &&&Path| std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 == 0);
    parents.iter().rev().find(closed).map(|path| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_that_is_closed_to_others_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let closed = dir.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(closed_parent(&closed.join("data")), Some(closed));
        assert_ne!(group_name(Path::new("/a")), group_name(Path::new("/b")));
    }
}
