//! Parts of a package.json that say what a package needs while it runs (npm's documentation, package.json).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Budget;
use super::search::package_name;
use crate::native::untrusted_files::read;

/// Maximum size of a package.json.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PackageJson {
    dependencies: JsonValue,
    optional_dependencies: JsonValue,
    peer_dependencies: JsonValue,
    peer_dependencies_meta: JsonValue,
    imports: JsonValue,
    scripts: JsonValue,
    bin: JsonValue,
    prisma: JsonValue,
    babel: JsonValue,
    #[serde(rename = "ts-node")]
    ts_node: JsonValue,
}

/// Value of any kind.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum JsonValue {
    Flag(bool),
    Text(String),
    Named(BTreeMap<String, JsonValue>),
    Listed(Vec<JsonValue>),
    Other(IgnoredAny),
}

impl Default for JsonValue {
    fn default() -> Self {
        Self::Other(IgnoredAny)
    }
}

impl JsonValue {
    fn texts(&self, all: &mut Vec<String>) {
        match self {
            Self::Text(text) => all.push(text.clone()),
            Self::Named(values) => values.values().for_each(|value| value.texts(all)),
            Self::Listed(values) => values.iter().for_each(|value| value.texts(all)),
            Self::Flag(_) | Self::Other(_) => {}
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let named = if let Self::Named(values) = self { Some(values.keys()) } else { None };
        named.into_iter().flatten()
    }

    fn get(&self, name: &str) -> Option<&Self> {
        if let Self::Named(values) = self { values.get(name) } else { None }
    }
}

/// Parsed package.json of one package.
pub(super) struct PackageManifest {
    json: PackageJson,
    pub(super) scripts: BTreeMap<String, String>,
    /// Texts of settings of tools that run with the app, such as `prisma.seed`.
    pub(super) tool_settings: Vec<String>,
}

impl PackageManifest {
    /// Reads the package.json of a folder; an empty one if there is none. One that can't be used is an error.
    pub(super) fn read(package: &Path, budget: &Budget) -> io::Result<Self> {
        budget.spend(1, 0)?;
        let text = match read(&package.join("package.json"), BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => b"{}".to_vec(),
            text => text?.ok_or_else(|| io::Error::other("a package.json is no file, or too large"))?,
        };
        budget.spend(0, text.len() as u64)?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        // Serde would take a list for a structure.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(io::Error::other("a package.json is no object"));
        }
        let mut json: PackageJson = serde_json::from_slice(text)?;
        let mut scripts = BTreeMap::new();
        if let JsonValue::Named(all) = std::mem::take(&mut json.scripts) {
            for (name, script) in all {
                if let JsonValue::Text(script) = script {
                    scripts.insert(name, script);
                }
            }
        }
        Ok(Self { tool_settings: tool_settings(&json), scripts, json })
    }

    /// Names of packages that it loads while it runs.
    pub(super) fn needs(&self) -> Vec<String> {
        let PackageJson { dependencies, optional_dependencies, peer_dependencies, peer_dependencies_meta, .. } =
            &self.json;
        let is_optional = |name: &&String| {
            let peer = peer_dependencies_meta.get(name);
            matches!(peer.and_then(|peer| peer.get("optional")), Some(JsonValue::Flag(true)))
        };
        let own = dependencies.names().chain(optional_dependencies.names());
        let peers = peer_dependencies.names().filter(|name| !is_optional(name));
        let mut imports = Vec::new();
        // Names with `#` stand for files or packages.
        self.json.imports.texts(&mut imports);
        own.chain(peers).cloned().chain(imports.iter().map(|import| package_name(import).to_owned())).collect()
    }

    /// Names of its programs; `name` is its own.
    pub(super) fn programs(&self, name: &str) -> Vec<String> {
        match &self.json.bin {
            JsonValue::Text(_) => vec![name.rsplit('/').next().unwrap_or(name).to_owned()],
            programs => programs.names().cloned().collect(),
        }
    }
}

fn tool_settings(json: &PackageJson) -> Vec<String> {
    let mut tool_settings = Vec::new();
    [&json.prisma, &json.babel, &json.ts_node].into_iter().for_each(|node| node.texts(&mut tool_settings));
    tool_settings
}
