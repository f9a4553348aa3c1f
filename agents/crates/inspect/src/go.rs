//! Apps in Go: one program, built by the toolchain that go.mod chooses.

use crate::{AppSource, Files, InspectError, OWN_FOLDER, Plan, PlanCommand, Tool, VersionRequest, Want, command_line};

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let (files, shown) = (app_source.app, app_source.shown);
    // A program's folder may lie in a module that begins above it.
    let module_above = files.above().find(|folder| folder.has("go.mod")).filter(|_| is_program(files, ""));
    let module_above = if files.has("go.mod") { None } else { module_above };
    let home = module_above.as_ref().unwrap_or(files);
    let Some(text) = home.text("go.mod")? else { return Ok(None) };
    let directive = |wanted: &str| {
        let mut lines = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        lines.find_map(|words| match words[..] {
            [name, value, ..] if name == wanted => Some(value.to_owned()),
            _ => None,
        })
    };
    let module = directive("module").unwrap_or_else(|| "app".to_owned());
    let chosen = directive("toolchain").and_then(|name| name.strip_prefix("go").map(str::to_owned));
    let version = chosen.or(directive("go")).map(|version| VersionRequest::within(format!(">={version}"), "go.mod"));
    let package = main_package(files, &program_name(&module), shown)?;
    let name = match (&module_above, package.as_str()) {
        (Some(_), _) => program_name(files.path()),
        (None, ".") => program_name(&module),
        (None, package) => program_name(package),
    };
    // Heroku's builds leave programs in `bin`, which Procfiles name.
    let own = format!("bin/{name}");
    let asked = app_source.asked.start.is_some_and(|start| command_line::display_command(start).contains(&own))
        && !files.has(&own);
    let program = if asked { own } else { format!("{OWN_FOLDER}/bin/{name}") };
    let mut plan = Plan {
        framework: "Go".to_owned(),
        runtime: "go".to_owned(),
        build: vec![PlanCommand::new(&["go", "build", "-trimpath", "-buildvcs=false", "-o", &program, &package])],
        start: app_source.asked.start.map_or(vec![program.clone()], <[String]>::to_vec),
        tools: vec![Want::of(Tool::Go, version)],
        lock_file: home.has("go.sum").then(|| "go.sum".to_owned()),
        ..Plan::default()
    };
    plan.say(format!(
        "Found the Go module {module} in {shown}; its program is the package {package}, built as `{name}`."
    ));
    // The other modules of a workspace, and the other packages of a module, are part of the build.
    let workspace = files.above().find(|folder| folder.has("go.work"));
    if let Some(root) = workspace.as_ref().or(module_above.as_ref()) {
        plan.workspace = Some(root.path().to_owned());
        plan.folder = files.path().strip_prefix(root.path()).unwrap_or_default().trim_start_matches('/').to_owned();
        plan.build.iter_mut().for_each(|task| task.in_app = true);
        plan.say(match workspace {
            Some(_) => "It is built in its Go workspace (go.work).",
            None => "It is built in the module above its folder (go.mod).",
        });
    } else if files.has("vendor/modules.txt") {
        plan.say("Its dependencies come from the folder `vendor`.");
    }
    Ok(Some(plan))
}

/// Last element of the path of a module or package, without its major version: the name that `go install` gives.
fn program_name(module: &str) -> String {
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let name = module.trim_matches('"').rsplit('/').find(|part| !is_version(part)).unwrap_or("app");
    let clean: String = name.chars().filter(|char| char.is_ascii_alphanumeric() || "-_.".contains(*char)).collect();
    if clean.is_empty() || clean.starts_with(['.', '-']) { "app".to_owned() } else { clean }
}

/// Reports whether a folder below holds a package main.
fn is_program(files: &Files, folder: &str) -> bool {
    files.names(folder).iter().filter(|name| name.ends_with(".go") && !name.ends_with("_test.go")).any(|name| {
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let text = files.search(&path);
        text.lines().any(|line| line.split("//").next().unwrap_or_default().trim() == "package main")
            && !text.contains("//go:build ignore")
    })
}

fn main_package(files: &Files, module: &str, shown: &str) -> Result<String, InspectError> {
    if is_program(files, "") {
        return Ok(".".to_owned());
    }
    let programs: Vec<String> = files.folders("", 3).into_iter().filter(|folder| is_program(files, folder)).collect();
    let preferred = programs.iter().find(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name == module || matches!(name, "server" | "web" | "app" | "api")
    });
    match (&programs[..], preferred) {
        ([one], _) => Ok(format!("./{one}")),
        (_, Some(path)) => Ok(format!("./{path}")),
        ([], None) => Err(InspectError::NotDetected(format!(
            "The go.mod in {shown} has no program: no folder has a package main. Set the root folder, or the build and start commands, in the settings of the app."
        ))),
        (many, None) => Err(InspectError::NotDetected(format!(
            "It is not clear which program of {shown} to run: there are {}. Name its build and start commands in fairlead.toml.",
            many.join(", ")
        ))),
    }
}
