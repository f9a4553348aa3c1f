//! Files of the agent's state. Errors name a damaged file and what to do; a damaged file can be set aside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::{self, ConfigError};
use crate::file;
use serde::de::DeserializeOwned;

/// Reason why a state file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// Can't be read or written.
    #[error("{path} can't be read or written: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Does not hold what the agent writes.
    #[error("{path} is damaged ({reason}): stop the agent and run `fairlead-agent check --repair --data DIR`")]
    Damaged {
        path: PathBuf,
        /// Position and reason of the error, as the parser reports them.
        reason: String,
    },
}

impl StateFileError {
    /// Names a file that doesn't hold what the agent writes.
    pub fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }

    pub fn path(&self) -> &Path {
        let (Self::Io { path, .. } | Self::Damaged { path, .. }) = self;
        path
    }
}

impl From<ConfigError> for StateFileError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Io { path, source } => Self::Io { path, source },
            // The rest of the message would show the file's text.
            ConfigError::Invalid { path, message } => Self::damaged(&path, message.lines().next().unwrap_or_default()),
        }
    }
}

/// Reads a file and parses it; `None` if it does not exist.
pub fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<Option<T>, StateFileError> {
    let bytes = file::read_if_present(path).map_err(|source| StateFileError::Io { path: path.to_owned(), source })?;
    bytes.map(|bytes| parse(&bytes).map_err(|reason| StateFileError::damaged(path, reason))).transpose()
}

/// Reads a TOML file; `None` if it does not exist.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StateFileError> {
    match config::read(path).map_err(StateFileError::from) {
        Err(StateFileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        // The file is not text.
        Err(StateFileError::Io { path, source }) if source.kind() == io::ErrorKind::InvalidData => {
            Err(StateFileError::damaged(&path, source))
        }
        read => read.map(Some),
    }
}

/// Renames a damaged file or folder, so that it is kept but not read again; returns its new path.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut aside = path.with_file_name(format!("{name}.damaged"));
    let mut number = 1;
    while fs::symlink_metadata(&aside).is_ok() {
        number += 1;
        aside = path.with_file_name(format!("{name}.damaged-{number}"));
    }
    fs::rename(path, &aside)?;
    file::sync_folder(&aside)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_named_with_what_to_do_and_can_be_set_aside_more_than_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users.json");
        let refuse = |_: &[u8]| Err::<(), _>("line 1".to_owned());
        assert!(read(&path, refuse).unwrap().is_none());
        for name in ["users.json.damaged", "users.json.damaged-2"] {
            fs::write(&path, "half").unwrap();
            let error = read(&path, refuse).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{} is damaged (line 1): stop", path.display())), "{error}");
            assert_eq!(set_aside(&path).unwrap(), dir.path().join(name));
        }
        assert!(!path.exists());
        let toml = dir.path().join("trust.toml");
        assert!(read_toml::<Vec<u8>>(&toml).unwrap().is_none());
        for bytes in [b"a = [".as_slice(), b"\xff\xfe"] {
            fs::write(&toml, bytes).unwrap();
            let error = read_toml::<std::collections::BTreeMap<String, u8>>(&toml).unwrap_err();
            assert!(matches!(error, StateFileError::Damaged { .. }) && error.path() == toml, "{error}");
        }
    }
}
