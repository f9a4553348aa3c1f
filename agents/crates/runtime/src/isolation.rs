//! What keeps apps apart on this server, and what can't. Found once at start; the list of what is off is shown to people.
//! Never weakens silently: whatever is missing has its sentence here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairlead_base::Folders;
use fairlead_base::cgroup::Cgroups;

/// What this agent can do for its apps.
#[derive(Debug, Clone)]
pub struct Isolation {
    pub(crate) cgroups: Cgroups,
    /// Apps have a /tmp of their own.
    pub(crate) private_tmp: bool,
    off: Vec<String>,
}

impl Isolation {
    /// Looks at the rights of this process and at the kernel; makes the parent of the control groups.
    pub fn detect(folders: &Folders) -> Self {
        let root = rustix::process::geteuid().is_root();
        let cgroups = Cgroups::detect(&group_name(folders.root()));
        let mut off = Vec::new();
        if !root {
            off.push("Apps and builds run as the agent's own user, because the agent does not run as root.".to_owned());
            off.push(
                "Apps share /tmp with everything on the server, because the agent does not run as root.".to_owned(),
            );
        }
        // A /tmp of its own would hide the app's own files from it.
        let private_tmp = root && !folders.root().starts_with("/tmp");
        if root && !private_tmp {
            off.push("Apps share /tmp with everything on the server, because the data folder lies in it.".to_owned());
        }
        if let Some(reason) = cgroups.off_reason() {
            off.push(format!("Apps have no memory limit, because {reason}."));
        }
        if root && let Some(closed) = closed_parent(folders.root()) {
            off.push(format!(
                "Apps can't reach their files, because {} is closed to other users: move the data folder, or chmod o+x it.",
                closed.display()
            ));
        }
        Self { cgroups, private_tmp, off }
    }

    /// Where control groups are made, for builds too.
    pub fn groups(&self) -> &Cgroups {
        &self.cgroups
    }

    /// What is off, in whole sentences; empty when isolation is whole.
    pub fn off(&self) -> &[String] {
        &self.off
    }
}

/// Differs between data folders, so that two agents on one server don't meet (FNV-1a).
fn group_name(root: &Path) -> String {
    let bytes = root.as_os_str().as_encoded_bytes();
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("fairlead-{hash:016x}")
}

/// The first folder on the way that users of apps can't pass.
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
