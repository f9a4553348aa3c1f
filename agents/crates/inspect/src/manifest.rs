//! Reads a committed fairlead.toml (docs/build-reference.md). An unknown key is an error, so that a typo never deploys.

use std::collections::BTreeMap;

use fairlead_model::ProcessSpec;
use serde::Deserialize;

use crate::InspectError;
use crate::files::inside;
use crate::procfile::{process_name, worker};
use crate::{Fallback, Files, OWN_FOLDER, Tool, VersionRequest, command_line};

const FILE: &str = "fairlead.toml";
const WORKERS_MAX: usize = 16;
const INSTANCES_MAX: u32 = 64;
const CACHES_MAX: usize = 16;

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
struct Document {
    /// Build of the app.
    build: BuildTable,
    /// Start of the app.
    run: RunTable,
    /// Processes without a port, by name: letters a to z, digits and `-`.
    workers: BTreeMap<String, WorkerTable>,
    /// Versions of tools, before those of other files: node, npm, pnpm, yarn, bun, deno, uv, python, go, rust.
    tools: BTreeMap<String, String>,
    /// Serving of a static site.
    site: SiteTable,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
struct SiteTable {
    /// Page for paths without a file, such as `index.html`; `false`: none.
    fallback: Option<FallbackSetting>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`site.fallback` is neither the path of a page nor `false`")]
enum FallbackSetting {
    Page(String),
    Switch(bool),
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
struct BuildTable {
    /// Installs dependencies. Default: detected.
    install_command: Option<ManifestCommand>,
    /// Builds the app. Default: detected.
    build_command: Option<ManifestCommand>,
    /// Folder of a static site, below the app's.
    output_folder: String,
    /// Dockerfile to build, by a container engine.
    dockerfile: String,
    /// Folders that tools of the build keep for the next one, below the app's. They are not in the artifact.
    cache: Vec<String>,
    /// Prunes `node_modules`: leaves packages that the running app does not need out of the artifact. Default: only for servers of
    /// JavaScript frameworks. `false` packs everything.
    prune: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
struct RunTable {
    /// Starts the app. Default: detected.
    start_command: Option<ManifestCommand>,
    /// Health check path, which must return 2xx or 3xx, such as `/healthz`.
    health_path: String,
    /// Runs once a deployment, before traffic.
    release_command: Option<ManifestCommand>,
    /// `port`: the app listens on `$PORT`; `socket`: on the Unix socket `$FAIRLEAD_SOCKET`.
    listen: ListenKind,
}

/// Address on which the app waits for requests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Listen"))]
#[serde(rename_all = "lowercase")]
enum ListenKind {
    #[default]
    Port,
    Socket,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WorkerTable {
    /// Command that starts the process.
    command: ManifestCommand,
    /// Processes of it, 1 to 64.
    #[serde(default = "one")]
    instances: u32,
    /// True: it runs on while the app sleeps.
    #[serde(default)]
    stays_awake: bool,
}

fn one() -> u32 {
    1
}

/// List of words, or a line as a terminal takes it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Command"))]
#[serde(untagged, expecting = "expected a line or a list of words")]
enum ManifestCommand {
    Line(String),
    Words(Vec<String>),
}

/// Contents of the file; empty fields are not set.
#[derive(Debug, Default)]
pub(crate) struct AppManifest {
    pub(crate) tools: Vec<(Tool, VersionRequest)>,
    pub(crate) build: BuildWords,
    pub(crate) run: RunWords,
    pub(crate) workers: Vec<ProcessSpec>,
    pub(crate) fallback: Option<Fallback>,
}

#[derive(Debug, Default)]
pub(crate) struct BuildWords {
    pub(crate) install_command: Vec<String>,
    pub(crate) build_command: Vec<String>,
    pub(crate) output_folder: String,
    pub(crate) dockerfile: String,
    pub(crate) cache: Vec<String>,
    /// `[build] prune`; `None`: only servers of frameworks are pruned.
    pub(crate) prune: Option<bool>,
}

#[derive(Debug, Default)]
pub(crate) struct RunWords {
    pub(crate) start_command: Vec<String>,
    pub(crate) health_path: String,
    pub(crate) release_command: Vec<String>,
    pub(crate) listens_on_socket: bool,
}

pub(crate) fn read(files: &Files) -> Result<AppManifest, InspectError> {
    let Some(text) = files.text(FILE)? else { return Ok(AppManifest::default()) };
    let document: Document = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map_or(String::new(), |span| format!(" in line {}", text[..span.start].lines().count().max(1)));
        wrong(&format!("{}{line}", error.message().trim_end_matches(['\n', '.'])))
    })?;
    let Document { build, run, workers, tools, site } = document;
    if workers.len() > WORKERS_MAX {
        return Err(wrong(&format!("it has more than {WORKERS_MAX} workers")));
    }
    for (key, path) in [("build.output_folder", &build.output_folder), ("build.dockerfile", &build.dockerfile)] {
        if !path.is_empty() && !inside(path) {
            return Err(wrong(&format!("`{key}` is not a path inside the app's folder")));
        }
    }
    if !run.health_path.is_empty()
        && (!run.health_path.starts_with('/') || !run.health_path.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(wrong("`run.health_path` is not a path that begins with /"));
    }
    let workers = workers.into_iter().map(|(name, table)| {
        let key = format!("workers.{name}");
        if !process_name(&name) {
            return Err(wrong(&format!(
                "the name of `{key}` may have a to z, digits and `-` only, and is never `web`"
            )));
        }
        if !(1..=INSTANCES_MAX).contains(&table.instances) {
            return Err(wrong(&format!("`{key}.instances` is not from 1 to {INSTANCES_MAX}")));
        }
        let command = command(&format!("{key}.command"), Some(table.command))?;
        Ok(ProcessSpec { stays_awake: table.stays_awake, ..worker(&name, command, table.instances) })
    });
    let tools = tools.into_iter().map(|(name, range)| {
        let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        let tool = tool.ok_or_else(|| wrong(&format!("`tools.{name}` is not a tool that Fairlead knows")))?;
        Ok((tool, VersionRequest::exact(range, FILE)))
    });
    Ok(AppManifest {
        tools: tools.collect::<Result<_, _>>()?,
        fallback: site.fallback.map(fallback).transpose()?,
        workers: workers.collect::<Result<_, _>>()?,
        build: BuildWords {
            install_command: command("build.install_command", build.install_command)?,
            build_command: command("build.build_command", build.build_command)?,
            output_folder: build.output_folder,
            dockerfile: build.dockerfile,
            cache: caches(build.cache)?,
            prune: build.prune,
        },
        run: RunWords {
            start_command: command("run.start_command", run.start_command)?,
            health_path: run.health_path,
            release_command: command("run.release_command", run.release_command)?,
            listens_on_socket: run.listen == ListenKind::Socket,
        },
    })
}

/// Folders without a slash at the end. Those that the app itself needs are refused: they would be missing in the artifact.
fn caches(given: Vec<String>) -> Result<Vec<String>, InspectError> {
    if given.len() > CACHES_MAX {
        return Err(wrong(&format!("`build.cache` has more than {CACHES_MAX} folders")));
    }
    let plain = |path: String| {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let is_plain = |part: &str| !matches!(part, "" | "." | ".." | ".git") && !part.contains('\0');
        let is_needed =
            ["node_modules", ".venv", OWN_FOLDER].iter().any(|name| path.split('/').next_back() == Some(name));
        if !inside(path) || !path.split('/').all(is_plain) || is_needed {
            return Err(wrong("`build.cache` has a path that is not one of a cache inside the app's folder"));
        }
        Ok(path.to_owned())
    };
    given.into_iter().map(plain).collect()
}

fn command(key: &str, given: Option<ManifestCommand>) -> Result<Vec<String>, InspectError> {
    let words = match given {
        None => return Ok(Vec::new()),
        Some(ManifestCommand::Words(words)) => words,
        Some(ManifestCommand::Line(line)) => command_line::command(&line).unwrap_or_default(),
    };
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        return Err(wrong(&format!("`{key}` is not a command")));
    }
    Ok(words)
}

fn fallback(setting: FallbackSetting) -> Result<Fallback, InspectError> {
    let page = match setting {
        FallbackSetting::Switch(false) => return Ok(Fallback::FirstOf(Vec::new())),
        FallbackSetting::Switch(true) => return Err(wrong("`site.fallback` is `true`, but it is a page or `false`")),
        FallbackSetting::Page(page) => page,
    };
    let is_page = page.ends_with(".html") || page.ends_with(".htm");
    let is_shown = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['\\', '\0']);
    if !is_page || !inside(&page) || !page.split('/').all(is_shown) {
        return Err(wrong("`site.fallback` is not the path of an .html file inside the folder that is served"));
    }
    Ok(Fallback::Required(page))
}

/// Refuses a fallback page for an app that is no static site.
pub(crate) fn no_site() -> InspectError {
    wrong("`site.fallback` is for static sites, and this app has a server of its own")
}

/// Refuses a socket for a container, which has no folder of its server to listen in.
pub(crate) fn no_socket() -> InspectError {
    InspectError::Manifest(
        "The file `fairlead.toml` says `listen = \"socket\"`, but a container can't listen on a Unix socket. Remove the line, or choose the builder “Language buildpack”. Then deploy again."
            .to_owned(),
    )
}

fn wrong(why: &str) -> InspectError {
    InspectError::Manifest(format!("The file `{FILE}` can't be used: {why}. Correct it, then deploy again."))
}

#[cfg(test)]
mod tests {
    use super::Document;

    /// Editors read the schema from the dashboard. With `UPDATE_FIXTURES` set, it is written anew.
    #[test]
    fn the_published_schema_is_that_of_the_parser() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../apps/web/public/fairlead.schema.json");
        let mut schema = schemars::schema_for!(Document);
        schema.insert("title".to_owned(), "fairlead.toml".into());
        let text = format!("{:#}\n", schema.as_value());
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        } else {
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        }
    }
}
