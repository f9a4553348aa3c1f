//! Attacks on the walks: depth, swapped links, mounts, entries that stay, folders that are filled during the walk.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{IFlags, RenameFlags, ioctl_getflags, ioctl_setflags, mkdirat, renameat_with};

use super::*;

const LEVELS: usize = 100_000;
/// Stack size of the walks under test, so that recursion overflows it.
const STACK_BYTES: usize = 128 * 1024;
/// Set in the process that removes a tree recursively.
const TWIN: &str = "FAIRLEAD_TEST_RECURSIVE_REMOVAL";

/// Makes nested folders, as `mkdir` and `cd` in a loop do.
fn nest(folder: &Path, levels: usize) {
    fs::create_dir_all(folder).unwrap();
    let mut at = openat(rustix::fs::CWD, folder, FOLDER, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&at, c"d", Mode::RWXU).unwrap();
        at = openat(&at, c"d", FOLDER, Mode::empty()).unwrap();
    }
    openat(&at, c"file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
}

/// Makes a folder in memory if possible: a disk takes a minute for this number of folders.
fn fast_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(folder: &Path) -> OwnedFd {
    openat(rustix::fs::CWD, folder, FOLDER, Mode::empty()).unwrap()
}

fn with_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).unwrap();
        thread.join().unwrap()
    })
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_tree_of_a_hundred_thousand_levels_is_measured_and_removed_on_a_small_stack() {
    let dir = fast_folder();
    nest(&dir.path().join("tree"), LEVELS);
    fs::write(dir.path().join("beside"), vec![1; 1 << 20]).unwrap();
    let (found, removal) = with_small_stack(|| {
        let found = size(dir.path(), |_| false).unwrap();
        (found, empty(open(dir.path()), || false).unwrap())
    });
    // The top, the tree, its levels, the file in the deepest one and the one beside.
    assert_eq!((found.entries, found.skipped), (LEVELS as u64 + 4, 0));
    assert!(found.bytes >= 1 << 20, "{found:?}");
    assert_eq!((removal.removed, removal.is_complete()), (LEVELS as u64 + 3, true), "{removal:?}");
    assert!(is_empty(dir.path()));
}

#[test]
fn the_recursive_removal_ends_its_process_at_a_depth_that_this_one_removes() {
    // Lower than the usual limit of descriptors; a recursive removal takes one for each level.
    const TWIN_LEVELS: usize = 16_000;
    if let Some(tree) = std::env::var_os(TWIN) {
        // Stack size that tokio gives to blocking work.
        let work = std::thread::Builder::new().stack_size(2 << 20).spawn(move || fs::remove_dir_all(tree));
        work.unwrap().join().unwrap().unwrap();
        return;
    }
    let dir = fast_folder();
    let tree = dir.path().join("tree");
    nest(&tree, TWIN_LEVELS);
    let name = "tree::tests::the_recursive_removal_ends_its_process_at_a_depth_that_this_one_removes";
    let twin =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(TWIN, &tree).output().unwrap();
    assert!(!twin.status.success() && tree.exists(), "{:?}", twin.status.signal());
    with_small_stack(|| remove(&tree)).unwrap();
    assert!(!tree.exists());
    remove(&tree).unwrap();
}

#[test]
fn many_files_are_removed_however_many_there_are() {
    // The long form sets a million (CONTRIBUTING.md).
    let count = std::env::var("FAIRLEAD_REMOVAL_FILES").map_or(3_000, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    for number in 0..count {
        if number % 1_000 == 0 {
            fs::create_dir_all(tree.join(format!("{}/wide", number / 1_000))).unwrap();
        }
        File::create(tree.join(format!("{}/wide/{number}", number / 1_000))).unwrap();
    }
    assert!(size(&tree, |_| false).unwrap().entries > count);
    assert!(size(&tree, |size| size.entries >= 100).unwrap().entries < 110, "a measure ends once it is enough");
    remove(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn targets_of_links_are_neither_measured_nor_removed() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("kept"), vec![1; 1 << 20]).unwrap();
    symlink(outside.path(), dir.path().join("link")).unwrap();
    symlink("/", dir.path().join("root")).unwrap();
    assert!(size(dir.path(), |_| false).unwrap().bytes < 1 << 20);
    assert!(empty(open(dir.path()), || false).unwrap().is_complete());
    remove(&dir.path().join("absent")).unwrap();
    symlink(outside.path(), dir.path().join("link")).unwrap();
    remove(&dir.path().join("link")).unwrap();
    assert!(is_empty(dir.path()) && outside.path().join("kept").exists());
}

/// Swaps a folder with a link that leads outside.
fn swap(tree: &Path) {
    match renameat_with(rustix::fs::CWD, tree.join("folder"), rustix::fs::CWD, tree.join("link"), RenameFlags::EXCHANGE)
    {
        // One of them has been removed.
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Makes a tree with a folder that can be swapped for a link to a folder outside.
fn trap(dir: &Path) -> (PathBuf, PathBuf) {
    let (tree, outside) = (dir.join("tree"), dir.join("outside"));
    for folder in [&tree.join("folder"), &outside] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("victim"), "").unwrap();
    }
    symlink(&outside, tree.join("link")).unwrap();
    (tree, outside)
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_it_is_removed_leads_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    // Swaps at every step, also between the reading of a name and the work on it.
    for at in 0..8 {
        let (tree, outside) = trap(dir.path());
        let mut steps = 0;
        let removal = empty(open(&tree), || {
            if steps == at {
                swap(&tree);
            }
            steps += 1;
            false
        });
        assert!(removal.unwrap().is_complete() && is_empty(&tree));
        assert!(outside.join("victim").exists(), "swapped at step {at}");
    }
    // Swaps at any moment, from another thread. A swap behind the removal's back may leave something in the tree.
    for round in 0..50 {
        let (tree, outside) = trap(&dir.path().join(round.to_string()));
        let folder = open(&tree);
        let removal = std::thread::scope(|scope| {
            let attacker = scope.spawn(|| (0..200).for_each(|_| swap(&tree)));
            let removal = empty(folder, || false).unwrap();
            attacker.join().unwrap();
            removal
        });
        assert!(outside.join("victim").exists(), "{removal:?}");
    }
    // The same swap fools a removal by paths.
    let (tree, outside) = trap(dir.path());
    assert!(fs::symlink_metadata(tree.join("folder")).unwrap().is_dir());
    swap(&tree);
    fs::remove_file(tree.join("folder/victim")).unwrap();
    assert!(!outside.join("victim").exists());
}

#[test]
fn a_folder_that_is_moved_out_while_it_is_measured_ends_only_its_branch() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    nest(&tree.join("deep"), 3 * HELD_MAX);
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    let mut moved = false;
    let found = size(&tree, |size| {
        if !moved && size.entries > 2 * HELD_MAX as u64 {
            fs::rename(tree.join("deep/d/d"), dir.path().join("elsewhere/d")).unwrap();
            moved = true;
        }
        false
    });
    let found = found.unwrap();
    assert!(moved && found.skipped > 0, "{found:?}");
}

#[test]
fn entries_that_can_not_be_removed_are_named_and_all_others_go() {
    let dir = tempfile::tempdir().unwrap();
    nest(&dir.path().join("tree"), 3 * HELD_MAX);
    let deep = dir.path().join("tree").join("d/".repeat(2 * HELD_MAX));
    let file = File::create(deep.join("fixed")).unwrap();
    let flags = ioctl_getflags(&file).unwrap_or(IFlags::empty());
    if ioctl_setflags(&file, flags | IFlags::IMMUTABLE).is_err() {
        // The test needs root and such a file system.
        return;
    }
    assert!(fs::remove_file(deep.join("fixed")).is_err(), "the entry can't be removed");
    let first = empty(open(dir.path()), || false).unwrap();
    let second = empty(open(dir.path()), || false).unwrap();
    for removal in [&first, &second] {
        assert_eq!((removal.left_count, removal.stopped), (1, false), "{removal:?}");
        assert!(removal.left[0].path.ends_with("/fixed"), "{removal:?}");
    }
    assert_eq!(second.removed, 0);
    assert!(remove(dir.path()).unwrap_err().to_string().contains("fixed stays"));
    ioctl_setflags(&file, flags).unwrap();
    assert!(empty(open(dir.path()), || false).unwrap().is_complete() && is_empty(dir.path()));
}

#[test]
fn a_folder_that_is_filled_all_the_time_does_not_hold_the_removal_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let mut number = 0;
    let removal = empty(open(dir.path()), || {
        number += 1;
        if is_empty(&tree) {
            File::create(tree.join(number.to_string())).unwrap();
        }
        number > 100_000
    });
    let removal = removal.unwrap();
    assert_eq!((removal.left_count, removal.stopped), (1, false), "{removal:?}");
    assert!(removal.left[0].reason.contains("filled again"), "{removal:?}");
    let mut steps = 0;
    let stopped = empty(open(dir.path()), || {
        steps += 1;
        steps > 3
    });
    assert!(stopped.unwrap().stopped);
}

#[test]
#[allow(unsafe_code)]
fn mounts_are_not_entered() {
    if !geteuid_is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (outside, tree) = (dir.path().join("outside"), dir.path().join("tree"));
    fs::create_dir_all(tree.join("below/mount")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), vec![1; 1 << 20]).unwrap();
    let work = || {
        use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
        // SAFETY: the mount namespace of this thread alone changes, and the thread ends after the test.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
        mount_bind(&outside, tree.join("below/mount")).unwrap();
        assert!(tree.join("below/mount/kept").exists(), "the same file system is mounted here");
        assert!(size(&tree, |_| false).unwrap().bytes < 1 << 20);
        empty(open(&tree), || false).unwrap()
    };
    let removal = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    assert!(outside.join("kept").exists());
    assert_eq!(removal.left_count, 1, "{removal:?}");
    assert_eq!(removal.left[0].path, "below/mount");
    assert!(removal.left[0].reason.contains("mount point"), "{removal:?}");
    // The other namespace has gone, and the mount with it.
    remove(&tree).unwrap();
}

fn geteuid_is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}
