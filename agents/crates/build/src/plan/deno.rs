//! Apps for Deno, by their deno.json.

use serde::Deserialize;

use super::{Asked, Files, OWN_FOLDER, Plan, Task, Tool, Want, strings};
use crate::BuildError;

/// The part of deno.json that matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    tasks: std::collections::BTreeMap<String, serde_json::Value>,
}

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let configured = ["deno.json", "deno.jsonc"].into_iter().find(|name| files.has(name));
    let locked = files.has("deno.lock");
    if configured.is_none() && !locked {
        return Ok(None);
    }
    let text = configured.map(|name| files.text(name)).transpose()?.flatten();
    // A file with comments is read by Deno alone; its tasks are not known here then.
    let config: Config = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let main = ["main.ts", "server.ts", "mod.ts", "index.ts", "main.js", "server.js"];
    let main = main.into_iter().find(|name| files.has(name));
    let cache = format!("{OWN_FOLDER}/deno");
    let run = |more: &[&str]| [strings(&["env", &format!("DENO_DIR={cache}"), "deno"]), strings(more)].concat();
    let start = match (asked.start, main) {
        (Some(start), _) => start.to_vec(),
        (None, _) if config.tasks.contains_key("start") => run(&["task", "start"]),
        (None, Some(main)) => run(&["run", "--cached-only", "--allow-net", "--allow-env", "--allow-read", main]),
        (None, None) => {
            return Err(BuildError::NotDetected(format!(
                "It is not clear how to start the Deno app in {shown}: it has neither a task `start` nor a main.ts or server.ts. Add one."
            )));
        }
    };
    let mut install = vec!["deno", "install"];
    if locked {
        install.push("--frozen");
    }
    if let Some(main) = main {
        install.extend(["--entrypoint", main]);
    }
    let give = |task: Task| {
        task.with("DENO_DIR", &cache).with("DENO_NO_UPDATE_CHECK", "1").with("DENO_TLS_CA_STORE", "system")
    };
    let install = give(Task::new(&install))
        .advised("Often deno.lock does not match: run `deno install`, commit deno.lock, then deploy again.");
    let build = config.tasks.contains_key("build").then(|| give(Task::new(&["deno", "task", "build"])));
    let version = match files.line(".deno-version")? {
        Some(version) => Some((version, ".deno-version")),
        None => files.line(".dvmrc")?.map(|version| (version, ".dvmrc")),
    };
    Ok(Some(Plan {
        runtime: "deno".to_owned(),
        install: vec![install],
        build: build.into_iter().collect(),
        start,
        tools: vec![Want::of(Tool::Deno, version)],
        runs_with: vec![Tool::Deno],
        lock_file: locked.then(|| "deno.lock".to_owned()),
        sentences: vec![format!("Found a Deno app in {shown}.")],
        ..Plan::default()
    }))
}
