//! Root file system of an instance: its release with a writable layer at `/app`. A health command joins that of its instance.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use fairlead_base::root_view::RootView;
use rustix::mount::{UnmountFlags, unmount};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::instance::{InstanceFolder, InstanceSpec, ViewSpec};

/// Makes the view the root of this process, which has mounts of its own already: the view contains them.
pub(super) fn enter(spec: &InstanceSpec, view: &ViewSpec) -> io::Result<()> {
    let user = spec.user.ok_or_else(|| io::Error::other("it has no user of its own"))?;
    let folder = InstanceFolder::new(&view.folder);
    let app = view.layer.mount(&view.release, &folder.layer(), user)?;
    RootView::new(&app, Some(&view.runtimes), &folder.staging())?.enter()
}

/// Moves this process into the mounts of an instance that runs, which its user must own.
pub(super) fn join(pid: u32, spec: &InstanceSpec) -> io::Result<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    // Until it has become its user, it may still be on its way into its mounts.
    if !users.split_whitespace().all(|user| user.parse().ok() == spec.user) {
        return Err(io::Error::other("the instance has not started yet"));
    }
    let mounts = File::open(format!("/proc/{pid}/ns/mnt"))?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    Ok(())
}

/// Takes the instance's secrets out of this process's own mounts.
pub(super) fn hide_secrets(folder: &Path) -> io::Result<()> {
    Ok(unmount(folder, UnmountFlags::DETACH)?)
}
