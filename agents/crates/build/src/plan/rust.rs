//! Apps in Rust, built by the server's own cargo: no registry that Fairlead may use has the toolchain.

use serde::Deserialize;

use super::{Asked, Files, OWN_FOLDER, Plan, Task};
use crate::BuildError;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cargo {
    package: Option<Package>,
    bin: Vec<Binary>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Package {
    name: String,
    default_run: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Binary {
    name: String,
}

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let Some(text) = files.text("Cargo.toml")? else { return Ok(None) };
    let cargo: Cargo = toml::from_str(&text).map_err(|error| {
        BuildError::NotDetected(format!(
            "The Cargo.toml in {shown} can't be used: {}. Correct it, then deploy again.",
            error.message()
        ))
    })?;
    let package = cargo.package.ok_or_else(|| {
        BuildError::NotDetected(format!(
            "The Cargo.toml in {shown} is a workspace without a package. Set the root folder in the settings of the app to the package to run."
        ))
    })?;
    let mut sentences = vec![format!("Found a Rust app in {shown}.")];
    let locked = files.has("Cargo.lock");
    let mut install = vec!["cargo", "install", "--path", ".", "--root", OWN_FOLDER, "--no-track", "--force"];
    if locked {
        install.push("--locked");
    } else {
        sentences.push("There is no Cargo.lock: cargo takes the newest versions allowed. Commit it to get the same ones every time.".to_owned());
    }
    let name = package
        .default_run
        .or_else(|| cargo.bin.first().map(|binary| binary.name.clone()).filter(|name| !name.is_empty()))
        .unwrap_or(package.name);
    let program = vec![format!("{OWN_FOLDER}/bin/{name}")];
    Ok(Some(Plan {
        runtime: "rust".to_owned(),
        build: vec![Task::new(&install)],
        start: asked.start.map_or(program, <[String]>::to_vec),
        lock_file: locked.then(|| "Cargo.lock".to_owned()),
        sentences,
        ..Plan::default()
    }))
}
