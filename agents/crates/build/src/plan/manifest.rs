//! A committed fairlead.toml (docs/builds.md). A key that is unknown is an error: silence would let a typing mistake deploy.

use std::collections::BTreeMap;

use fairlead_model::ProcessSpec;
use serde::Deserialize;

use super::files::inside;
use super::procfile::{process_name, worker};
use super::{Files, words};
use crate::BuildError;

const FILE: &str = "fairlead.toml";
const WORKERS_MAX: usize = 16;
const INSTANCES_MAX: u32 = 64;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    build: BuildTable,
    run: RunTable,
    workers: BTreeMap<String, WorkerTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BuildTable {
    install: Option<Command>,
    build: Option<Command>,
    output: String,
    dockerfile: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RunTable {
    start: Option<Command>,
    health: String,
    release: Option<Command>,
    listen: Listen,
}

/// Where it waits for requests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Listen {
    #[default]
    Port,
    Socket,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkerTable {
    command: Command,
    #[serde(default = "one")]
    instances: u32,
    #[serde(default)]
    stays_awake: bool,
}

fn one() -> u32 {
    1
}

/// A list of words, or a line that needs no shell to become one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Command {
    Line(String),
    Words(Vec<String>),
}

/// What it says; empty: nothing.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) build: BuildWords,
    pub(super) run: RunWords,
    pub(super) workers: Vec<ProcessSpec>,
}

#[derive(Debug, Default)]
pub(super) struct BuildWords {
    pub(super) install: Vec<String>,
    pub(super) build: Vec<String>,
    pub(super) output: String,
    pub(super) dockerfile: String,
}

#[derive(Debug, Default)]
pub(super) struct RunWords {
    pub(super) start: Vec<String>,
    pub(super) health: String,
    pub(super) release: Vec<String>,
    pub(super) listens_on_socket: bool,
}

pub(super) fn read(files: &Files) -> Result<Manifest, BuildError> {
    let Some(text) = files.text(FILE)? else { return Ok(Manifest::default()) };
    let document: Document = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map_or(String::new(), |span| format!(" in line {}", text[..span.start].lines().count().max(1)));
        wrong(&format!("{}{line}", error.message().trim_end_matches(['\n', '.'])))
    })?;
    let Document { build, run, workers } = document;
    if workers.len() > WORKERS_MAX {
        return Err(wrong(&format!("it has more than {WORKERS_MAX} workers")));
    }
    for (key, path) in [("build.output", &build.output), ("build.dockerfile", &build.dockerfile)] {
        if !path.is_empty() && !inside(path) {
            return Err(wrong(&format!("`{key}` is not a path inside the app's folder")));
        }
    }
    if !run.health.is_empty()
        && (!run.health.starts_with('/') || !run.health.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(wrong("`run.health` is not a path that begins with /"));
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
    Ok(Manifest {
        workers: workers.collect::<Result<_, _>>()?,
        build: BuildWords {
            install: command("build.install", build.install)?,
            build: command("build.build", build.build)?,
            output: build.output,
            dockerfile: build.dockerfile,
        },
        run: RunWords {
            start: command("run.start", run.start)?,
            health: run.health,
            release: command("run.release", run.release)?,
            listens_on_socket: run.listen == Listen::Socket,
        },
    })
}

fn command(key: &str, given: Option<Command>) -> Result<Vec<String>, BuildError> {
    let words = match given {
        None => return Ok(Vec::new()),
        Some(Command::Words(words)) => words,
        Some(Command::Line(line)) => words::plain(&line).ok_or_else(|| {
            wrong(&format!(
                "`{key}` needs a shell (quotes, variables, pipes), and none is used: write a list of words, like [\"node\", \"a b.js\"]"
            ))
        })?,
    };
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        return Err(wrong(&format!("`{key}` is not a command")));
    }
    Ok(words)
}

/// It is built into an image, and a container has no folder of its server to listen in.
pub(super) fn no_socket() -> BuildError {
    BuildError::Manifest(
        "The file `fairlead.toml` says `listen = \"socket\"`, and a container can't: it is reached by its port. Take the line out, or choose the native builder in the settings of the app; then deploy again."
            .to_owned(),
    )
}

fn wrong(why: &str) -> BuildError {
    BuildError::Manifest(format!("The file `{FILE}` can't be used: {why}. Correct it, then deploy again."))
}
