//! Files of the runtime: the record of all apps, and the removal of unused folders.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::{StateFileError, Trash, file, state_file};
use fairlead_model::AppKey;
use serde::{Deserialize, Serialize};

use crate::rollout::AppRecord;

#[derive(Serialize, Deserialize)]
struct RecordEntry {
    key: AppKey,
    record: AppRecord,
}

/// Records of all apps, in one file that is replaced atomically.
pub(super) struct AppRecords {
    path: PathBuf,
    records: BTreeMap<AppKey, AppRecord>,
    /// True if a write failed, so that the file is incomplete.
    behind: bool,
}

impl AppRecords {
    pub(super) fn open(path: PathBuf) -> Result<Self, StateFileError> {
        let parse = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| error.to_string());
        let entries: Vec<RecordEntry> = state_file::read(&path, parse)?.unwrap_or_default();
        let records = entries.into_iter().map(|entry| (entry.key, entry.record)).collect();
        Ok(Self { path, records, behind: false })
    }

    pub(super) fn all(&self) -> &BTreeMap<AppKey, AppRecord> {
        &self.records
    }

    /// Saves a changed record; returns when it is on disk.
    pub(super) async fn save(&mut self, key: &AppKey, record: Option<AppRecord>) -> io::Result<()> {
        if self.records.get(key) == record.as_ref() && !self.behind {
            return Ok(());
        }
        match record {
            Some(record) => self.records.insert(key.clone(), record),
            None => self.records.remove(key),
        };
        let entries: Vec<RecordEntry> =
            self.records.iter().map(|(key, record)| RecordEntry { key: key.clone(), record: record.clone() }).collect();
        let bytes = serde_json::to_vec(&entries)?;
        let path = self.path.clone();
        self.behind = true;
        tokio::task::spawn_blocking(move || file::replace(&path, &bytes, 0o600)).await.map_err(io::Error::other)??;
        self.behind = false;
        Ok(())
    }
}

/// Suffix of folders that older agents renamed before they removed them.
const GONE: &str = ".gone";
/// Suffix of folders that a release is being unpacked into.
const PARTIAL: &str = ".partial";

/// Moves releases into the trash, unless an instance runs them or desired state names them.
pub(super) fn set_aside_releases(trash: &Trash, releases: &Path, keep: &HashSet<String>) -> io::Result<()> {
    set_aside_where(trash, releases, |name| name.ends_with(GONE) || (!name.contains('.') && !keep.contains(name)))
}

/// Moves half-unpacked releases of a crash into the trash. Call it before anything is unpacked.
pub(super) fn set_aside_partial_releases(trash: &Trash, releases: &Path) -> io::Result<()> {
    set_aside_where(trash, releases, |name| name.ends_with(PARTIAL))
}

fn set_aside_where(trash: &Trash, releases: &Path, goes: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in std::fs::read_dir(releases)? {
        let entry = entry?;
        // Only a folder with a release's name may be removed.
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("rel_") && goes(name)) {
            trash.set_aside(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairlead_base::Folders;
    use fairlead_model::{AppId, EnvironmentId};

    use super::*;

    #[tokio::test]
    async fn a_record_that_could_not_be_written_is_written_with_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/apps.json");
        let mut records = AppRecords::open(path.clone()).unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        records.save(&key, Some(AppRecord::default())).await.unwrap_err();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        records.save(&key, Some(AppRecord::default())).await.unwrap();
        assert_eq!(AppRecords::open(path).unwrap().all().len(), 1);
    }

    #[test]
    fn releases_that_nothing_needs_and_what_a_crash_left_of_them_go_to_the_trash() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let (trash, releases) = (Trash::new(&folders), folders.releases());
        let names = || {
            let entries = std::fs::read_dir(&releases).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        for name in ["rel_kept", "rel_old", "rel_older.x.gone", "rel_new.partial", "other"] {
            std::fs::create_dir_all(releases.join(name).join("inner")).unwrap();
        }
        let keep = HashSet::from(["rel_kept".to_owned()]);
        set_aside_releases(&trash, &releases, &keep).unwrap();
        assert_eq!(names(), ["other", "rel_kept", "rel_new.partial"], "one that is being unpacked stays");
        assert_eq!(trash.entries().unwrap().len(), 2);
        set_aside_partial_releases(&trash, &releases).unwrap();
        assert_eq!(names(), ["other", "rel_kept"]);
    }
}
