//! Choice of how an app with a package.json starts: its own server, its production script, or its files.

use super::manager::{Manager, ManagerKind};
use super::package::NodePackage;
use super::scripts::{development_server, without_watcher};
use super::usual_outputs;
use crate::command_line::{self, in_quotes};
use crate::files::inside;
use crate::frameworks::{FrameworkOutput, Preset};
use crate::{AppSource, Fallback, InspectError, strings};

/// Packages that make an app a server.
pub(crate) const SERVERS: [&str; 20] = [
    "express",
    "fastify",
    "koa",
    "hono",
    "@hono/node-server",
    "@hapi/hapi",
    "restify",
    "polka",
    "elysia",
    "h3",
    "srvx",
    "micro",
    "socket.io",
    "ws",
    "@apollo/server",
    "apollo-server",
    "graphql-yoga",
    "@feathersjs/feathers",
    "@adonisjs/core",
    "moleculer",
];

/// Scripts for production, before `start`.
const PRODUCTION: [&str; 4] = ["start:prod", "start:production", "serve:prod", "prod"];

pub(super) enum Start {
    Site { output: Vec<String>, fallback: Fallback, remark: Option<String> },
    Command { words: Vec<String>, remark: Option<String>, adds: Vec<&'static str> },
}

impl Start {
    fn command(words: Vec<String>) -> Self {
        Self::Command { words, remark: None, adds: Vec::new() }
    }
}

/// Chooses the start: settings first, then the framework, then scripts and usual files.
pub(super) fn choose(
    app_source: AppSource<'_>,
    package: &NodePackage,
    manager: &Manager,
    preset: Option<&Preset>,
    builds: bool,
) -> Result<Start, InspectError> {
    if let Some(start) = app_source.asked.start {
        return Ok(Start::command(start.to_vec()));
    }
    if let Some(output) = app_source.asked.output {
        // A server's framework may leave files too, which are no single-page app.
        let site = preset.filter(|preset| matches!(preset.result, FrameworkOutput::Site(_)));
        let fallback = site.map(|preset| preset.fallback.clone()).unwrap_or_default();
        return Ok(Start::Site { output: vec![output.to_owned()], fallback, remark: None });
    }
    let script = production_script(package);
    let development = package.script("start").and_then(|script| development_server(package, script));
    match preset.map(|preset| (&preset.result, &preset.fallback)) {
        Some((FrameworkOutput::Site(folders), fallback)) => {
            // A server of its own serves what was built in its own way.
            let serves =
                |name: &&str| package.has_any(&SERVERS) || runs_program(package.script(name).unwrap_or_default());
            if let Some(name) = script.filter(serves) {
                return Ok(Start::command(run(package, manager, name)));
            }
            let (output, fallback) = (folders.clone(), fallback.clone());
            return Ok(Start::Site { output, fallback, remark: development.map(not_used) });
        }
        Some((FrameworkOutput::Server(words), _)) if script.is_none() => {
            let adds = preset.map(|preset| preset.adds.to_vec()).unwrap_or_default();
            return Ok(Start::Command { words: words.clone(), remark: None, adds });
        }
        _ => {}
    }
    // A start script of a site builds anew and opens a browser.
    let previews = package.has_any(&["browser-sync", "live-server", "lite-server"]) && !package.has_any(&SERVERS);
    if let Some(name) = script.filter(|_| !(previews && builds)) {
        return Ok(Start::command(run(package, manager, name)));
    }
    let watcher = |name: &str| {
        let words = package.script(name).and_then(without_watcher)?;
        let remark = "Its start script restarts the app when files change; Fairlead leaves that part out.".to_owned();
        Some(Start::Command { words, remark: Some(remark), adds: Vec::new() })
    };
    if let Some(start) = watcher("start") {
        return Ok(start);
    }
    if let Some(file) = program(app_source, package, manager, builds) {
        let runtime = if manager.kind == ManagerKind::Bun { "bun" } else { "node" };
        return Ok(Start::command(strings(&[runtime, &file])));
    }
    if let Some(start) = watcher("dev").filter(|_| package.has_any(&SERVERS) || manager.kind == ManagerKind::Bun) {
        return Ok(start);
    }
    let is_workspace =
        package.workspaces.is_some() || app_source.app.search("pnpm-workspace.yaml").contains("packages:");
    if builds && !is_workspace {
        let (output, fallback) = (usual_outputs(), Fallback::default());
        return Ok(Start::Site { output, fallback, remark: development.map(not_used) });
    }
    if let Some(folder) =
        [".", "public", "src", "dist"].into_iter().find(|folder| app_source.app.has(&format!("{folder}/index.html")))
    {
        return Ok(Start::Site { output: strings(&[folder]), fallback: Fallback::default(), remark: None });
    }
    let apps = app_source.app.apps();
    if package.workspaces.is_some()
        || app_source.app.has("pnpm-workspace.yaml")
        || (!apps.is_empty() && !package.needs_install())
    {
        let sentence = format!(
            "The package.json in {} belongs to a workspace, not to an app. Set the root folder in the settings of the app to one of its apps: {}.",
            app_source.shown,
            in_quotes(&apps)
        );
        return Err(InspectError::InFolders { sentence, folders: apps });
    }
    if let Some(server) = development {
        return Err(InspectError::NotDetected(format!(
            "The start script of the package.json in {} runs `{server}`, a development server, and there is no build script. Add a script \"start:prod\" or \"build\", or set a start command in the settings of the app.",
            app_source.shown
        )));
    }
    Err(InspectError::NotDetected(format!(
        "It is not clear how to start the app in {}: its package.json has neither a start nor a build script, and there is no server.js or index.js. Add a start script, for example \"start\": \"node server.js\".",
        app_source.shown
    )))
}

/// Name of the script that starts the app in production.
fn production_script(package: &NodePackage) -> Option<&'static str> {
    let is_good =
        |name: &&str| package.script(name).is_some_and(|script| development_server(package, script).is_none());
    PRODUCTION.into_iter().chain(["start"]).find(is_good)
}

fn not_used(server: String) -> String {
    format!("Its start script runs `{server}`, a development server, so it is not used.")
}

/// True for a script that runs a program of the app's own.
fn runs_program(script: &str) -> bool {
    const RUNTIMES: [&str; 8] = ["node", "tsx", "ts-node", "bun", "deno", "pm2", "pm2-runtime", "babel-node"];
    script.split(['&', ';', '|']).any(|part| {
        let words = part.split_ascii_whitespace();
        let mut words = words.filter(|word| !word.contains('=') && !matches!(*word, "cross-env" | "npx" | "exec"));
        words.next().is_some_and(|word| RUNTIMES.contains(&word))
    })
}

/// Command of a script. A plain command of the runtime starts directly, so that signals reach the app itself.
fn run(package: &NodePackage, manager: &Manager, name: &str) -> Vec<String> {
    let runtime = if manager.kind == ManagerKind::Bun { "bun" } else { "node" };
    let alone = package.script(&format!("pre{name}")).is_none() && package.script(&format!("post{name}")).is_none();
    let direct = package.script(name).and_then(command_line::plain);
    let direct = direct.filter(|words| words.len() > 1 && words[0] == runtime && alone);
    direct.unwrap_or_else(|| manager.run(name))
}

/// File that starts the app: the package's own, or one with a usual name.
fn program(app_source: AppSource<'_>, package: &NodePackage, manager: &Manager, builds: bool) -> Option<String> {
    const NAMES: [&str; 4] = ["server", "index", "app", "main"];
    const NODE: [&str; 4] = ["js", "mjs", "cjs", "ts"];
    const BUN: [&str; 4] = ["ts", "tsx", "js", "mjs"];
    let endings = if manager.kind == ManagerKind::Bun { BUN } else { NODE };
    if let Some(main) = package.main().filter(|main| inside(main)) {
        let made = builds && package.has_any(&SERVERS) && [".js", ".mjs", ".cjs"].iter().any(|end| main.ends_with(end));
        if app_source.app.has(main) || made {
            return Some(main.to_owned());
        }
        let file = endings.iter().map(|ending| format!("{main}.{ending}")).find(|file| app_source.app.has(file));
        if file.is_some() {
            return file;
        }
    }
    let serves = package.has_any(&SERVERS) || manager.kind == ManagerKind::Bun || !builds;
    let folders: &[&str] = if serves { &["", "src/", "api/", "server/", "app/"] } else { &[""] };
    let names = NAMES.iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}.{ending}")));
    let names: Vec<String> = names.collect();
    let mut files = folders.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}{name}")));
    files.find(|file| app_source.app.has(file) && (serves || file.starts_with("server")))
}
