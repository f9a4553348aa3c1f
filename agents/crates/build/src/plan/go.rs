//! Apps in Go: one program, built by a toolchain that go.mod chooses.

use super::{Asked, Files, OWN_FOLDER, Plan, Task, Tool, Want};
use crate::BuildError;

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let Some(text) = files.text("go.mod")? else { return Ok(None) };
    let mut sentences = vec![format!("Found a Go app in {shown}.")];
    let directive = |wanted: &str| {
        let mut lines = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        lines.find_map(|words| match words[..] {
            [name, value, ..] if name == wanted => Some(value.to_owned()),
            _ => None,
        })
    };
    let least = directive("go");
    let chosen = directive("toolchain").and_then(|name| name.strip_prefix("go").map(str::to_owned));
    let version = chosen.or(least).map(|version| (format!(">={version}"), "go.mod"));
    let package = main_package(files, shown)?;
    let program = format!("{OWN_FOLDER}/bin/app");
    let build = Task::new(&["go", "build", "-trimpath", "-buildvcs=false", "-o", &program, &package])
        .advised("If go.sum lacks something, run `go mod tidy`, commit go.mod and go.sum, then deploy again.");
    sentences.push(format!("Its program is the package {package}."));
    Ok(Some(Plan {
        runtime: "go".to_owned(),
        build: vec![build],
        start: asked.start.map_or(vec![program], <[String]>::to_vec),
        tools: vec![Want::of(Tool::Go, version)],
        lock_file: files.has("go.sum").then(|| "go.sum".to_owned()),
        sentences,
        ..Plan::default()
    }))
}

fn main_package(files: &Files, shown: &str) -> Result<String, BuildError> {
    if files.names("").iter().any(|name| name.ends_with(".go") && !name.ends_with("_test.go")) {
        return Ok(".".to_owned());
    }
    let commands = files.names("cmd");
    match &commands[..] {
        [one] => Ok(format!("./cmd/{one}")),
        [] => Err(BuildError::NotDetected(format!(
            "The go.mod in {shown} has no program beside it: there is no .go file and no folder below cmd. Set the root folder, or the build and start commands."
        ))),
        many => many
            .iter()
            .find(|name| matches!(name.as_str(), "server" | "web" | "app"))
            .map(|name| format!("./cmd/{name}"))
            .ok_or_else(|| {
                BuildError::NotDetected(format!(
                    "It is not clear which program of {shown} to run: cmd has {}. Name its build and start commands in fairlead.toml.",
                    many.join(", ")
                ))
            }),
    }
}
