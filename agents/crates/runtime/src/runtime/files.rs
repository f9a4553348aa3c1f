//! The runtime's files: the record of all apps, and the folders that nobody needs any more.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::file;
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

/// Removes the folders of releases that no instance runs and that desired state does not name.
pub(super) fn prune_releases(releases: &Path, keep: &HashSet<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(releases)? {
        let entry = entry?;
        let name = entry.file_name();
        // Only what is named like a release is ours to remove.
        if name.to_str().is_some_and(|name| name.starts_with("rel_") && !name.contains('.') && !keep.contains(name)) {
            remove_folder(&entry.path())?;
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
}
