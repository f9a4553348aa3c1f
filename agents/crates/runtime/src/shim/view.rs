//! Root file system of an instance: its release with a writable layer at `/app`. A health command joins the one of its
//! instance.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use fairlead_base::root_view::RootView;
use rustix::mount::{UnmountFlags, unmount};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::instance::{InstanceFolder, InstanceSpec, ViewSpec};

/// Makes the view the root of this process, which already has its own mount namespace with the view's mounts.
pub(super) fn enter(spec: &InstanceSpec, view: &ViewSpec) -> io::Result<()> {
    let user = spec.user.ok_or_else(|| io::Error::other("it has no user of its own"))?;
    let folder = InstanceFolder::new(&view.folder);
    let app = view.layer.mount(&view.release, &folder.layer(), user)?;
    RootView::new(&app, Some(&view.runtimes), &folder.staging())?.enter()
}

/// Moves this process into the mounts of a running instance, which its user must own.
pub(super) fn join(pid: u32, spec: &InstanceSpec) -> io::Result<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    // Before the change of user, it may not have entered its mounts yet.
    if !users.split_whitespace().all(|user| user.parse().ok() == spec.user) {
        return Err(io::Error::other("the instance has not started yet"));
    }
    let mounts = File::open(format!("/proc/{pid}/ns/mnt"))?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    Ok(())
}

/// Unmounts the instance's secrets in this process's own mount namespace.
pub(super) fn hide_secrets(folder: &Path) -> io::Result<()> {
    Ok(unmount(folder, UnmountFlags::DETACH)?)
}
