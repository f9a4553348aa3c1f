//! Runs file operations with the rights of a build's user, so the kernel refuses files that the build may not read. Invariant:
//! a thread that changed its rights does no other work.

use std::io;

use rustix::process::geteuid;

/// Stack size for work that recurses once for each level of a path: PATH_MAX allows some 2,000 levels.
const STACK_BYTES: usize = 16 << 20;

/// Runs `work` in a thread of its own that reaches files as `user` does, without any group of the agent. Blocking.
/// Only the rights over files change: a thread with the build's user id could be ended by the build, and the agent with it.
pub fn as_user<T: Send>(user: Option<u32>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let Some(user) = user.filter(|user| *user != geteuid().as_raw()) else { return Ok(work()) };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("as-user".into()).stack_size(STACK_BYTES).spawn_scoped(
            scope,
            move || {
                lower(user)?;
                Ok(work())
            },
        )?;
        thread.join().map_err(|_| io::Error::other("the work as another user ended unexpectedly"))?
    })
}

/// Per thread in Linux, and the kernel takes the capabilities over files away with the user (capabilities(7)).
#[allow(unsafe_code)]
fn lower(user: u32) -> io::Result<()> {
    rustix::thread::set_thread_groups(&[])?;
    // SAFETY: these calls take numbers and change the credentials of this thread only; both return what was set before,
    // and an invalid id only asks.
    let (group_now, user_now) = unsafe {
        libc::setfsgid(user);
        libc::setfsuid(user);
        (libc::setfsgid(u32::MAX), libc::setfsuid(u32::MAX))
    };
    if group_now.cast_unsigned() == user && user_now.cast_unsigned() == user {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the rights of the build's user could not be taken"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn only_what_the_user_may_read_is_read_and_the_caller_keeps_its_rights() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        for path in [&ours, &theirs] {
            fs::write(path, "x").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        chown(&theirs, Some(71_234), Some(71_234)).unwrap();
        let (one, two) = as_user(Some(71_234), || (fs::read(&ours), fs::read(&theirs))).unwrap();
        assert_eq!(one.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(two.unwrap(), b"x");
        assert_eq!(fs::read(&ours).unwrap(), b"x");
    }
}
