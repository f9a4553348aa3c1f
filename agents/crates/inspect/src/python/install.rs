//! Installation of Python packages into `.venv`: by the tool that wrote the lock file, else by uv.

use super::ENVIRONMENT;
use super::project::PythonProject;
use crate::{Files, Plan, PlanCommand, Reuse};

/// Older packages import its `pkg_resources` without naming it, because environments used to have it. Requirements may take a
/// newer one.
const SETUPTOOLS: &str = "setuptools<81";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PythonInstaller {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    Requirements,
    /// Dependencies of pyproject.toml without a lock file.
    Project,
    Setup,
    None,
}

pub(super) struct Installer {
    kind: PythonInstaller,
    /// Folder of the lock file: the app's or its workspace's.
    pub(super) root: Files,
    pub(super) lock: Option<&'static str>,
    /// Name of the package in a workspace.
    member: Option<String>,
    requirements: Option<&'static str>,
}

impl Installer {
    pub(super) fn of(files: &Files, project: &PythonProject) -> Self {
        let root = files.above().find(is_workspace).filter(|_| !files.has("uv.lock"));
        let own =
            |kind, lock| Self { kind, root: files.clone(), lock, member: None, requirements: project.requirements };
        if let Some(root) = root.filter(|_| project.table().is_some()) {
            let member = project
                .table()
                .map(|table| table.name.clone())
                .filter(|name| !name.is_empty() && !name.starts_with('-'));
            return Self { kind: PythonInstaller::Uv, root, lock: Some("uv.lock"), member, requirements: None };
        }
        let has_project = project.pyproject.is_some();
        let is_poetry = project.tool("poetry").is_some();
        let found = [
            (has_project && files.has("uv.lock"), PythonInstaller::Uv, Some("uv.lock")),
            (has_project && files.has("poetry.lock"), PythonInstaller::Poetry, Some("poetry.lock")),
            (has_project && files.has("pdm.lock"), PythonInstaller::Pdm, Some("pdm.lock")),
            (files.has("Pipfile.lock") && project.pipfile.is_some(), PythonInstaller::Pipenv, Some("Pipfile.lock")),
            (project.requirements.is_some(), PythonInstaller::Requirements, project.requirements),
            (project.table().is_some(), PythonInstaller::Project, None),
            (is_poetry, PythonInstaller::Poetry, None),
            (project.pipfile.is_some(), PythonInstaller::Pipenv, None),
            (project.has_setup, PythonInstaller::Setup, None),
        ];
        found
            .into_iter()
            .find(|(there, ..)| *there)
            .map_or_else(|| own(PythonInstaller::None, None), |(_, kind, lock)| own(kind, lock))
    }

    pub(super) fn describe(&self, plan: &mut Plan) {
        let (name, is_locked) = match self.kind {
            PythonInstaller::Uv => ("uv.lock", true),
            PythonInstaller::Poetry => ("Poetry", self.lock.is_some()),
            PythonInstaller::Pdm => ("pdm.lock", true),
            PythonInstaller::Pipenv => ("Pipenv", self.lock.is_some()),
            PythonInstaller::Requirements => (self.requirements.unwrap_or("requirements.txt"), true),
            PythonInstaller::Project => ("pyproject.toml", false),
            PythonInstaller::Setup => ("setup.py", false),
            PythonInstaller::None => {
                plan.say("It has no packages to install.");
                return;
            }
        };
        plan.say(format!("Packages from {name} go into the virtual environment {ENVIRONMENT}."));
        if !is_locked {
            plan.say("No lock file, so each build takes the newest versions allowed. Commit one, such as uv.lock, to get the same versions every time.");
        }
    }

    /// Commands that make the environment; `adds` are packages that the start needs beside those of the app.
    pub(super) fn tasks(&self, project: &PythonProject, adds: &[&str]) -> Vec<PlanCommand> {
        let mut tasks = vec![PlanCommand::new(&["uv", "venv", "--relocatable", "--seed", ENVIRONMENT])];
        if self.kind != PythonInstaller::Pipenv {
            tasks = vec![PlanCommand::new(&["uv", "venv", "--relocatable", ENVIRONMENT])];
        }
        match self.kind {
            PythonInstaller::Uv => {
                let mut words = vec!["uv", "sync", "--locked", "--no-dev"];
                if let Some(member) = &self.member {
                    words.extend(["--package", member]);
                } else if is_workspace(&self.root) {
                    words.push("--all-packages");
                }
                tasks.push(PlanCommand::new(&words));
            }
            PythonInstaller::Project => tasks.push(PlanCommand::new(&["uv", "sync", "--no-dev"])),
            PythonInstaller::Poetry => {
                let mut words = vec!["uv", "tool", "run", "poetry", "install", "--only", "main", "--no-interaction"];
                if !self.is_package(project) {
                    words.push("--no-root");
                }
                tasks.push(PlanCommand::new(&words).with("POETRY_VIRTUALENVS_IN_PROJECT", "true"));
            }
            PythonInstaller::Pdm => {
                tasks.push(PlanCommand::new(&["uv", "tool", "run", "pdm", "sync", "--prod", "--no-editable"]))
            }
            PythonInstaller::Pipenv => {
                let verb: &[&str] = if self.lock.is_some() { &["sync"] } else { &["install", "--skip-lock"] };
                let words = [&["uv", "tool", "run", "pipenv"], verb].concat();
                tasks.push(PlanCommand::new(&words).with("PIPENV_VENV_IN_PROJECT", "1").with("PIPENV_NOSPIN", "1"));
            }
            PythonInstaller::Requirements => {
                let name = self.requirements.unwrap_or("requirements.txt");
                tasks.push(pip_install(&[SETUPTOOLS]));
                tasks.push(pip_install(&["-r", name]));
            }
            PythonInstaller::Setup => tasks.push(pip_install(&["."])),
            PythonInstaller::None => {}
        }
        if !adds.is_empty() {
            tasks.push(pip_install(adds));
        }
        let give = |task: PlanCommand| {
            task.with("UV_PYTHON_DOWNLOADS", "never").with("UV_LINK_MODE", "copy").with("VIRTUAL_ENV", ENVIRONMENT)
        };
        tasks.into_iter().map(give).collect()
    }

    /// Allows the reuse of the environment, where the tool brings one up to date as if it were new.
    pub(super) fn reuse(&self, tasks: &[PlanCommand]) -> Option<Reuse> {
        if !matches!(self.kind, PythonInstaller::Uv | PythonInstaller::Requirements) {
            return None;
        }
        let makes = |task: &&PlanCommand| task.command.get(1).is_some_and(|verb| verb == "venv");
        let commands = tasks.iter().filter(|task| !makes(task)).cloned().map(|mut task| {
            // `uv sync` does so anyway.
            if let Some(at) = task.command.iter().position(|word| word == "install") {
                task.command.insert(at + 1, "--upgrade".to_owned());
            }
            task
        });
        Some(Reuse { environment: Some(ENVIRONMENT.to_owned()), commands: commands.collect() })
    }

    /// True if Poetry would find the package that the project is.
    fn is_package(&self, project: &PythonProject) -> bool {
        let Some(table) = project.tool("poetry") else {
            return project.pyproject.as_ref().is_some_and(|file| file.build_system.is_some());
        };
        let is_off = table.get("package-mode").and_then(toml::Value::as_bool) == Some(false);
        let named =
            table.get("name").and_then(toml::Value::as_str).or(project.table().map(|table| table.name.as_str()));
        let folder = named.unwrap_or_default().replace('-', "_").to_lowercase();
        let there = |path: String| self.root.has_folder(&path) || self.root.has(&format!("{path}.py"));
        !is_off
            && (table.contains_key("packages")
                || (!folder.is_empty() && (there(folder.clone()) || there(format!("src/{folder}")))))
    }
}

/// Installs into the environment, whatever Python `UV_PYTHON` names.
fn pip_install(what: &[&str]) -> PlanCommand {
    PlanCommand::new(&[&["uv", "pip", "install", "--python", ENVIRONMENT], what].concat())
}

/// True for the root of a uv workspace.
fn is_workspace(folder: &Files) -> bool {
    if !folder.has("uv.lock") {
        return false;
    }
    let table: toml::Table = toml::from_str(&folder.search("pyproject.toml")).unwrap_or_default();
    table.get("tool").and_then(|tool| tool.get("uv")?.get("workspace")).is_some()
}
