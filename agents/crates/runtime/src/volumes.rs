//! Persistent folders of apps: one a name, an app and an environment; its user's alone. Owns their place and the only way
//! they are ever removed: by name, on an order, in two steps. Never removes one that nobody named.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fairlead_base::{Folders, random};
use fairlead_model::{AppId, AppKey, EnvironmentId, VolumeKey};

/// The variable that names the folder of an app's volumes.
pub(crate) const FOLDER_VARIABLE: &str = "FAIRLEAD_VOLUMES";
/// What is renamed to this is on its way out.
const TRASH: &str = ".trash-";

/// Where an app's volumes lie in one environment.
pub(crate) fn folder_of(folders: &Folders, key: &AppKey) -> PathBuf {
    folders.volumes().join(format!("{}-{}", key.app, key.environment))
}

/// The path of one; `None` when the name could lead elsewhere.
pub(crate) fn path_of(folders: &Folders, key: &AppKey, name: &str) -> Option<PathBuf> {
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (letters && !name.is_empty() && name.len() <= 63).then(|| folder_of(folders, key).join(name))
}

/// Takes a volume out of reach in one step and returns what is left to remove; `None` when there is none of this name.
pub fn set_aside_volume(folders: &Folders, volume: &VolumeKey) -> io::Result<Option<PathBuf>> {
    let Some(path) = path_of(folders, &volume.key, &volume.name) else { return Ok(None) };
    let aside = folders.volumes().join(format!("{TRASH}{}", random::alphanumeric(16)));
    match fs::rename(&path, &aside) {
        Ok(()) => Ok(Some(aside)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes what was set aside, also by a former run that was ended meanwhile.
pub fn remove_set_aside_volumes(folders: &Folders) -> io::Result<()> {
    for entry in fs::read_dir(folders.volumes())? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(TRASH)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Every volume and what it takes of the disk. Walks them whole: rarely, and never on a thread that others wait for.
pub fn volumes_used(folders: &Folders) -> io::Result<Vec<(VolumeKey, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folders.volumes())? {
        let entry = entry?;
        let Some(key) = entry.file_name().to_str().and_then(key_of) else { continue };
        for volume in fs::read_dir(entry.path())? {
            let volume = volume?;
            if let Some(name) = volume.file_name().to_str() {
                found.push((VolumeKey { key: key.clone(), name: name.to_owned() }, bytes_below(&volume.path())));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn key_of(name: &str) -> Option<AppKey> {
    let (app, environment) = name.split_once('-')?;
    Some(AppKey { app: AppId::parse(app).ok()?, environment: EnvironmentId::parse(environment).ok()? })
}

/// What a file or a folder with all below it takes of the disk. Follows no link; what vanishes meanwhile counts nothing.
pub fn bytes_below(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let own = found.blocks().saturating_mul(512);
    if !found.is_dir() {
        return own;
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    below.map(|entry| bytes_below(&entry.path())).fold(own, u64::saturating_add)
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
        let aside = set_aside_volume(&folders, &volume).unwrap().unwrap();
        assert!(aside.exists(), "what takes long is done later");
        assert_eq!(names(), ["app_a/other", "app_b/data"]);
        assert_eq!(set_aside_volume(&folders, &volume).unwrap(), None, "an order that comes again finds nothing");
        remove_set_aside_volumes(&folders).unwrap();
        assert!(!aside.exists());
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
