//! Atomic file writes: written beside, fsynced and renamed, then the folder is fsynced. Invariant: a file is complete or absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Replaces `path` with `bytes`; after a crash at any point it holds the old bytes or the new ones. Two writers of one path must
/// take turns, as they share the temporary file.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let beside = write_beside(path, bytes, mode)?;
    fs::rename(&beside, path)?;
    sync_folder(path)
}

/// Creates `path` with `bytes` and never replaces a file; after a crash at any point it is complete or absent.
pub fn create(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let beside = write_beside(path, bytes, mode)?;
    // Unlike a rename, a link never replaces what appeared meanwhile.
    let linked = fs::hard_link(&beside, path);
    fs::remove_file(&beside)?;
    linked?;
    sync_folder(path)
}

/// Returns the bytes of a file, or `None` if it does not exist.
pub fn read_if_present(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fsyncs the folder of `path`, so that a rename or removal in it lasts.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Writes and fsyncs the temporary file that becomes `path`.
fn write_beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<PathBuf> {
    let beside = beside(path)?;
    // A file left by a crash may have another mode.
    match fs::remove_file(&beside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(beside)
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a path without a name"))?;
    let mut name = name.to_os_string();
    name.push(".new");
    Ok(path.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_new_bytes_replace_the_old_ones_even_over_leftovers_of_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.bin");
        replace(&path, b"one", 0o600).unwrap();
        fs::write(dir.path().join("state.bin.new"), b"half of tw").unwrap();
        replace(&path, b"two", 0o600).unwrap();
        assert_eq!(read_if_present(&path).unwrap().unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(read_if_present(&dir.path().join("absent")).unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_made_is_whole_and_never_replaces_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        // Simulates the remains of an attempt that a power cut ended.
        fs::write(dir.path().join("key.new"), b"half").unwrap();
        create(&path, b"one", 0o600).unwrap();
        assert_eq!(create(&path, b"two", 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
