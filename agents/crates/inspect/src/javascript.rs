//! Apps with a package.json: Node with npm, pnpm or yarn, and Bun.

mod manager;
mod package;
mod scripts;
mod start;
mod versions;
mod workspace;

use manager::{Manager, ManagerKind};
pub(crate) use package::NodePackage;
pub(crate) use start::SERVERS;
pub(crate) use versions::pinned_tool;
use workspace::Workspace;

use crate::command_line;
use crate::frameworks::{self, FrameworkOutput, FrameworkProject, Preset};
use crate::{
    AppSource, BuiltServer, Cache, Files, InspectError, Plan, PlanCommand, Reuse, Tool, Want, static_site, strings,
    unsupported,
};
use start::Start;

/// Folders in which many tools of a build keep what they need for the next one; the second is that of Vite.
const TOOL_CACHES: [&str; 2] = ["node_modules/.cache", "node_modules/.vite"];

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let (files, shown) = (app_source.app, app_source.shown);
    let Some(package) = NodePackage::read(files, shown)? else { return Ok(None) };
    // A few scripts for the tools of its authors do not make an app in another language one of Node.
    if is_beside_another(app_source, &package) {
        return Ok(None);
    }
    let workspace = Workspace::of(files, &package);
    let top = match workspace.member() {
        true => NodePackage::read(&workspace.root, "the workspace")?.unwrap_or_default(),
        false => NodePackage::default(),
    };
    let manager = Manager::of(&workspace.root, &package, &top)?;
    let runtime = if manager.kind == ManagerKind::Bun { Tool::Bun } else { Tool::Node };
    let preset = frameworks::detect(&FrameworkProject { files, package: &package });
    let mut plan = Plan { runtime: runtime.name().to_owned(), ..Plan::default() };
    describe(&mut plan, app_source, &workspace, &manager, preset.as_ref(), &package);
    plan.lock_file = manager.lock.map(str::to_owned);
    if workspace.member() {
        plan.workspace = Some(workspace.root.path().to_owned());
        plan.folder = workspace.folder().to_owned();
        plan.say(format!(
            "It is a package of the workspace in {}, which is installed as a whole.",
            place(workspace.root.path())
        ));
    }
    if manager.lock.is_some() || package.needs_install() || workspace.member() {
        if manager.lock.is_none() {
            plan.say(format!("No lock file for {}, so each build takes the newest versions allowed. Commit one to get the same versions every time.", manager.kind.name()));
        }
        plan.install.push(manager.install());
        plan.reuse = reuse(&manager, &workspace, &package);
    } else {
        plan.say("It has no dependencies to install.");
    }
    build(&mut plan, &manager, &workspace, &top, &package, preset.as_ref());
    let folders = [files, &workspace.root];
    let packages = [&package, &top];
    if runtime == Tool::Bun {
        let version = match &manager.version {
            Some(version) => Some(version.clone()),
            None => versions::bun(&folders, &packages)?,
        };
        plan.tools.push(Want::of(Tool::Bun, version));
    } else {
        plan.tools.push(Want::of(Tool::Node, Some(versions::node(&folders, &packages)?)));
        plan.tools.push(Want::of(manager.kind.tool(), manager.version.clone()));
    }
    plan.runs_with.push(runtime);
    keep(&mut plan, &workspace, &top, preset.as_ref());
    let start = start::choose(app_source, &package, &manager, preset.as_ref(), !plan.build.is_empty())?;
    let mut plan = finish(plan, start, &manager);
    plan.prune_packages = !is_workspace_root(files, &package)
        && preset.as_ref().is_some_and(|preset| starts_framework(&plan.start, &package, preset));
    plan.server = preset.and_then(|preset| built_server(&plan.start, preset));
    Ok(Some(plan))
}

/// True for the root of a workspace, which may start any of its packages.
pub(crate) fn is_workspace_root(files: &Files, package: &NodePackage) -> bool {
    package.workspaces.is_some() || files.has("pnpm-workspace.yaml")
}

/// True if a command, or the script that it names, runs the server of a framework.
fn starts_framework(start: &[String], package: &NodePackage, preset: &Preset) -> bool {
    let FrameworkOutput::Server(server) = &preset.result else { return false };
    let script = match start {
        [manager, name] if ManagerKind::named(manager).is_some() => package.script(name),
        [manager, run, name] if ManagerKind::named(manager).is_some() && run == "run" => package.script(name),
        _ => None,
    };
    let words = script.and_then(command_line::plain).unwrap_or_else(|| start.to_vec());
    words.starts_with(server)
}

/// Server that the framework's build leaves, if the app starts that.
fn built_server(start: &[String], preset: Preset) -> Option<BuiltServer> {
    let FrameworkOutput::Server(words) = &preset.result else { return None };
    let [node, file] = words.as_slice() else { return None };
    let advice = if preset.remark.is_empty() {
        "Check the build's log, or set the start command or the output folder in the settings of the app.".to_owned()
    } else {
        preset.remark
    };
    (node == "node" && start == words).then(|| BuiltServer {
        file: file.clone(),
        advice: format!("The {} build produced no `{file}`, the server to start. {advice}", preset.name),
    })
}

/// Names the folders that the tools of the build keep for the next one.
fn keep(plan: &mut Plan, workspace: &Workspace<'_>, top: &NodePackage, preset: Option<&Preset>) {
    let own = preset.map(|preset| preset.caches).unwrap_or_default();
    let mut own: Vec<Cache> = own.iter().map(|cache| Cache::below(workspace.folder(), cache)).collect();
    if let (Some(first), Some(preset)) = (own.first_mut(), preset) {
        preset.stale.clone_into(&mut first.stale);
    }
    plan.caches.extend(tool_caches(workspace.folder()));
    plan.caches.extend(own);
    if workspace.member() {
        plan.caches.extend(tool_caches(""));
        plan.caches.extend(top.has("turbo").then(|| Cache::below("", ".turbo/cache")));
    }
}

fn tool_caches(app: &str) -> impl Iterator<Item = Cache> {
    TOOL_CACHES.iter().map(move |folder| Cache::below(app, folder))
}

/// Allows the reuse of installed dependencies, unless nothing names their versions, the install leaves files elsewhere, or it runs
/// scripts of a workspace.
fn reuse(manager: &Manager, workspace: &Workspace<'_>, package: &NodePackage) -> Option<Reuse> {
    if manager.lock.is_none() || manager.writes_beside_modules() {
        return None;
    }
    let names = manager.install_scripts().iter().filter(|name| package.script(name).is_some());
    let tasks: Vec<PlanCommand> = names
        .map(|name| PlanCommand {
            command: strings(&[manager.kind.name(), "run", name]),
            environment: manager.install().environment,
            ..PlanCommand::default()
        })
        .collect();
    (tasks.is_empty() || !workspace.member()).then_some(Reuse { environment: None, commands: tasks })
}

fn finish(mut plan: Plan, start: Start, manager: &Manager) -> Plan {
    match start {
        Start::Site { output, fallback, remark } => {
            plan.sentences.extend(remark);
            let site = static_site::serving(&plan.framework, output);
            return Plan {
                runs_with: Vec::new(),
                runtime: site.runtime,
                start: site.start,
                output: site.output,
                fallback,
                ..plan
            };
        }
        Start::Command { words, remark, adds } => {
            plan.sentences.extend(remark);
            if !adds.is_empty() {
                plan.install.push(manager.add(&adds));
                // The newest versions of these are taken.
                plan.reuse = None;
            }
            plan.start = words;
        }
    }
    // A start through the manager needs it while the app runs.
    let first = plan.start.first().map(String::as_str);
    if first == Some(manager.kind.name()) && !plan.runs_with.contains(&manager.kind.tool()) {
        plan.runs_with.push(manager.kind.tool());
    }
    plan
}

/// Says what was found, and in which file.
fn describe(
    plan: &mut Plan,
    app_source: AppSource<'_>,
    workspace: &Workspace<'_>,
    manager: &Manager,
    preset: Option<&Preset>,
    package: &NodePackage,
) {
    let language = if manager.kind == ManagerKind::Bun { "Bun" } else { "Node" };
    plan.framework = preset.map_or(language, |preset| preset.name).to_owned();
    match preset {
        Some(preset) => {
            let range = package.dependency(preset.dependency).unwrap_or_default();
            plan.say(format!(
                "Found {} {range} in {} ({} of package.json); {} is its package manager.",
                preset.name,
                app_source.shown,
                preset.dependency,
                manager.kind.name()
            ));
            if !preset.remark.is_empty() {
                plan.say(preset.remark.clone());
            }
        }
        None => plan.say(format!(
            "Found a {language} app in {}; {} is its package manager.",
            app_source.shown,
            manager.kind.name()
        )),
    }
    for other in &manager.unused {
        plan.say(format!("{other} in {} is not used.", place(workspace.root.path())));
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the repository".to_owned() } else { format!("`{path}`") }
}

fn build(
    plan: &mut Plan,
    manager: &Manager,
    workspace: &Workspace<'_>,
    top: &NodePackage,
    package: &NodePackage,
    preset: Option<&Preset>,
) {
    let task = match (package.script("build"), preset) {
        (Some(_), _) => Some(manager.build(workspace, top)),
        (None, Some(preset)) if !preset.build.is_empty() => {
            Some(PlanCommand { in_app: true, ..PlanCommand::new(preset.build) }.with("NODE_ENV", "production"))
        }
        (None, _) => ["build:prod", "build:production", "compile"]
            .into_iter()
            .find(|name| package.script(name).is_some())
            .map(|name| {
                PlanCommand { in_app: true, command: manager.run(name), ..PlanCommand::default() }
                    .with("NODE_ENV", "production")
            }),
    };
    let given = preset.map(|preset| preset.build_environment).unwrap_or_default();
    plan.build.extend(task.map(|task| given.iter().fold(task, |task, (name, value)| task.with(name, value))));
}

/// True if another language has the app, and package.json only makes its assets or helps its authors.
fn is_beside_another(app_source: AppSource<'_>, package: &NodePackage) -> bool {
    let files = app_source.app;
    if package.script("start").is_some() || package.has_any(&SERVERS) || app_source.asked.output.is_some() {
        return false;
    }
    let program = ["manage.py", "go.mod", "Cargo.toml", "deno.json", "deno.jsonc"];
    let python = ["requirements.txt", "pyproject.toml", "Pipfile"];
    let main = ["main.py", "app.py", "wsgi.py", "asgi.py", "server.py"];
    unsupported::language(files).is_some()
        || files.first(&program).is_some()
        || (files.first(&python).is_some() && (package.script("build").is_none() || files.first(&main).is_some()))
}

/// Adds to the plan of an app in another language what makes its assets, if package.json has a build script.
pub(crate) fn add_assets(plan: &mut Plan, app_source: AppSource<'_>) -> Result<(), InspectError> {
    let files = app_source.app;
    let Some(package) = NodePackage::read(files, app_source.shown)? else { return Ok(()) };
    if package.script("build").is_none() {
        return Ok(());
    }
    let top = NodePackage::default();
    let manager = Manager::of(files, &package, &top)?;
    let workspace = Workspace::of(files, &package);
    let mut assets = Plan::default();
    assets.install.push(PlanCommand { in_app: true, ..manager.install() });
    build(&mut assets, &manager, &workspace, &top, &package, None);
    assets.build.iter_mut().for_each(|task| task.in_app = true);
    plan.say(format!("Its assets are built first, by the build script of package.json ({}).", manager.kind.name()));
    plan.caches.extend(tool_caches(""));
    plan.install.extend(assets.install);
    plan.build.splice(0..0, assets.build);
    if manager.kind == ManagerKind::Bun {
        plan.tools.push(Want::of(Tool::Bun, manager.version));
    } else {
        plan.tools.push(Want::of(Tool::Node, Some(versions::node(&[files], &[&package])?)));
        plan.tools.push(Want::of(manager.kind.tool(), manager.version));
    }
    Ok(())
}

/// Folders in which builders of sites usually leave them.
pub(crate) fn usual_outputs() -> Vec<String> {
    strings(&["dist", "build", "out", "_site", "public", "www", "."])
}
