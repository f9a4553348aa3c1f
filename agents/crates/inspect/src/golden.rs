//! Golden tests: each file below `fixtures/` holds the files of a minimal app and the plan that they must give. With `UPDATE_FIXTURES`
//! set, the plans are rewritten.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fairlead_model::{BuildOverrides, Builder};

use crate::{BuildMethod, Files, Plan, PlanRequest, display_command, inspect};

/// Line that begins the plan in a fixture; lines `-- name --` begin its files.
const PLAN: &str = "== plan ==\n";

#[test]
fn each_fixture_gives_its_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut fixtures: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    fixtures.sort();
    assert!(fixtures.len() >= 60, "{} fixtures", fixtures.len());
    let mut wrong = Vec::new();
    for path in fixtures {
        let text = std::fs::read_to_string(&path).unwrap();
        let (source, expected) = text.split_once(PLAN).unwrap_or((&text, ""));
        let found = plan_of(source);
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(&path, format!("{source}{PLAN}{found}")).unwrap();
        } else if found != expected {
            wrong.push(format!("{}\nexpected:\n{expected}found:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes the files of a fixture into a folder and plans it. A first line `root folder: x` names the app's folder.
fn plan_of(source: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut root_folder = String::new();
    let mut file: Option<PathBuf> = None;
    for line in source.lines() {
        if let Some(name) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            file = Some(path);
        } else if let Some(folder) = line.strip_prefix("root folder: ") {
            folder.clone_into(&mut root_folder);
        } else if let Some(path) = &file {
            let text = std::fs::read_to_string(path).unwrap();
            std::fs::write(path, format!("{text}{line}\n")).unwrap();
        }
    }
    let overrides = BuildOverrides::default();
    let plan_request = PlanRequest {
        builder: Builder::Detected,
        overrides: &overrides,
        engine: false,
        root_folder: &root_folder,
        shown: "the repository",
    };
    match inspect(&Files::new(dir.path().to_owned()), plan_request) {
        Ok(BuildMethod::Native(plan)) => written(&plan),
        Ok(BuildMethod::Dockerfile { file, .. }) => format!("dockerfile: {file}\n"),
        Err(error) => format!("refused: {error}\n"),
    }
}

fn written(plan: &Plan) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            writeln!(text, "{name}: {value}").unwrap();
        }
    };
    line("framework", plan.framework.clone());
    line("runtime", plan.runtime.clone());
    line(
        "workspace",
        plan.workspace.clone().map(|path| format!("{path:?} folder {:?}", plan.folder)).unwrap_or_default(),
    );
    for want in &plan.tools {
        let version = want.version.as_ref().map_or("any".to_owned(), |version| {
            format!(
                "{} of {}{}",
                version.range,
                version.source,
                if version.exact { "" } else { " or the server's own within" }
            )
        });
        line(want.tool.name(), version);
    }
    for (name, tasks) in [("install", &plan.install), ("build", &plan.build)] {
        for task in tasks {
            let mut marks = String::new();
            if task.in_app && plan.workspace.is_some() {
                marks.push_str(" (in the app's folder)");
            }
            if task.may_fail {
                marks.push_str(" (may fail)");
            }
            line(name, format!("{}{marks}", display_command(&task.command)));
        }
    }
    match plan.output.is_empty() {
        true => line("start", display_command(&plan.start)),
        false => line("serve", plan.output.join(" ")),
    }
    if !plan.output.is_empty() {
        line("fallback", plan.fallback.pages().join(" "));
    }
    line("excludes", plan.excluded_folders.join(" "));
    line("server", plan.server.as_ref().map(|server| server.file.clone()).unwrap_or_default());
    line("runs with", plan.runs_with.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(" "));
    line("release command", display_command(&plan.release_command));
    for worker in &plan.workers {
        line("worker", format!("{} = {}", worker.name, display_command(&worker.command)));
    }
    for (name, value) in &plan.environment {
        line("variable", format!("{name}={value}"));
    }
    let caches = plan.caches.iter().map(|cache| match cache.stale.as_str() {
        "" => cache.folder.clone(),
        stale => format!("{} (without {stale})", cache.folder),
    });
    line("keeps", caches.collect::<Vec<_>>().join(", "));
    if let Some(reuse) = &plan.reuse {
        let commands = reuse.commands.iter().map(|task| display_command(&task.command)).collect::<Vec<_>>().join(", ");
        let folders = reuse.environment.as_deref().unwrap_or("node_modules");
        line("reuses", format!("{folders}{}", if commands.is_empty() { "" } else { ", then runs " }) + &commands);
    }
    line("cache", plan.lock_file.clone().unwrap_or_default());
    line("prunes", if plan.prune_packages { "packages".to_owned() } else { String::new() });
    for sentence in &plan.sentences {
        line("says", sentence.clone());
    }
    text
}
