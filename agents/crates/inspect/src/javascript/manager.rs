//! Package managers of JavaScript: which one an app uses, in which version, and its commands.

use super::package::NodePackage;
use super::workspace::Workspace;
use crate::{Files, InspectError, PlanCommand, Tool, VersionRequest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ManagerKind {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl ManagerKind {
    /// Managers with their lock files, in the order in which they are looked for.
    const ALL: [(Self, &'static [&'static str]); 4] = [
        (Self::Npm, &["package-lock.json", "npm-shrinkwrap.json"]),
        (Self::Pnpm, &["pnpm-lock.yaml"]),
        (Self::Yarn, &["yarn.lock"]),
        (Self::Bun, &["bun.lock", "bun.lockb"]),
    ];

    pub(crate) fn tool(self) -> Tool {
        match self {
            Self::Npm => Tool::Npm,
            Self::Pnpm => Tool::Pnpm,
            Self::Yarn => Tool::Yarn,
            Self::Bun => Tool::Bun,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.tool().name()
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().map(|(kind, _)| kind).find(|kind| kind.name() == name)
    }
}

/// Package manager of an app.
#[derive(Debug, Clone)]
pub(crate) struct Manager {
    pub(crate) kind: ManagerKind,
    pub(crate) version: Option<VersionRequest>,
    /// Lock file in the workspace's folder.
    pub(crate) lock: Option<&'static str>,
    /// Lock files of other managers, which are not used.
    pub(crate) unused: Vec<&'static str>,
    /// Yarn before version 2.
    is_classic: bool,
}

impl Manager {
    /// Chooses by what the package names, then by lock files; `root` is the workspace's folder.
    pub(crate) fn of(root: &Files, package: &NodePackage, top: &NodePackage) -> Result<Self, InspectError> {
        let named = match (named(package)?, named(top)?) {
            (Some(own), _) => Some(own),
            (None, of_root) => of_root,
        };
        let locks: Vec<(ManagerKind, &'static str)> =
            ManagerKind::ALL.into_iter().filter_map(|(kind, names)| Some((kind, root.first(names)?))).collect();
        let kind = named.as_ref().map(|(kind, _)| *kind).or(locks.first().map(|(kind, _)| *kind));
        let kind = kind.unwrap_or_else(|| {
            if root.has("bunfig.toml") || package.uses_bun() { ManagerKind::Bun } else { ManagerKind::Npm }
        });
        let lock = locks.iter().find(|(of, _)| *of == kind).map(|(_, name)| *name);
        let text = if kind == ManagerKind::Yarn || kind == ManagerKind::Pnpm {
            lock.map(|name| root.search(name))
        } else {
            None
        };
        let text = text.unwrap_or_default();
        let version = named.and_then(|(_, version)| version);
        let is_classic = kind == ManagerKind::Yarn
            && match &version {
                Some(version) => version.range.trim_start_matches(['^', '~', '=', 'v']).starts_with('1'),
                // Later versions write a first block of metadata.
                None => !text.contains("__metadata:") && !root.has(".yarnrc.yml"),
            };
        let unused = locks.into_iter().filter(|(of, _)| *of != kind).map(|(_, name)| name).collect();
        let mut manager = Self { kind, version, lock, unused, is_classic };
        if manager.version.is_none() {
            manager.version = manager.version_of_lock(root, package, &text);
        }
        Ok(manager)
    }

    /// Version that wrote the lock file: a newer one may refuse or rewrite it.
    fn version_of_lock(&self, root: &Files, package: &NodePackage, lock: &str) -> Option<VersionRequest> {
        let engine = package.engine(self.kind.name());
        if let Some(range) = engine {
            return Some(VersionRequest::within(range, "package.json (engines)"));
        }
        match self.kind {
            ManagerKind::Pnpm => {
                let written = lock.lines().find_map(|line| line.strip_prefix("lockfileVersion:"))?;
                let major = match written.trim().trim_matches(['\'', '"']) {
                    old if old.starts_with("5.") => 7,
                    "6.0" | "6.1" => 8,
                    // Both 9 and 10 write this one; only 10 takes a workspace file without packages.
                    _ if root.has("pnpm-workspace.yaml")
                        && !root.search("pnpm-workspace.yaml").contains("packages:") =>
                    {
                        10
                    }
                    _ => 9,
                };
                Some(VersionRequest::exact(format!("^{major}"), "pnpm-lock.yaml"))
            }
            ManagerKind::Yarn if self.is_classic => Some(VersionRequest::within("^1.22.0", "yarn.lock")),
            ManagerKind::Yarn => Some(VersionRequest::within(">=3", "yarn.lock")),
            ManagerKind::Bun => Some(VersionRequest::exact(root.line(".bun-version").ok().flatten()?, ".bun-version")),
            ManagerKind::Npm => None,
        }
    }

    /// Installs everything, also what only builds need, whatever NODE_ENV says.
    pub(crate) fn install(&self) -> PlanCommand {
        let locked = self.lock.is_some();
        let command: &[&str] = match (self.kind, locked) {
            (ManagerKind::Npm, true) => &["npm", "ci", "--include=dev", "--no-audit", "--no-fund"],
            (ManagerKind::Npm, false) => &["npm", "install", "--include=dev", "--no-audit", "--no-fund"],
            (ManagerKind::Pnpm, true) => &["pnpm", "install", "--frozen-lockfile", "--prod=false"],
            (ManagerKind::Pnpm, false) => &["pnpm", "install", "--no-frozen-lockfile", "--prod=false"],
            (ManagerKind::Yarn, true) if self.is_classic => {
                &["yarn", "install", "--frozen-lockfile", "--production=false"]
            }
            (ManagerKind::Yarn, false) if self.is_classic => &["yarn", "install", "--production=false"],
            (ManagerKind::Yarn, true) => &["yarn", "install", "--immutable"],
            (ManagerKind::Yarn, false) => &["yarn", "install", "--no-immutable"],
            (ManagerKind::Bun, true) => &["bun", "install", "--frozen-lockfile"],
            (ManagerKind::Bun, false) => &["bun", "install"],
        };
        self.quiet(PlanCommand::new(command)).with("NODE_ENV", "development")
    }

    /// Scripts of the app that an install runs, in their order.
    pub(crate) fn install_scripts(&self) -> &'static [&'static str] {
        match self.kind {
            ManagerKind::Npm | ManagerKind::Pnpm => {
                &["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"]
            }
            ManagerKind::Yarn => &["preinstall", "install", "postinstall", "prepublish", "prepare"],
            ManagerKind::Bun => &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"],
        }
    }

    /// True if an install leaves files outside of node_modules: later versions of Yarn need `.yarn/install-state.gz` for each command.
    pub(crate) fn writes_beside_modules(&self) -> bool {
        self.kind == ManagerKind::Yarn && !self.is_classic
    }

    /// Adds packages that the app's start needs and its package.json lacks.
    pub(crate) fn add(&self, packages: &[&str]) -> PlanCommand {
        let command: &[&str] = match self.kind {
            ManagerKind::Npm => &["npm", "install", "--no-save", "--no-audit", "--no-fund"],
            ManagerKind::Pnpm => &["pnpm", "add"],
            ManagerKind::Yarn => &["yarn", "add"],
            ManagerKind::Bun => &["bun", "add"],
        };
        self.quiet(PlanCommand { in_app: true, ..PlanCommand::new(&[command, packages].concat()) })
    }

    /// Runs the script `build` of the app, and first those of the packages in its workspace that it needs.
    pub(crate) fn build(&self, workspace: &Workspace<'_>, top: &NodePackage) -> PlanCommand {
        let member = workspace.member();
        let (name, folder) = (workspace.name(), workspace.folder());
        let all;
        let command: Vec<&str> = match (self.kind, member) {
            (_, false) => vec![self.kind.name(), "run", "build"],
            _ if top.has("turbo") && workspace.root.has("turbo.json") && name.is_some() => {
                all = format!("--filter={}", name.unwrap_or_default());
                vec!["turbo", "run", "build", &all]
            }
            (ManagerKind::Pnpm, true) => {
                all = format!("{}...", name.map_or(format!("./{folder}"), str::to_owned));
                vec!["pnpm", "--filter", &all, "run", "build"]
            }
            (ManagerKind::Yarn, true) if !self.is_classic && name.is_some() => {
                vec!["yarn", "workspaces", "foreach", "-Rpt", "--from", name.unwrap_or_default(), "run", "build"]
            }
            (ManagerKind::Bun, true) if name.is_some() => {
                vec!["bun", "run", "--filter", name.unwrap_or_default(), "build"]
            }
            (_, true) => {
                return self
                    .quiet(PlanCommand { in_app: true, ..PlanCommand::new(&[self.kind.name(), "run", "build"]) })
                    .with("NODE_ENV", "production");
            }
        };
        self.quiet(PlanCommand::new(&command)).with("NODE_ENV", "production").with("TURBO_TELEMETRY_DISABLED", "1")
    }

    fn quiet(&self, task: PlanCommand) -> PlanCommand {
        match self.kind {
            ManagerKind::Npm => task.with("npm_config_update_notifier", "false").with("npm_config_progress", "false"),
            ManagerKind::Pnpm => task
                .with("npm_config_update_notifier", "false")
                .with("npm_config_manage_package_manager_versions", "false"),
            // Dependencies lie as folders in the artifact: a cache outside of it is gone when the app starts.
            ManagerKind::Yarn => task
                .with("YARN_NODE_LINKER", "node-modules")
                .with("YARN_ENABLE_GLOBAL_CACHE", "true")
                .with("YARN_ENABLE_TELEMETRY", "false"),
            ManagerKind::Bun => task,
        }
    }

    /// Command that runs a script of the app.
    pub(crate) fn run(&self, script: &str) -> Vec<String> {
        let words: &[&str] = match (self.kind, script) {
            (ManagerKind::Bun, _) => &["bun", "run", script],
            (_, "start") => &[self.kind.name(), "start"],
            _ => &[self.kind.name(), "run", script],
        };
        crate::strings(words)
    }
}

/// Manager and version of `packageManager`, like `pnpm@9.1.0+sha512…`, or of `devEngines`.
fn named(package: &NodePackage) -> Result<Option<(ManagerKind, Option<VersionRequest>)>, InspectError> {
    let unknown = |name: &str| {
        InspectError::NotDetected(format!(
            "The package manager `{}` of package.json is not supported. Fairlead supports npm, pnpm, yarn and bun.",
            name.chars().take(40).collect::<String>()
        ))
    };
    if let Some(text) = package.package_manager.as_deref().filter(|text| !text.is_empty()) {
        let (name, version) = text.split_once('@').unwrap_or((text, ""));
        // yarn@npm@4.1.0 names the registry too.
        let version = version.rsplit('@').next().unwrap_or_default().split('+').next().unwrap_or_default();
        let version = Some(version).filter(|version| !version.is_empty());
        let request = version.map(|version| VersionRequest::exact(version, "package.json (packageManager)"));
        return Ok(Some((ManagerKind::named(name).ok_or_else(|| unknown(name))?, request)));
    }
    if let Some((name, version)) = package.dev_engine(true) {
        let version = Some(version).filter(|version| !version.is_empty());
        let request = version.map(|version| VersionRequest::exact(version, "package.json (devEngines)"));
        return Ok(Some((ManagerKind::named(name).ok_or_else(|| unknown(name))?, request)));
    }
    if let Some(version) = package
        .volta("pnpm")
        .map(|version| (ManagerKind::Pnpm, version))
        .or_else(|| package.volta("yarn").map(|version| (ManagerKind::Yarn, version)))
    {
        return Ok(Some((version.0, Some(VersionRequest::exact(version.1, "package.json (volta)")))));
    }
    Ok(None)
}
