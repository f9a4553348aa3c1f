//! Parts of a package.json that matter (npm's documentation, package.json).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{Files, InspectError};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodePackage {
    pub(crate) name: Option<Value>,
    scripts: BTreeMap<String, Value>,
    main: Option<Value>,
    module: Option<Value>,
    dependencies: BTreeMap<String, Value>,
    dev_dependencies: BTreeMap<String, Value>,
    optional_dependencies: BTreeMap<String, Value>,
    pub(crate) workspaces: Option<Value>,
    engines: BTreeMap<String, Value>,
    pub(crate) package_manager: Option<String>,
    dev_engines: DevEngines,
    volta: BTreeMap<String, Value>,
}

/// Tools that a package is developed with (npm's documentation, devEngines).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DevEngines {
    runtime: Value,
    package_manager: Value,
}

impl NodePackage {
    /// Reads the package.json of a folder; `None` if it has none.
    pub(crate) fn read(files: &Files, shown: &str) -> Result<Option<Self>, InspectError> {
        let Some(text) = files.text("package.json")? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            InspectError::NotDetected(format!(
                "The package.json in {shown} can't be used: {error}. Correct it, then deploy again."
            ))
        })
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty() && !name.starts_with('-'))
    }

    pub(crate) fn script(&self, name: &str) -> Option<&str> {
        self.scripts.get(name).and_then(Value::as_str).map(str::trim).filter(|script| !script.is_empty())
    }

    fn scripts(&self) -> impl Iterator<Item = &str> {
        self.scripts.values().filter_map(Value::as_str)
    }

    /// Scripts of a name that may end in `*`, as npm-run-all takes it.
    pub(crate) fn scripts_like<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let prefix = name.strip_suffix('*');
        let named = move |(key, _): &(&String, &Value)| prefix.map_or(*key == name, |prefix| key.starts_with(prefix));
        self.scripts.iter().filter(named).filter_map(|(_, script)| script.as_str())
    }

    /// Program file that the package names, from its own folder.
    pub(crate) fn main(&self) -> Option<&str> {
        let named = self.main.as_ref().or(self.module.as_ref()).and_then(Value::as_str);
        named.map(|main| main.trim_start_matches("./")).filter(|main| !main.is_empty())
    }

    /// Version range of a dependency, whatever it is needed for.
    pub(crate) fn dependency(&self, name: &str) -> Option<&str> {
        let all = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        all.iter().find_map(|dependencies| dependencies.get(name)).map(|range| range.as_str().unwrap_or_default())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.dependency(name).is_some()
    }

    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// True if Bun runs it: by its types, or in one of its scripts.
    pub(crate) fn uses_bun(&self) -> bool {
        let runs = |script: &str| {
            script
                .split(['&', '|', ';'])
                .any(|part| matches!(part.split_ascii_whitespace().next(), Some("bun" | "bunx")))
        };
        self.has_any(&["@types/bun", "bun-types"]) || self.scripts().any(runs)
    }

    /// True if a dependency is another package of its workspace, or has the version that the workspace names.
    pub(crate) fn needs_workspace(&self) -> bool {
        let all = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        let mut ranges = all.iter().flat_map(|dependencies| dependencies.values()).filter_map(Value::as_str);
        ranges.any(|range| ["workspace:", "catalog:", "link:", "file:"].iter().any(|kind| range.starts_with(kind)))
    }

    pub(crate) fn needs_install(&self) -> bool {
        let any = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        any.iter().any(|dependencies| !dependencies.is_empty()) || self.workspaces.is_some()
    }

    /// Range of `engines`; `None` if any version will do.
    pub(crate) fn engine(&self, name: &str) -> Option<&str> {
        let range = self.engines.get(name)?.as_str()?.trim();
        (!range.is_empty() && range != "*").then_some(range)
    }

    pub(crate) fn volta(&self, name: &str) -> Option<&str> {
        self.volta.get(name)?.as_str().filter(|version| !version.is_empty())
    }

    /// Name and version of the package manager or runtime that `devEngines` names.
    pub(crate) fn dev_engine(&self, manager: bool) -> Option<(&str, &str)> {
        let value = if manager { &self.dev_engines.package_manager } else { &self.dev_engines.runtime };
        let value = value.as_array().and_then(|all| all.first()).unwrap_or(value);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        Some((text("name")?, text("version").unwrap_or_default()))
    }
}
