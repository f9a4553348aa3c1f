//! Reads and writes TOML configuration. The owner's type defines the contents, with `deny_unknown_fields`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::file;

/// Reason why a configuration file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read or written.
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The contents are invalid; the message names line and field.
    #[error("{path} is not a valid configuration: {message}")]
    Invalid { path: PathBuf, message: String },
}

/// Reads and parses a file.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.into(), source })?;
    toml::from_str(&text).map_err(|error| ConfigError::Invalid { path: path.into(), message: error.to_string() })
}

/// Replaces a file with the value; on failure the old file stays intact.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), ConfigError> {
    let text = toml::to_string(value)
        .map_err(|error| ConfigError::Invalid { path: path.into(), message: error.to_string() })?;
    file::replace(path, text.as_bytes(), 0o600).map_err(|source| ConfigError::Io { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: String,
    }

    #[test]
    fn a_misspelt_field_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sample.toml");
        write(&path, &Sample { name: "a".into() }).unwrap();
        assert_eq!(read::<Sample>(&path).unwrap(), Sample { name: "a".into() });
        std::fs::write(&path, "name = 'a'\nnmae = 'b'\n").unwrap();
        assert!(read::<Sample>(&path).unwrap_err().to_string().contains("nmae"));
    }
}
