//! Apps in Rust, built by cargo.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::Value;

use crate::{AppSource, Files, InspectError, OWN_FOLDER, Plan, PlanCommand, Tool, VersionRequest, Want};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cargo {
    package: Option<CargoPackage>,
    bin: Vec<Binary>,
    workspace: Option<toml::Table>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct CargoPackage {
    name: String,
    default_run: Option<String>,
    rust_version: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Binary {
    name: String,
    path: String,
}

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let (files, shown) = (app_source.app, app_source.shown);
    let Some(cargo) = read(files, shown)? else { return Ok(None) };
    let (path, package, bins) = match cargo.package {
        Some(package) => (".".to_owned(), package, cargo.bin),
        None => member(files, cargo.workspace.unwrap_or_default(), shown)?,
    };
    let root =
        files.above().find(|folder| read(folder, shown).ok().flatten().is_some_and(|cargo| cargo.workspace.is_some()));
    let home = root.as_ref().unwrap_or(files);
    let locked = home.has("Cargo.lock");
    let app = if path == "." { files.clone() } else { files.below(&path) };
    let name = program(&app, &package, &bins);
    let folder = root
        .as_ref()
        .map(|root| files.path().strip_prefix(root.path()).unwrap_or_default().trim_start_matches('/').to_owned());
    let path = match &folder {
        Some(folder) => format!("./{folder}"),
        None => path,
    };
    let mut install = vec!["cargo", "install", "--path", &path, "--root", OWN_FOLDER, "--no-track", "--force"];
    if locked {
        install.push("--locked");
    }
    let program = format!("{OWN_FOLDER}/bin/{name}");
    // In a workspace the program lies beside the app's folder, in the workspace's own.
    let start = if folder.is_some() { name.clone() } else { program };
    let version = version(&[files, home], package.rust_version.as_ref())?;
    let mut plan = Plan {
        framework: "Rust".to_owned(),
        runtime: "rust".to_owned(),
        build: vec![PlanCommand::new(&install)],
        start: app_source.asked.start.map_or(vec![start], <[String]>::to_vec),
        tools: vec![Want::of(Tool::Rust, version)],
        lock_file: locked.then(|| "Cargo.lock".to_owned()),
        workspace: root.as_ref().map(|root| root.path().to_owned()),
        folder: folder.unwrap_or_default(),
        ..Plan::default()
    };
    plan.say(format!("Found a Rust app in {shown}; its program is `{name}` (Cargo.toml)."));
    if !locked {
        plan.say("No Cargo.lock, so each build takes the newest versions allowed. Commit it to get the same versions every time.");
    }
    Ok(Some(plan))
}

/// Names that a server has among the programs of a package.
const SERVERS: [&str; 5] = ["server", "web", "api", "app", "http"];

/// Program that is run: the package's default, the one that is named like a server, or the first.
fn program(files: &Files, package: &CargoPackage, bins: &[Binary]) -> String {
    if let Some(name) = &package.default_run {
        return name.clone();
    }
    let declared = bins.iter().map(|binary| binary.name.clone()).filter(|name| !name.is_empty());
    // Cargo finds these by itself.
    let is_declared = |file: &String| {
        let path = format!("src/bin/{file}");
        bins.iter().any(|binary| binary.path.strip_suffix("/main.rs").unwrap_or(&binary.path) == path)
    };
    let found = files.names("src/bin").into_iter().filter(|file| !is_declared(file));
    let found = found.map(|name| name.trim_end_matches(".rs").to_owned());
    let main = files.has("src/main.rs").then(|| package.name.clone()).filter(|_| bins.is_empty());
    let all: Vec<String> = main.into_iter().chain(declared).chain(found).collect();
    let is_server = |name: &&String| name.split(['-', '_']).any(|part| SERVERS.contains(&part));
    let server = all.iter().find(is_server).filter(|_| !all.contains(&package.name));
    server.or(all.first()).unwrap_or(&package.name).clone()
}

fn read(files: &Files, shown: &str) -> Result<Option<Cargo>, InspectError> {
    let Some(text) = files.text("Cargo.toml")? else { return Ok(None) };
    toml::from_str(&text).map(Some).map_err(|error| {
        InspectError::NotDetected(format!(
            "The Cargo.toml in {shown} can't be used: {}. Correct it, then deploy again.",
            error.message()
        ))
    })
}

/// Members of a workspace that are looked at.
const MEMBERS_MAX: usize = 1000;

/// Only program of a workspace, or the one of its default members.
fn member(
    files: &Files,
    workspace: toml::Table,
    shown: &str,
) -> Result<(String, CargoPackage, Vec<Binary>), InspectError> {
    let list = |key: &str| -> Vec<String> {
        let items = workspace.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(|path| path.trim_start_matches("./").to_owned())).collect()
    };
    let named = if workspace.contains_key("default-members") { list("default-members") } else { list("members") };
    let expand = |path: String| match path.strip_suffix("/*") {
        Some(folder) => files.names(folder).into_iter().map(|name| format!("{folder}/{name}")).collect(),
        None => vec![path],
    };
    let mut programs = Vec::new();
    let paths: BTreeSet<String> = named.into_iter().take(MEMBERS_MAX).collect();
    let paths: BTreeSet<String> = paths.into_iter().flat_map(expand).take(MEMBERS_MAX).collect();
    for path in paths {
        let folder = files.below(&path);
        let Some(Cargo { package: Some(package), bin, .. }) = read(&folder, shown)? else { continue };
        if folder.has("src/main.rs") || !bin.is_empty() || folder.has_folder("src/bin") {
            programs.push((format!("./{path}"), package, bin));
        }
    }
    if programs.len() == 1 {
        return Ok(programs.remove(0));
    }
    let names: Vec<String> = programs.iter().map(|(path, ..)| path.trim_start_matches("./").to_owned()).collect();
    Err(InspectError::NotDetected(if names.is_empty() {
        format!(
            "The Cargo.toml in {shown} is a workspace without a program. Set the root folder in the settings of the app to the package to run."
        )
    } else {
        format!(
            "The Cargo.toml in {shown} is a workspace with several programs: {}. Set the root folder in the settings of the app to one of them.",
            names.join(", ")
        )
    }))
}

/// Version of rust-toolchain.toml, else the lowest that the package works with.
fn version(folders: &[&Files], lowest: Option<&Value>) -> Result<Option<VersionRequest>, InspectError> {
    for files in folders {
        for name in ["rust-toolchain.toml", "rust-toolchain"] {
            let Some(text) = files.text(name)? else { continue };
            let table: Option<toml::Table> = toml::from_str(&text).ok();
            let channel = table.as_ref().and_then(|table| table.get("toolchain")?.get("channel")?.as_str());
            let channel = channel
                .or_else(|| text.lines().map(str::trim).find(|line| !line.is_empty() && !line.contains(['=', '['])));
            if let Some(channel) = channel {
                return Ok(Some(VersionRequest::exact(channel, name)));
            }
        }
    }
    let lowest = lowest.and_then(Value::as_str);
    Ok(lowest.map(|version| VersionRequest::within(format!(">={version}"), "Cargo.toml (rust-version)")))
}
