//! Persistent volumes of apps: one folder per name, app and environment, owned by the app's user. Invariant: a volume
//! is removed only by name, on an explicit order, through the trash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::{Folders, Trash, tree};
use fairlead_model::{AppId, AppKey, EnvironmentId, VolumeKey};

/// Variable with the folder of an app's volumes.
pub(crate) const FOLDER_VARIABLE: &str = "FAIRLEAD_VOLUMES";
/// Prefix of the names that older agents gave to volumes before removal.
const RENAMED: &str = ".trash-";

/// Returns the folder of an app's volumes in one environment.
pub(crate) fn folder_of(folders: &Folders, key: &AppKey) -> PathBuf {
    folders.volumes().join(format!("{}-{}", key.app, key.environment))
}

/// Returns the path of a volume; `None` if the name could lead elsewhere.
pub(crate) fn path_of(folders: &Folders, key: &AppKey, name: &str) -> Option<PathBuf> {
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (letters && !name.is_empty() && name.len() <= 63).then(|| folder_of(folders, key).join(name))
}

/// Moves a volume into the trash; false if none has this name.
pub fn set_aside_volume(folders: &Folders, trash: &Trash, volume: &VolumeKey) -> io::Result<bool> {
    path_of(folders, &volume.key, &volume.name).map_or(Ok(false), |path| trash.set_aside(&path))
}

/// Moves volumes that an older agent renamed, but did not remove, into the trash.
pub fn set_aside_renamed_volumes(folders: &Folders, trash: &Trash) -> io::Result<()> {
    for entry in fs::read_dir(folders.volumes())? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(RENAMED)) {
            trash.set_aside(&entry.path())?;
        }
    }
    Ok(())
}

/// Lists every volume with its size on disk. Hidden names belong to restores. Walks them completely: call it rarely, and never on a thread that others
/// wait for.
pub fn volumes_used(folders: &Folders) -> io::Result<Vec<(VolumeKey, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folders.volumes())? {
        let entry = entry?;
        let Some(key) = entry.file_name().to_str().and_then(key_of) else { continue };
        for volume in fs::read_dir(entry.path())? {
            let volume = volume?;
            if let Some(name) = volume.file_name().to_str().filter(|name| !name.starts_with('.')) {
                found.push((VolumeKey { key: key.clone(), name: name.to_owned() }, bytes_below(&volume.path())));
            }
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn key_of(name: &str) -> Option<AppKey> {
    let (app, environment) = name.split_once('-')?;
    Some(AppKey { app: AppId::parse(app).ok()?, environment: EnvironmentId::parse(environment).ok()? })
}

/// Returns the allocated bytes of a file, or of a folder with everything below it. Entries that vanish meanwhile count nothing.
pub fn bytes_below(path: &Path) -> u64 {
    tree::size(path, |_| false).map_or(0, |size| size.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(app: &str) -> AppKey {
        AppKey { app: AppId::parse(app).unwrap(), environment: EnvironmentId::parse("env_p").unwrap() }
    }

    #[test]
    fn only_the_volume_that_was_named_goes_and_at_once_out_of_reach() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        for (app, name) in [("app_a", "data"), ("app_a", "other"), ("app_b", "data")] {
            let path = path_of(&folders, &key(app), name).unwrap();
            fs::create_dir_all(path.join("inner")).unwrap();
            fs::write(path.join("inner/file"), vec![1u8; 100_000]).unwrap();
        }
        let names = || {
            let used = volumes_used(&folders).unwrap();
            assert!(used.iter().all(|(_, bytes)| *bytes >= 100_000), "{used:?}");
            used.into_iter().map(|(volume, _)| format!("{}/{}", volume.key.app, volume.name)).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["app_a/data", "app_a/other", "app_b/data"]);
        let volume = VolumeKey { key: key("app_a"), name: "data".into() };
        let trash = Trash::new(&folders);
        assert!(set_aside_volume(&folders, &trash, &volume).unwrap());
        assert_eq!(names(), ["app_a/other", "app_b/data"]);
        assert!(!set_aside_volume(&folders, &trash, &volume).unwrap(), "an order that comes again finds nothing");
        fs::create_dir(folders.volumes().join(".trash-0123456789abcdef")).unwrap();
        set_aside_renamed_volumes(&folders, &trash).unwrap();
        assert_eq!(trash.entries().unwrap().len(), 2);
        assert_eq!(names(), ["app_a/other", "app_b/data"]);
    }

    #[test]
    fn a_name_that_leads_elsewhere_has_no_path() {
        let folders = Folders::new(Path::new("/data")).unwrap();
        for bad in ["", "..", "a/b", "A", "a.b", &"a".repeat(64)] {
            assert_eq!(path_of(&folders, &key("app_a"), bad), None, "{bad}");
        }
    }
}
