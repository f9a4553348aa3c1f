//! The runtime's files: the record of all apps, and the folders that nobody needs any more.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::{file, random};
use fairlead_model::AppKey;
use serde::{Deserialize, Serialize};

use crate::rollout::Record;

#[derive(Serialize, Deserialize)]
struct Entry {
    key: AppKey,
    record: Record,
}

/// The record of every app, in one file that is replaced whole.
pub(super) struct Records {
    path: PathBuf,
    records: BTreeMap<AppKey, Record>,
    /// The file lacks something, because writing it failed.
    behind: bool,
}

impl Records {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let entries: Vec<Entry> = match file::read_if_present(&path)? {
            Some(bytes) => serde_json::from_slice(&bytes)?,
            None => Vec::new(),
        };
        let records = entries.into_iter().map(|entry| (entry.key, entry.record)).collect();
        Ok(Self { path, records, behind: false })
    }

    pub(super) fn all(&self) -> &BTreeMap<AppKey, Record> {
        &self.records
    }

    /// Saves what differs; returns when it is on disk.
    pub(super) async fn save(&mut self, key: &AppKey, record: Option<Record>) -> io::Result<()> {
        if self.records.get(key) == record.as_ref() && !self.behind {
            return Ok(());
        }
        match record {
            Some(record) => self.records.insert(key.clone(), record),
            None => self.records.remove(key),
        };
        let entries: Vec<Entry> =
            self.records.iter().map(|(key, record)| Entry { key: key.clone(), record: record.clone() }).collect();
        let bytes = serde_json::to_vec(&entries)?;
        let path = self.path.clone();
        self.behind = true;
        tokio::task::spawn_blocking(move || file::replace(&path, &bytes, 0o600)).await.map_err(io::Error::other)??;
        self.behind = false;
        Ok(())
    }
}

/// Removes a folder with all it holds; one that is gone already is fine.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is renamed to this is no release any more, whole or not.
const GONE: &str = ".gone";
/// What a release is unpacked into before it counts as one.
const PARTIAL: &str = ".partial";

/// Takes the folders of releases that no instance runs and that desired state does not name out of the way of a start,
/// in one step each, and returns what is left to remove. Quick: it renames only.
pub(super) fn set_aside_releases(releases: &Path, keep: &HashSet<String>) -> io::Result<Vec<PathBuf>> {
    let mut gone = Vec::new();
    for entry in std::fs::read_dir(releases)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // Only what is named like a release is ours to remove.
        if !name.starts_with("rel_") {
            continue;
        }
        if name.ends_with(GONE) {
            gone.push(path);
        } else if !name.contains('.') && !keep.contains(name) {
            // Its name may stand for one that is still being removed.
            let aside = path.with_file_name(format!("{name}.{}{GONE}", random::alphanumeric(8)));
            std::fs::rename(&path, &aside)?;
            gone.push(aside);
        }
    }
    Ok(gone)
}

/// Removes what a crash left half unpacked. Only before anything is unpacked.
pub(super) fn clear_partial_releases(releases: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(releases)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with("rel_") && name.ends_with(PARTIAL)) {
            remove_folder(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairlead_model::{AppId, EnvironmentId};

    use super::*;

    #[tokio::test]
    async fn a_record_that_could_not_be_written_is_written_with_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/apps.json");
        let mut records = Records::open(path.clone()).unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        records.save(&key, Some(Record::default())).await.unwrap_err();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        records.save(&key, Some(Record::default())).await.unwrap();
        assert_eq!(Records::open(path).unwrap().all().len(), 1);
    }

    #[test]
    fn a_release_leaves_its_name_at_once_and_what_a_crash_left_of_one_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
            entries.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        for name in ["rel_kept", "rel_old", "rel_older.x.gone", "rel_new.partial", "other"] {
            std::fs::create_dir_all(dir.path().join(name).join("inner")).unwrap();
        }
        let keep = HashSet::from(["rel_kept".to_owned()]);
        let first = set_aside_releases(dir.path(), &keep).unwrap();
        assert!(!dir.path().join("rel_old").exists(), "nobody may take a folder for whole that is being removed");
        // The agent dies here; the release is unpacked again and dropped again.
        std::fs::create_dir(dir.path().join("rel_old")).unwrap();
        let gone = set_aside_releases(dir.path(), &keep).unwrap();
        assert_eq!((first.len(), gone.len()), (2, 3));
        for path in gone {
            remove_folder(&path).unwrap();
        }
        assert_eq!(names().len(), 3, "a release that is being unpacked stays: {:?}", names());
        clear_partial_releases(dir.path()).unwrap();
        let mut left = names();
        left.sort();
        assert_eq!(left, ["other", "rel_kept"]);
    }
}
