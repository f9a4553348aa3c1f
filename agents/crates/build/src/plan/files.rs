//! The files of an app's folder, as a plan looks at them: bounded, and never through a link.

use std::io;
use std::path::PathBuf;

use crate::BuildError;

/// Whoever writes a larger one did not write it for us.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// A folder to look at.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// A file of the repository itself, not a link that leads who knows where.
    pub(crate) fn has(&self, name: &str) -> bool {
        inside(name) && std::fs::symlink_metadata(self.folder.join(name)).is_ok_and(|found| found.is_file())
    }

    /// Names in a folder below, ascending; none when it can't be read.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.join(below)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Its text; `None` when it isn't there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, BuildError> {
        if !self.has(name) {
            return Ok(None);
        }
        let broken = |why: String| {
            BuildError::Manifest(format!("The file `{name}` can't be used: {why}. Correct it, then deploy again."))
        };
        let path = self.folder.join(name);
        let size = std::fs::metadata(&path).map_err(|error| broken(error.to_string()))?.len();
        if size > TEXT_BYTES_MAX {
            return Err(broken("it is larger than 4 MiB".to_owned()));
        }
        let text = std::fs::read(path).map_err(|error: io::Error| broken(error.to_string()))?;
        String::from_utf8(text).map(Some).map_err(|_| broken("it is not UTF-8".to_owned()))
    }

    /// The first line that says something, for files that hold a version alone.
    pub(crate) fn line(&self, name: &str) -> Result<Option<String>, BuildError> {
        let text = self.text(name)?.unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(line.map(str::to_owned))
    }
}

/// A relative path that stays below.
pub(crate) fn inside(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['/', '-']) && !name.split('/').any(|part| part == "..")
}
