//! Tests of packing and unpacking together, and of archives that an attacker wrote.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_base::CancellationToken;
use tar::{EntryType, Header};

use super::*;

/// User of the app on the server that packs, and on the server that unpacks.
const SOURCE_USER: u32 = 71_001;
const TARGET_USER: u32 = 72_002;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn access(user: u32, cancel: &CancellationToken) -> VolumeAccess<'_> {
    let user = if is_root() { user } else { rustix::process::geteuid().as_raw() };
    let group = if is_root() { user } else { rustix::process::getegid().as_raw() };
    VolumeAccess { user, group, app_users: 70_000..=89_999, free_bytes_min: 0, cancel }
}

/// Packs `volume` beside it and unpacks it as `copy` beside it.
fn copied(volume: &Path) -> Result<(PackedSnapshot, PathBuf), VolumeSnapshotError> {
    let cancel = CancellationToken::new();
    let (archive, copy) = (volume.with_file_name("archive"), volume.with_file_name("copy"));
    let packed = pack(volume, &archive, PACKED_BYTES_MAX, &access(SOURCE_USER, &cancel))?;
    unpack(&archive, &packed.digest, &copy, &access(TARGET_USER, &cancel))?;
    Ok((packed, copy))
}

fn volume(dir: &tempfile::TempDir) -> PathBuf {
    let volume = dir.path().join("volume");
    fs::create_dir(&volume).unwrap();
    volume
}

#[test]
fn files_modes_links_and_holes_come_back_and_the_app_owns_them_on_the_other_server() {
    let dir = tempfile::tempdir().unwrap();
    let volume = volume(&dir);
    let deep = "folder-with-a-long-name/".repeat(8);
    fs::create_dir_all(volume.join(&deep)).unwrap();
    fs::write(volume.join(&deep).join("file"), "deep").unwrap();
    fs::write(volume.join("data"), "x".repeat(300_000)).unwrap();
    fs::hard_link(volume.join("data"), volume.join("same")).unwrap();
    symlink("/etc/passwd", volume.join("outside")).unwrap();
    let sparse = fs::File::create(volume.join("sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"end", (64 << 20) - 3).unwrap();
    fs::write(volume.join("program"), "run").unwrap();
    let _socket = UnixListener::bind(volume.join("socket")).unwrap();
    if is_root() {
        for path in ["", "data", "outside", "program"] {
            std::os::unix::fs::lchown(volume.join(path), Some(SOURCE_USER), Some(SOURCE_USER)).unwrap();
        }
        chown(volume.join("sparse"), Some(999), Some(SOURCE_USER)).unwrap();
        fs::write(volume.join("theirs"), "of another app").unwrap();
        chown(volume.join("theirs"), Some(80_000), Some(80_000)).unwrap();
    }
    fs::set_permissions(volume.join("program"), PermissionsExt::from_mode(0o6750)).unwrap();
    fs::set_permissions(&volume, PermissionsExt::from_mode(0o2770)).unwrap();
    fs::File::options().write(true).open(volume.join("data")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();

    let (packed, copy) = copied(&volume).unwrap();
    assert_eq!(packed.left_out, if is_root() { 2 } else { 1 });
    let meta = |path: &str| fs::symlink_metadata(copy.join(path)).unwrap();
    assert_eq!(fs::read_to_string(copy.join(&deep).join("file")).unwrap(), "deep");
    assert_eq!(meta("data").ino(), meta("same").ino());
    assert_eq!((meta("data").len(), meta("data").mtime()), (300_000, 0));
    assert_eq!(fs::read_link(copy.join("outside")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!(meta("sparse").len(), 64 << 20);
    assert!(meta("sparse").blocks() * 512 < 1 << 20, "its hole stays one");
    assert!(fs::read(copy.join("sparse")).unwrap().ends_with(b"\0end"));
    assert_eq!((meta("program").mode() & 0o7777, meta("").mode() & 0o7777), (0o750, 0o2770));
    assert!(!copy.join("socket").exists() && !copy.join("theirs").exists());
    if is_root() {
        let owner = |path: &str| (meta(path).uid(), meta(path).gid());
        for path in ["", "data", "outside", "program"] {
            assert_eq!(owner(path), (TARGET_USER, TARGET_USER), "{path}");
        }
        assert_eq!(owner("sparse"), (999, TARGET_USER), "the user that an image has chosen stays");
    }
}

#[test]
fn a_missing_volume_is_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let (packed, copy) = copied(&dir.path().join("volume")).unwrap();
    assert_eq!(packed.left_out, 0);
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 0);
    assert_eq!(fs::metadata(&copy).unwrap().uid(), access(TARGET_USER, &CancellationToken::new()).user);
}

#[test]
fn packing_ends_at_its_bounds_and_when_it_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let volume = volume(&dir);
    let noise: Vec<u8> = (0..4_000_u32)
        .flat_map(|number| {
            let mut hash = Context::new(&SHA256);
            hash.update(&number.to_be_bytes());
            hash.finish().as_ref().to_vec()
        })
        .collect();
    fs::write(volume.join("noise"), noise).unwrap();
    let (archive, cancel) = (dir.path().join("archive"), CancellationToken::new());
    let error = pack(&volume, &archive, 10_000, &access(SOURCE_USER, &cancel)).unwrap_err();
    assert!(matches!(error, VolumeSnapshotError::TooLarge(_)), "{error:?}");
    let full = VolumeAccess { free_bytes_min: u64::MAX / 2, ..access(SOURCE_USER, &cancel) };
    let error = pack(&volume, &archive, PACKED_BYTES_MAX, &full).unwrap_err();
    assert!(matches!(error, VolumeSnapshotError::DiskFull), "{error:?}");
    cancel.cancel();
    let error = pack(&volume, &archive, PACKED_BYTES_MAX, &access(SOURCE_USER, &cancel)).unwrap_err();
    assert!(matches!(error, VolumeSnapshotError::Cancelled), "{error:?}");
}

type HostileEntry<'a> = (&'a str, EntryType, &'a str);

/// Unpacks an archive as an attacker would write it, with every bit of the mode set and `user` as its owner.
fn unpack_hostile(dir: &Path, entries: &[HostileEntry<'_>], user: u64) -> Result<PathBuf, VolumeSnapshotError> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, text) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o7777);
        header.set_uid(user);
        header.set_gid(user);
        header.set_mtime(0);
        // `set_path` would refuse hostile paths.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        let has_body = matches!(kind, EntryType::Regular | EntryType::GNULongName);
        if !has_body && !text.is_empty() {
            header.set_link_name_literal(text).unwrap();
        }
        let body = if has_body { text.as_bytes() } else { b"" };
        header.set_size(body.len() as u64);
        header.set_cksum();
        archive.append(&header, body).unwrap();
    }
    let bytes = zstd::encode_all(archive.into_inner().unwrap().as_slice(), 1).unwrap();
    let (path, into) = (dir.join("hostile"), dir.join("in"));
    fs::write(&path, &bytes).unwrap();
    let mut hash = Context::new(&SHA256);
    hash.update(&bytes);
    let cancel = CancellationToken::new();
    unpack(&path, &digest_of(hash), &into, &access(TARGET_USER, &cancel)).map(|()| into)
}

#[test]
fn an_archive_that_reaches_outside_is_refused_and_leaves_nothing() {
    use EntryType::{Block, Char, Directory, Fifo, GNULongName, GNUSparse, Link, Regular, Symlink, XHeader};
    let long = "a/".repeat(3_000);
    let cases: [&[HostileEntry<'_>]; 17] = [
        &[("../evil", Regular, "x")],
        &[("/tmp/fairlead-evil", Regular, "x")],
        &[("a", Directory, ""), ("a/../../evil", Regular, "x")],
        &[("link", Symlink, "."), ("link/evil", Regular, "x")],
        &[("link", Symlink, ".."), ("link/evil", Directory, "")],
        &[("evil", Symlink, "/tmp/fairlead-evil"), ("evil", Regular, "x")],
        &[("hard", Link, "/etc/passwd")],
        &[("hard", Link, "../hostile")],
        &[("link", Symlink, ".."), ("hard", Link, "link/hostile")],
        &[("no-folder/file", Regular, "x")],
        &[("twice", Regular, "x"), ("twice", Regular, "y")],
        &[("device", Block, "")],
        &[("device", Char, "")],
        &[("pipe", Fifo, "")],
        &[("sparse", GNUSparse, "")],
        &[("pax", XHeader, "")],
        &[("long", GNULongName, &long), ("x", Regular, "x")],
    ];
    for entries in cases {
        let dir = tempfile::tempdir().unwrap();
        let error = unpack_hostile(dir.path(), entries, 0).unwrap_err();
        assert!(matches!(error, VolumeSnapshotError::Refused(_)), "{entries:?}: {error:?}");
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["hostile"], "{entries:?}");
        assert!(!Path::new("/tmp/fairlead-evil").exists());
    }
}

#[test]
fn no_unpacked_file_runs_as_another_user_or_belongs_to_another_app() {
    let dir = tempfile::tempdir().unwrap();
    let into = unpack_hostile(dir.path(), &[("program", EntryType::Regular, "x")], 0).unwrap();
    assert_eq!(fs::metadata(into.join("program")).unwrap().mode() & 0o7777, 0o1777);
    for user in [80_000, u64::from(u32::MAX), 1 << 33] {
        let dir = tempfile::tempdir().unwrap();
        let error = unpack_hostile(dir.path(), &[("theirs", EntryType::Regular, "x")], user).unwrap_err();
        assert!(matches!(error, VolumeSnapshotError::Refused(_)), "{user}: {error:?}");
    }
}

#[test]
fn bytes_with_another_digest_or_without_their_end_are_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let volume = volume(&dir);
    fs::write(volume.join("data"), "x".repeat(100_000)).unwrap();
    let (packed, _) = copied(&volume).unwrap();
    let (archive, into, cancel) = (dir.path().join("archive"), dir.path().join("again"), CancellationToken::new());
    let other = format!("sha256:{}", "0".repeat(64));
    let error = unpack(&archive, &other, &into, &access(TARGET_USER, &cancel)).unwrap_err();
    assert!(matches!(error, VolumeSnapshotError::Damaged), "{error:?}");
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    let error = unpack(&archive, &packed.digest, &into, &access(TARGET_USER, &cancel)).unwrap_err();
    assert!(matches!(error, VolumeSnapshotError::Damaged), "{error:?}");
    assert!(!into.exists());
}
