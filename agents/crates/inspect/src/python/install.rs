//! Installation of Python packages into `.venv`: by the tool that wrote the lock file, else by uv.

use super::ENVIRONMENT;
use super::project::Project;
use crate::{Files, Plan, Reuse, Task};

/// Older packages import its `pkg_resources` without naming it, because environments used to have it. Requirements may take a
/// newer one.
const SETUPTOOLS: &str = "setuptools<81";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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
    kind: Kind,
    /// Folder of the lock file: the app's or its workspace's.
    pub(super) root: Files,
    pub(super) lock: Option<&'static str>,
    /// Name of the package in a workspace.
    member: Option<String>,
    requirements: Option<&'static str>,
}

impl Installer {
    pub(super) fn of(files: &Files, project: &Project) -> Self {
        let root = files.above().find(is_workspace).filter(|_| !files.has("uv.lock"));
        let own =
            |kind, lock| Self { kind, root: files.clone(), lock, member: None, requirements: project.requirements };
        if let Some(root) = root.filter(|_| project.table().is_some()) {
            let member = project
                .table()
                .map(|table| table.name.clone())
                .filter(|name| !name.is_empty() && !name.starts_with('-'));
            return Self { kind: Kind::Uv, root, lock: Some("uv.lock"), member, requirements: None };
        }
        let has_project = project.pyproject.is_some();
        let is_poetry = project.tool("poetry").is_some();
        let found = [
            (has_project && files.has("uv.lock"), Kind::Uv, Some("uv.lock")),
            (has_project && files.has("poetry.lock"), Kind::Poetry, Some("poetry.lock")),
            (has_project && files.has("pdm.lock"), Kind::Pdm, Some("pdm.lock")),
            (files.has("Pipfile.lock") && project.pipfile.is_some(), Kind::Pipenv, Some("Pipfile.lock")),
            (project.requirements.is_some(), Kind::Requirements, project.requirements),
            (project.table().is_some(), Kind::Project, None),
            (is_poetry, Kind::Poetry, None),
            (project.pipfile.is_some(), Kind::Pipenv, None),
            (project.has_setup, Kind::Setup, None),
        ];
        found
            .into_iter()
            .find(|(there, ..)| *there)
            .map_or_else(|| own(Kind::None, None), |(_, kind, lock)| own(kind, lock))
    }

    pub(super) fn describe(&self, plan: &mut Plan) {
        let (name, is_locked) = match self.kind {
            Kind::Uv => ("uv.lock", true),
            Kind::Poetry => ("Poetry", self.lock.is_some()),
            Kind::Pdm => ("pdm.lock", true),
            Kind::Pipenv => ("Pipenv", self.lock.is_some()),
            Kind::Requirements => (self.requirements.unwrap_or("requirements.txt"), true),
            Kind::Project => ("pyproject.toml", false),
            Kind::Setup => ("setup.py", false),
            Kind::None => {
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
    pub(super) fn tasks(&self, project: &Project, adds: &[&str]) -> Vec<Task> {
        let mut tasks = vec![Task::new(&["uv", "venv", "--relocatable", "--seed", ENVIRONMENT])];
        if self.kind != Kind::Pipenv {
            tasks = vec![Task::new(&["uv", "venv", "--relocatable", ENVIRONMENT])];
        }
        match self.kind {
            Kind::Uv => {
                let mut words = vec!["uv", "sync", "--locked", "--no-dev"];
                if let Some(member) = &self.member {
                    words.extend(["--package", member]);
                } else if is_workspace(&self.root) {
                    words.push("--all-packages");
                }
                tasks.push(Task::new(&words));
            }
            Kind::Project => tasks.push(Task::new(&["uv", "sync", "--no-dev"])),
            Kind::Poetry => {
                let mut words = vec!["uv", "tool", "run", "poetry", "install", "--only", "main", "--no-interaction"];
                if !self.is_package(project) {
                    words.push("--no-root");
                }
                tasks.push(Task::new(&words).with("POETRY_VIRTUALENVS_IN_PROJECT", "true"));
            }
            Kind::Pdm => tasks.push(Task::new(&["uv", "tool", "run", "pdm", "sync", "--prod", "--no-editable"])),
            Kind::Pipenv => {
                let verb: &[&str] = if self.lock.is_some() { &["sync"] } else { &["install", "--skip-lock"] };
                let words = [&["uv", "tool", "run", "pipenv"], verb].concat();
                tasks.push(Task::new(&words).with("PIPENV_VENV_IN_PROJECT", "1").with("PIPENV_NOSPIN", "1"));
            }
            Kind::Requirements => {
                let name = self.requirements.unwrap_or("requirements.txt");
                tasks.push(pip_install(&[SETUPTOOLS]));
                tasks.push(pip_install(&["-r", name]));
            }
            Kind::Setup => tasks.push(pip_install(&["."])),
            Kind::None => {}
        }
        if !adds.is_empty() {
            tasks.push(pip_install(adds));
        }
        let give = |task: Task| {
            task.with("UV_PYTHON_DOWNLOADS", "never").with("UV_LINK_MODE", "copy").with("VIRTUAL_ENV", ENVIRONMENT)
        };
        tasks.into_iter().map(give).collect()
    }

    /// Allows the reuse of the environment, where the tool brings one up to date as if it were new.
    pub(super) fn reuse(&self, tasks: &[Task]) -> Option<Reuse> {
        if !matches!(self.kind, Kind::Uv | Kind::Requirements) {
            return None;
        }
        let makes = |task: &&Task| task.command.get(1).is_some_and(|verb| verb == "venv");
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
    fn is_package(&self, project: &Project) -> bool {
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
fn pip_install(what: &[&str]) -> Task {
    Task::new(&[&["uv", "pip", "install", "--python", ENVIRONMENT], what].concat())
}

/// True for the root of a uv workspace.
fn is_workspace(folder: &Files) -> bool {
    if !folder.has("uv.lock") {
        return false;
    }
    let table: toml::Table = toml::from_str(&folder.search("pyproject.toml")).unwrap_or_default();
    table.get("tool").and_then(|tool| tool.get("uv")?.get("workspace")).is_some()
}
