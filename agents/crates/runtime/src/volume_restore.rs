//! Puts restored volumes in the place of their app's volumes. Invariant: a volume that exists is set aside, never overwritten, and
//! a restore that is repeated changes nothing.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::{Folders, Trash, clock, file};
use fairlead_model::{VolumeKey, VolumeTaskId};

use crate::volumes::{folder_of, path_of};

/// Time for which a volume that a restore has replaced stays.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Prefixes of hidden names: of folders that are being unpacked, of replaced volumes, and of files with the id of a volume's last
/// restore.
const STAGED: &str = ".restore-";
const REPLACED: &str = ".replaced-";
const RESTORED: &str = ".restored-";

/// Returns the path of a volume; `None` if the name could lead elsewhere.
pub fn volume_path(folders: &Folders, volume: &VolumeKey) -> Option<PathBuf> {
    path_of(folders, &volume.key, &volume.name)
}

/// Returns the folder in which a snapshot is unpacked, on the disk of the volumes.
pub fn staging_folder(folders: &Folders, task: &VolumeTaskId) -> PathBuf {
    folders.volumes().join(format!("{STAGED}{task}"))
}

/// Returns true if this restore has put its volume in place. Completes one that was interrupted after it was unpacked.
pub fn is_restored(folders: &Folders, volume: &VolumeKey, task: &VolumeTaskId) -> io::Result<bool> {
    let last = file::read_if_present(&marker(folders, volume))?;
    if last.as_deref() != Some(task.as_str().as_bytes()) {
        return Ok(false);
    }
    let staged = staging_folder(folders, task);
    if staged.is_dir() {
        put_in_place(folders, volume, &staged)?;
    }
    Ok(true)
}

/// Puts an unpacked snapshot in place, and sets the volume that was there aside. The app must not run.
pub fn adopt_restored(folders: &Folders, volume: &VolumeKey, task: &VolumeTaskId) -> io::Result<()> {
    let folder = folder_of(folders, &volume.key);
    match DirBuilder::new().mode(0o711).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let path = volume_path(folders, volume).ok_or(io::ErrorKind::InvalidInput)?;
    if path.symlink_metadata().is_ok() {
        fs::rename(&path, folder.join(format!("{REPLACED}{}-{}", clock::unix_ms(), volume.name)))?;
    }
    // From here on a repeated restore finds the volume, whatever the app has written to it since.
    file::replace(&marker(folders, volume), task.as_str().as_bytes(), 0o600)?;
    put_in_place(folders, volume, &staging_folder(folders, task))
}

fn put_in_place(folders: &Folders, volume: &VolumeKey, staged: &Path) -> io::Result<()> {
    let path = volume_path(folders, volume).ok_or(io::ErrorKind::InvalidInput)?;
    fs::rename(staged, &path)?;
    file::sync_folder(&path)
}

fn marker(folders: &Folders, volume: &VolumeKey) -> PathBuf {
    folder_of(folders, &volume.key).join(format!("{RESTORED}{}", volume.name))
}

/// Moves volumes into the trash that were replaced seven days ago.
pub fn set_aside_replaced_volumes(folders: &Folders, trash: &Trash) -> io::Result<()> {
    let limit = clock::unix_ms().saturating_sub(u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX));
    for app in fs::read_dir(folders.volumes())? {
        let app = app?;
        if !app.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(app.path())? {
            let entry = entry?;
            let name = entry.file_name();
            let since =
                name.to_str().and_then(|name| name.strip_prefix(REPLACED)?.split('-').next()?.parse::<u64>().ok());
            if since.is_some_and(|since| since < limit) {
                trash.set_aside(&entry.path())?;
            }
        }
    }
    Ok(())
}

/// Moves unpacked folders of other tasks than these into the trash.
pub fn set_aside_staged(folders: &Folders, trash: &Trash, tasks: &[VolumeTaskId]) -> io::Result<()> {
    for entry in fs::read_dir(folders.volumes())? {
        let entry = entry?;
        let name = entry.file_name();
        let task = name.to_str().and_then(|name| name.strip_prefix(STAGED));
        if task.is_some_and(|task| !tasks.iter().any(|known| known.as_str() == task)) {
            trash.set_aside(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairlead_model::{AppId, AppKey, EnvironmentId};

    use super::*;
    use crate::volumes::volumes_used;

    fn task(number: u32) -> VolumeTaskId {
        VolumeTaskId::parse(&format!("vtk_{number}")).unwrap()
    }

    fn stage(folders: &Folders, task: &VolumeTaskId, text: &str) {
        fs::create_dir(staging_folder(folders, task)).unwrap();
        fs::write(staging_folder(folders, task).join("file"), text).unwrap();
    }

    #[test]
    fn a_repeated_restore_keeps_what_the_app_wrote_and_a_replaced_volume_stays_for_seven_days() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        let volume = VolumeKey { key, name: "data".into() };
        let path = volume_path(&folders, &volume).unwrap();
        let text = || fs::read_to_string(path.join("file")).unwrap();

        assert!(!is_restored(&folders, &volume, &task(1)).unwrap());
        stage(&folders, &task(1), "one");
        adopt_restored(&folders, &volume, &task(1)).unwrap();
        fs::write(path.join("file"), "written since").unwrap();
        assert!(is_restored(&folders, &volume, &task(1)).unwrap());
        assert_eq!(text(), "written since");

        stage(&folders, &task(2), "two");
        assert!(!is_restored(&folders, &volume, &task(2)).unwrap());
        adopt_restored(&folders, &volume, &task(2)).unwrap();
        assert_eq!(text(), "two");
        let used: Vec<String> = volumes_used(&folders).unwrap().into_iter().map(|(volume, _)| volume.name).collect();
        assert_eq!(used, ["data"], "hidden names are no volumes");

        let trash = Trash::new(&folders);
        set_aside_replaced_volumes(&folders, &trash).unwrap();
        assert_eq!(trash.entries().unwrap().len(), 0, "the replaced volume is new");
        let folder = path.parent().unwrap();
        fs::create_dir(folder.join(".replaced-1000-data")).unwrap();
        set_aside_replaced_volumes(&folders, &trash).unwrap();
        assert_eq!(trash.entries().unwrap().len(), 1);
    }

    #[test]
    fn a_restore_that_was_interrupted_before_its_last_step_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        let volume = VolumeKey { key, name: "data".into() };
        stage(&folders, &task(1), "one");
        stage(&folders, &task(2), "abandoned");
        fs::create_dir(folder_of(&folders, &volume.key)).unwrap();
        fs::write(marker(&folders, &volume), "vtk_1").unwrap();
        let trash = Trash::new(&folders);
        set_aside_staged(&folders, &trash, &[task(1)]).unwrap();
        assert!(!staging_folder(&folders, &task(2)).exists());
        assert!(is_restored(&folders, &volume, &task(1)).unwrap());
        assert_eq!(fs::read_to_string(volume_path(&folders, &volume).unwrap().join("file")).unwrap(), "one");
    }
}
