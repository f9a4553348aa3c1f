//! How much a build's folders hold. Never follows a link; counts what the disk gives, so that holes cost nothing.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is taken and what is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) used_bytes: u64,
    /// Of the disk, for everybody.
    pub(crate) free_bytes: u64,
}

/// Of a folder with all below it. Blocking. What goes away meanwhile is not counted.
pub(crate) fn of(folder: &Path) -> io::Result<Size> {
    let disk = rustix::fs::statvfs(folder)?;
    let (mut used_bytes, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            used_bytes += found.blocks() * 512;
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(Size { used_bytes, free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_below_counts_and_what_links_lead_to_does_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/b"), vec![1; 1 << 20]).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("all")).unwrap();
        let size = of(dir.path()).unwrap();
        assert!((1 << 20..2 << 20).contains(&size.used_bytes), "{size:?}");
        assert!(size.free_bytes > 0);
    }
}
