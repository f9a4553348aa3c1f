//! Private /dev of an app: the few devices that a program needs, shared memory, and terminals of its own.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

/// Devices that expose no data of others.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
/// Size of /dev/shm, limited so that an app can't bypass its memory limit unseen.
const SHARED: &std::ffi::CStr = c"mode=1777,size=128m";

/// Makes the devices at `folder` and mounts them over /dev. The process must already have its own mount namespace.
pub(super) fn mount_devices(folder: &Path) -> io::Result<()> {
    mount("tmpfs", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=0755,size=64k")?;
    for name in DEVICES {
        let place = folder.join(name);
        File::create(&place)?;
        mount_bind(Path::new("/dev").join(name), &place)?;
    }
    for (name, target) in
        [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"), ("ptmx", "pts/ptmx")]
    {
        symlink(target, folder.join(name))?;
    }
    let hardened = MountFlags::NOSUID | MountFlags::NOEXEC;
    let make = |name: &str| -> io::Result<_> {
        let place = folder.join(name);
        DirBuilder::new().mode(0o755).create(&place)?;
        fs::set_permissions(&place, PermissionsExt::from_mode(0o755))?;
        Ok(place)
    };
    mount("devpts", make("pts")?, "devpts", hardened, c"newinstance,ptmxmode=0666,mode=0620")?;
    mount("tmpfs", make("shm")?, "tmpfs", hardened | MountFlags::NODEV, SHARED)?;
    mount_bind_recursive(folder, "/dev")?;
    Ok(())
}
