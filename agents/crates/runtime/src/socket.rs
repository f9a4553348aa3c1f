//! Gives the proxy access to an app's Unix socket, which belongs to the app's user. Invariant: only the app and the
//! proxy's group may enter the socket's folder.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use fairlead_base::accounts;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, chmod, chownat, fstat, openat};

/// Mode of the folder: the app may do everything in it, and the proxy's group may enter.
const FOLDER_MODE: u32 = 0o710;
/// Mode of the socket: connecting needs the right to write (unix(7)).
const SOCKET_MODE: u32 = 0o666;

/// Lets the proxy connect to the socket of the app with the user `owner`. Without root all share one user, so there is
/// nothing to do. Refuses anything that the app put in place of its folder or socket (a link, a socket of another
/// user).
pub(crate) fn grant_proxy_access(socket: &Path, owner: u32) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let group = proxy_group()?;
    let folder = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let found = fstat(&folder)?;
    require(found.st_uid == owner)?;
    if found.st_gid != group || found.st_mode & 0o777 != FOLDER_MODE {
        chownat(&folder, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
        set_mode(&folder, FOLDER_MODE)?;
    }
    let socket = openat(&folder, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    let found = fstat(&socket)?;
    require(found.st_uid == owner && FileType::from_raw_mode(found.st_mode) == FileType::Socket)?;
    if found.st_mode & SOCKET_MODE != SOCKET_MODE {
        set_mode(&socket, found.st_mode & 0o777 | SOCKET_MODE)?;
    }
    Ok(())
}

fn proxy_group() -> io::Result<u32> {
    static GROUP: OnceLock<u32> = OnceLock::new();
    match GROUP.get() {
        Some(group) => Ok(*group),
        None => {
            let group = accounts::proxy_user()?.gid;
            Ok(*GROUP.get_or_init(|| group))
        }
    }
}

/// Sets the mode by the descriptor: its path may lead elsewhere by now.
fn set_mode(opened: &OwnedFd, mode: u32) -> io::Result<()> {
    Ok(chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), Mode::from_raw_mode(mode))?)
}

fn require(is_own: bool) -> io::Result<()> {
    is_own.then_some(()).ok_or_else(|| io::ErrorKind::PermissionDenied.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    const APP: u32 = 71_236;

    #[test]
    fn the_proxys_group_gets_to_the_apps_socket_and_a_link_to_another_one_opens_nothing() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(APP), Some(APP)).unwrap();
        let bind = |name: &str, owner: u32| {
            let path = folder.path().join(name);
            drop(UnixListener::bind(&path).unwrap());
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
            chown(&path, Some(owner), Some(owner)).unwrap();
            path
        };
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        let (own, foreign) = (bind("web", APP), bind("foreign", 0));
        grant_proxy_access(&own, APP).unwrap();
        let found = std::fs::metadata(folder.path()).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (APP, proxy_group().unwrap(), 0o710));
        assert_eq!(mode(&own) & 0o666, 0o666);

        symlink(&foreign, folder.path().join("link")).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        for name in ["link", "foreign", "file"] {
            let refused = grant_proxy_access(&folder.path().join(name), APP).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        assert!(grant_proxy_access(&own, APP + 1).is_err(), "the folder is another app's");
        assert_eq!(mode(&foreign), 0o750);
    }
}
