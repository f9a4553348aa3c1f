//! Hides folders of the agent from an app that runs as the agent's user, in the app's own mount namespace.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};

/// Mounts an empty file system over each folder that exists. The folder `kept`, which may be inside one, stays visible.
pub(super) fn hide(folders: &[PathBuf], kept: Option<&Path>) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let kept = kept.map(|path| Ok::<_, io::Error>((path, openat(CWD, path, flags, Mode::empty())?))).transpose()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let folders: Vec<&PathBuf> = folders.iter().filter(|folder| folder.is_dir()).collect();
    for folder in &folders {
        mount("tmpfs", *folder, "tmpfs", flags, c"mode=0755,size=64k")?;
    }
    if let Some((path, folder)) = kept {
        std::fs::create_dir_all(path)?;
        mount_bind(format!("/proc/self/fd/{}", folder.as_raw_fd()), path)?;
    }
    for folder in folders {
        mount_remount(folder, flags | MountFlags::RDONLY, c"")?;
    }
    Ok(())
}
