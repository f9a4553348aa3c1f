//! Apps with a package.json: Node with npm, pnpm or yarn, and Bun. Owns which of them it is and how it starts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::files::inside;
use super::{Asked, Files, Plan, Task, Tool, Want, site, strings, words};
use crate::BuildError;

/// The part of package.json that matters (npm's documentation, package.json).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Package {
    scripts: BTreeMap<String, serde_json::Value>,
    main: Option<String>,
    dependencies: BTreeMap<String, serde_json::Value>,
    dev_dependencies: BTreeMap<String, serde_json::Value>,
    optional_dependencies: BTreeMap<String, serde_json::Value>,
    workspaces: Option<serde_json::Value>,
    engines: BTreeMap<String, serde_json::Value>,
    package_manager: Option<String>,
}

/// What installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    const ALL: [(Self, &'static [&'static str]); 4] = [
        (Self::Npm, &["package-lock.json", "npm-shrinkwrap.json"]),
        (Self::Pnpm, &["pnpm-lock.yaml"]),
        (Self::Yarn, &["yarn.lock"]),
        (Self::Bun, &["bun.lock", "bun.lockb"]),
    ];

    fn name(self) -> &'static str {
        self.tool().name()
    }

    fn tool(self) -> Tool {
        match self {
            Self::Npm => Tool::Npm,
            Self::Pnpm => Tool::Pnpm,
            Self::Yarn => Tool::Yarn,
            Self::Bun => Tool::Bun,
        }
    }
}

const MISMATCH: &str =
    "Often the lock file and package.json do not match: install once on your machine, commit both, then deploy again.";

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let Some(text) = files.text("package.json")? else { return Ok(None) };
    let package: Package = serde_json::from_str(&text).map_err(|error| {
        BuildError::NotDetected(format!(
            "The package.json in {shown} can't be used: {error}. Correct it, then deploy again."
        ))
    })?;
    let named = package.manager()?;
    let locks: Vec<(Manager, &str)> = Manager::ALL
        .into_iter()
        .filter_map(|(manager, names)| Some((manager, *names.iter().find(|name| files.has(name))?)))
        .collect();
    let manager = named.as_ref().map(|(manager, _)| *manager).or(locks.first().map(|(manager, _)| *manager));
    let manager = manager.unwrap_or(Manager::Npm);
    let lock = locks.iter().find(|(of, _)| *of == manager).map(|(_, name)| *name);
    let runtime = if manager == Manager::Bun { Tool::Bun } else { Tool::Node };
    let name = if runtime == Tool::Bun { "Bun" } else { "Node" };
    let mut plan = Plan {
        runtime: runtime.name().to_owned(),
        sentences: vec![format!("Found a {name} app in {shown}; {} is its package manager.", manager.name())],
        lock_file: lock.map(str::to_owned),
        ..Plan::default()
    };
    for (of, other) in locks.iter().filter(|(of, _)| *of != manager) {
        plan.sentences.push(format!("{other} of {} is not used.", of.name()));
    }
    match (lock, package.needs_install()) {
        (Some(_), _) => plan.install = vec![install(manager, true, yarn_is_classic(files, named.as_ref())?)],
        (None, true) => {
            plan.sentences.push(format!("There is no lock file of {}: the newest versions allowed are taken. Commit a lock file to get the same ones every time.", manager.name()));
            plan.install = vec![install(manager, false, yarn_is_classic(files, named.as_ref())?)];
        }
        (None, false) => plan.sentences.push("It has no dependencies to install.".to_owned()),
    }
    if package.script("build").is_some() {
        let build = Task::new(&[manager.name(), "run", "build"]).with("NODE_ENV", "production");
        plan.build = vec![shared(build, manager)];
    }
    plan.tools = tools(files, &package, manager, runtime, named)?;
    plan.runs_with = vec![runtime];
    if let Some(start) = asked.start {
        plan.start = start.to_vec();
    } else if let (Some(output), None) = (asked.output, package.script("start")) {
        return Ok(Some(as_site(plan, vec![output.to_owned()])));
    } else if let Some(start) = package.start(files, manager, runtime) {
        plan.start = start;
    } else if !plan.build.is_empty() {
        // Where the usual builders of sites put them.
        return Ok(Some(as_site(plan, strings(&["dist", "build", "out", "_site", "public", "."]))));
    } else if files.has("index.html") {
        return Ok(Some(as_site(plan, strings(&["."]))));
    } else {
        return Err(BuildError::NotDetected(format!(
            "It is not clear how to start the app in {shown}: its package.json has neither a start nor a build script, and there is no server.js or index.js. Add a start script, for example \"start\": \"node server.js\"."
        )));
    }
    // A start through the manager needs it while the app runs.
    let started_by = Manager::ALL.into_iter().find(|(of, _)| plan.start.first().is_some_and(|word| word == of.name()));
    if let Some((of, _)) = started_by.filter(|(of, _)| of.tool() != runtime) {
        plan.runs_with.push(of.tool());
    }
    Ok(Some(plan))
}

fn as_site(plan: Plan, output: Vec<String>) -> Plan {
    let site = site::serving("Its start is to serve what its build makes.".to_owned(), output);
    let sentences = plan.sentences.into_iter().chain(site.sentences).collect();
    Plan { install: plan.install, build: plan.build, tools: plan.tools, lock_file: plan.lock_file, sentences, ..site }
}

/// Build tools are often development dependencies, so they are installed whatever NODE_ENV says.
fn install(manager: Manager, locked: bool, yarn_classic: bool) -> Task {
    let command: &[&str] = match (manager, locked) {
        (Manager::Npm, true) => &["npm", "ci", "--include=dev", "--no-audit", "--no-fund"],
        (Manager::Npm, false) => &["npm", "install", "--include=dev", "--no-audit", "--no-fund"],
        (Manager::Pnpm, true) => &["pnpm", "install", "--frozen-lockfile", "--prod=false"],
        (Manager::Pnpm, false) => &["pnpm", "install", "--no-frozen-lockfile", "--prod=false"],
        (Manager::Yarn, true) if yarn_classic => &["yarn", "install", "--frozen-lockfile", "--production=false"],
        (Manager::Yarn, true) => &["yarn", "install", "--immutable"],
        (Manager::Yarn, false) => &["yarn", "install", "--no-immutable"],
        (Manager::Bun, true) => &["bun", "install", "--frozen-lockfile"],
        (Manager::Bun, false) => &["bun", "install"],
    };
    shared(Task::new(command), manager).with("NODE_ENV", "development").advised(if locked {
        MISMATCH
    } else {
        "The last lines of the log say why."
    })
}

fn shared(task: Task, manager: Manager) -> Task {
    match manager {
        Manager::Npm => task.with("npm_config_update_notifier", "false").with("npm_config_progress", "false"),
        Manager::Pnpm => {
            task.with("npm_config_update_notifier", "false").with("npm_config_manage_package_manager_versions", "false")
        }
        // Dependencies as folders in the artifact: a cache outside of it is gone when the app starts.
        Manager::Yarn => task
            .with("YARN_NODE_LINKER", "node-modules")
            .with("YARN_ENABLE_GLOBAL_CACHE", "true")
            .with("YARN_ENABLE_TELEMETRY", "false"),
        Manager::Bun => task,
    }
}

fn yarn_is_classic(files: &Files, named: Option<&(Manager, String)>) -> Result<bool, BuildError> {
    if let Some((Manager::Yarn, version)) = named {
        return Ok(version.starts_with('1'));
    }
    // Later ones write a first block of metadata.
    Ok(!files.text("yarn.lock")?.is_some_and(|text| text.contains("__metadata:")))
}

fn tools(
    files: &Files,
    package: &Package,
    manager: Manager,
    runtime: Tool,
    named: Option<(Manager, String)>,
) -> Result<Vec<Want>, BuildError> {
    let of_manager =
        named.map(|(_, version)| (version, "package.json (packageManager)")).filter(|(v, _)| !v.is_empty());
    if runtime == Tool::Bun {
        let version = match files.line(".bun-version")? {
            Some(version) => Some((version, ".bun-version")),
            None => of_manager.or_else(|| package.engine("bun")),
        };
        return Ok(vec![Want::of(Tool::Bun, version)]);
    }
    let mut node = None;
    for name in [".nvmrc", ".node-version"] {
        if let Some(line) = files.line(name)? {
            node = Some((line, name));
            break;
        }
    }
    let classic = manager == Manager::Yarn && yarn_is_classic(files, None)?;
    let of_manager = of_manager.or_else(|| match manager {
        Manager::Yarn if classic => Some(("^1.22.0".to_owned(), "yarn.lock")),
        Manager::Yarn => Some((">=3".to_owned(), "yarn.lock")),
        _ => package.engine(manager.name()),
    });
    let mut tools = vec![Want::of(Tool::Node, node.or_else(|| package.engine("node")))];
    // npm comes with Node where the server has one; a version is fetched only when one is named.
    tools.push(Want::of(manager.tool(), of_manager));
    Ok(tools)
}

impl Package {
    /// `pnpm@9.1.0+sha512…` to the manager and its version.
    fn manager(&self) -> Result<Option<(Manager, String)>, BuildError> {
        let Some(text) = self.package_manager.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let (name, version) = text.split_once('@').unwrap_or((text, ""));
        let found = Manager::ALL.into_iter().find(|(manager, _)| manager.name() == name).ok_or_else(|| {
            BuildError::NotDetected(format!(
                "The package manager `{}` of package.json is not known. Fairlead knows npm, pnpm, yarn and bun.",
                name.chars().take(40).collect::<String>()
            ))
        })?;
        Ok(Some((found.0, version.split('+').next().unwrap_or_default().to_owned())))
    }

    fn engine(&self, name: &str) -> Option<(String, &'static str)> {
        let range = self.engines.get(name)?.as_str()?.trim();
        (!range.is_empty() && range != "*").then(|| (range.to_owned(), "package.json (engines)"))
    }

    fn script(&self, name: &str) -> Option<&str> {
        self.scripts.get(name).and_then(serde_json::Value::as_str).map(str::trim).filter(|script| !script.is_empty())
    }

    fn needs_install(&self) -> bool {
        let any = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        any.iter().any(|dependencies| !dependencies.is_empty()) || self.workspaces.is_some()
    }

    fn start(&self, files: &Files, manager: Manager, runtime: Tool) -> Option<Vec<String>> {
        if let Some(script) = self.script("start") {
            let alone = self.script("prestart").is_none() && self.script("poststart").is_none();
            // Started directly, signals reach the app itself and the manager's 60 MB stay out of memory.
            let direct = words::plain(script).filter(|words| words.len() > 1 && words[0] == runtime.name() && alone);
            let by_manager = match manager {
                Manager::Bun => strings(&["bun", "run", "start"]),
                _ => strings(&[manager.name(), "start"]),
            };
            return Some(direct.unwrap_or(by_manager));
        }
        let main = self.main.as_deref().map(|main| main.trim_start_matches("./"));
        let usual: &[&str] = match runtime {
            Tool::Bun => &["server.ts", "index.ts", "server.js", "index.js"],
            _ => &["server.js", "index.js", "server.mjs", "index.mjs"],
        };
        let mut candidates = main.into_iter().chain(usual.iter().copied());
        let found = candidates.find(|name| inside(name) && files.has(name))?;
        Some(strings(&[runtime.name(), found]))
    }
}
