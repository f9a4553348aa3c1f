//! File in an artifact with the folder and variables of its commands; the release holds the start command.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Folder and variables of an artifact's commands. A build writes this file, so readers validate
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFile {
    /// Working directory, relative to the artifact's folder; empty for the folder itself.
    pub folder: String,
    /// Variables; those of the release override them.
    pub environment: BTreeMap<String, String>,
}

impl RunFile {
    /// Path in the artifact.
    pub const PATH: &'static str = ".fairlead/run.json";
    /// Maximum size in bytes.
    pub const BYTES_MAX: u64 = 64 << 10;

    /// Parses the file. Returns `None` for a folder outside of the artifact or an invalid variable
    /// name.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let file: Self = serde_json::from_slice(bytes).ok()?;
        let stays = !file.folder.starts_with('/') && file.folder.split('/').all(|part| part != "..");
        let is_name = |name: &String| {
            !name.is_empty()
                && !name.starts_with("FAIRLEAD_")
                && !matches!(name.as_str(), "PORT" | "HOME" | "PATH")
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let named = file.environment.iter().all(|(name, value)| is_name(name) && !value.contains('\0'));
        (stays && named).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::RunFile;

    #[test]
    fn a_note_that_leads_elsewhere_or_sets_reserved_variables_is_none() {
        let good = RunFile::parse(br#"{"folder":"apps/web","environment":{"DENO_DIR":".fairlead/deno"}}"#).unwrap();
        assert_eq!((good.folder.as_str(), good.environment["DENO_DIR"].as_str()), ("apps/web", ".fairlead/deno"));
        for bad in [
            "{",
            r#"{"folder":"/etc"}"#,
            r#"{"folder":"a/../.."}"#,
            r#"{"environment":{"PATH":"/x"}}"#,
            r#"{"environment":{"FAIRLEAD_URL":"x"}}"#,
            r#"{"environment":{"A=B":"x"}}"#,
        ] {
            assert_eq!(RunFile::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
