//! `empty`: removes everything in one folder of the trash, in a separate process that can reach nothing else. Invariant: it gets
//! the folder as a descriptor and never resolves a path outside of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fairlead_base::tree::{self, Removal};
use fairlead_build::as_user;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use serde::{Deserialize, Serialize};

use super::CommandResult;

/// Time after which a removal stops, so that others have their turn; the rest is done later.
const WORK_MAX: Duration = Duration::from_secs(60);
/// Descriptors that the process may have: those of one walk and a few more.
const DESCRIPTORS_MAX: u64 = 128;
/// Newest Landlock version that this program restricts by; an older kernel restricts only the rights that it knows.
const LANDLOCK: ABI = ABI::V6;

/// Result of one removal, as JSON on standard output.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RemovalReport {
    pub(crate) removal: Removal,
    /// Reason why Landlock does not confine the process; the walk itself still stays in the folder.
    pub(crate) unconfined: Option<String>,
}

pub(crate) fn empty() -> CommandResult {
    let folder = io::stdin().as_fd().try_clone_to_owned()?;
    let limit = Some(DESCRIPTORS_MAX);
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit })?;
    let unconfined = confine(folder.as_fd()).err();
    let until = Instant::now() + WORK_MAX;
    let removal = remove(folder, || Instant::now() >= until)?;
    println!("{}", serde_json::to_string(&RemovalReport { removal, unconfined })?);
    Ok(ExitCode::SUCCESS)
}

/// Confines this process to reading and removing below the folder (landlock(7)). Folders move within it, which kernels allow from
/// the second version of Landlock on.
fn confine(folder: BorrowedFd<'_>) -> Result<(), String> {
    let needed: BitFlags<AccessFs> =
        AccessFs::ReadDir | AccessFs::RemoveDir | AccessFs::RemoveFile | AccessFs::MakeDir | AccessFs::Refer;
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(needed)
        .map_err(|_| "this kernel has no Landlock of version 2 or newer (Linux 5.19)")?;
    let status = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(LANDLOCK)))
        .and_then(|rules| rules.scope(Scope::from_all(LANDLOCK)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rule(PathBeneath::new(folder, needed)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| format!("Landlock refuses: {error}"))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock is switched off".to_owned()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// Empties a user's folders with that user's rights. The agent's rights remove only the rest: what the agent made, and what
/// belongs to neither.
fn remove(folder: OwnedFd, mut stop: impl FnMut() -> bool + Send) -> io::Result<Removal> {
    let mut removed = 0;
    if geteuid().is_root() {
        for (user, owned) in owned_folders(&folder)? {
            let removal = as_user(Some(user), || tree::empty(owned, &mut stop))??;
            removed += removal.removed;
        }
    }
    let mut removal = tree::empty(folder, stop)?;
    removal.removed += removed;
    Ok(removal)
}

/// Returns the folder itself if a user owns it, else the folders in it that users own, also in the agent's own ones: the layer of
/// an instance lies there.
fn owned_folders(folder: &OwnedFd) -> io::Result<Vec<(u32, OwnedFd)>> {
    let owner = fstat(folder)?.st_uid;
    if owner != 0 {
        return Ok(vec![(owner, folder.try_clone()?)]);
    }
    let mut found = Vec::new();
    find_owned(folder.as_fd(), 1, &mut found)?;
    Ok(found)
}

fn find_owned(folder: BorrowedFd<'_>, levels_below: u32, found: &mut Vec<(u32, OwnedFd)>) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = Dir::read_from(folder)?;
    while let Some(entry) = dir.read() {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") || found.len() >= OWNED_MAX {
            continue;
        }
        let about = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::Directory {
            continue;
        }
        let open = || openat(folder, entry.file_name(), flags, Mode::empty());
        if about.st_uid != 0 {
            found.push((about.st_uid, open()?));
        } else if levels_below > 0 {
            find_owned(open()?.as_fd(), levels_below - 1, found)?;
        }
    }
    Ok(())
}

/// A build has four folders of its user, an instance three; more belong to nothing that the agent made.
const OWNED_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::Path;

    use super::*;

    fn open(folder: &Path) -> OwnedFd {
        fs::File::open(folder).unwrap().into()
    }

    #[test]
    fn the_process_reaches_nothing_outside_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        for folder in [inside.join("a/b"), inside.join("c"), outside.join("folder")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(outside.join("one"), "").unwrap();
        fs::write(outside.join("two"), "").unwrap();
        fs::write(inside.join("file"), "").unwrap();
        let folder = open(&inside);
        // Rights belong to a thread and end with this one.
        let thread = std::thread::spawn(move || {
            fs::remove_file(outside.join("one")).unwrap();
            if let Err(reason) = confine(folder.as_fd()) {
                assert!(reason.contains("Landlock"), "{reason}");
                return;
            }
            for refused in [
                fs::remove_file(outside.join("two")),
                fs::remove_dir(outside.join("folder")),
                fs::rename(inside.join("c"), outside.join("c")),
                fs::read_dir(&outside).map(|_| ()),
                fs::read("/etc/passwd").map(|_| ()),
            ] {
                let kind = refused.unwrap_err().kind();
                assert!(matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices), "{kind}");
            }
            // Moving folders up within it is part of the removal.
            fs::rename(inside.join("a/b"), inside.join("b")).unwrap();
            assert!(remove(folder, || false).unwrap().is_complete());
        });
        thread.join().unwrap();
    }

    #[test]
    fn files_of_a_user_are_removed_with_that_users_rights_and_the_rest_with_the_agents() {
        if !geteuid().is_root() {
            return;
        }
        const USER: u32 = 71_234;
        let dir = tempfile::tempdir().unwrap();
        let (folder, outside) = (dir.path().join("folder"), dir.path().join("outside"));
        let of_user = folder.join("home");
        for path in [of_user.join("read-only/below"), folder.join("ours"), outside.clone()] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(of_user.join("read-only/below/file"), "").unwrap();
        fs::write(of_user.join("foreign"), "").unwrap();
        // Overlays leave folders without rights.
        fs::create_dir_all(folder.join("layer/work/work")).unwrap();
        fs::create_dir_all(folder.join("layer/upper/inner")).unwrap();
        chown(folder.join("layer/upper"), Some(USER), Some(USER)).unwrap();
        fs::set_permissions(folder.join("layer/work/work"), PermissionsExt::from_mode(0o000)).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, of_user.join("link")).unwrap();
        for path in [of_user.clone(), of_user.join("read-only"), of_user.join("read-only/below")] {
            chown(path, Some(USER), Some(USER)).unwrap();
        }
        // Go leaves its modules like this.
        for path in [of_user.join("read-only/below"), of_user.join("read-only")] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o500)).unwrap();
        }
        let owned = owned_folders(&open(&folder)).unwrap();
        assert_eq!(owned.iter().map(|(user, _)| *user).collect::<Vec<_>>(), [USER; 2]);
        let below = open(&of_user);
        let removal = as_user(Some(USER), || tree::empty(below, || false)).unwrap().unwrap();
        assert!(removal.is_complete() && removal.removed == 5, "{removal:?}");
        fs::create_dir(of_user.join("of-root")).unwrap();
        fs::write(of_user.join("of-root/file"), "").unwrap();
        assert!(remove(open(&folder), || false).unwrap().is_complete());
        assert!(fs::read_dir(&folder).unwrap().next().is_none() && outside.join("kept").exists());
    }
}
