//! Parts of pyproject.toml, requirements files and Pipfile that matter: what an app depends on, and what it is called.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::{Table, Value};

use crate::{Files, InspectError};

/// Requirements files in the order in which they are looked for.
const REQUIREMENTS: [&str; 5] = [
    "requirements.txt",
    "requirements/production.txt",
    "requirements/prod.txt",
    "requirements/base.txt",
    "requirements.in",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PyProject {
    pub(super) project: Option<ProjectTable>,
    pub(super) tool: Table,
    #[serde(rename = "build-system")]
    pub(super) build_system: Option<Table>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct ProjectTable {
    pub(super) name: String,
    dependencies: Vec<String>,
    pub(super) requires_python: Option<String>,
    pub(super) scripts: Table,
}

/// Python app by its files.
#[derive(Debug)]
pub(super) struct PythonProject {
    /// File that showed it.
    pub(super) file: &'static str,
    pub(super) pyproject: Option<PyProject>,
    /// Requirements file, if there is one.
    pub(super) requirements: Option<&'static str>,
    pub(super) pipfile: Option<Table>,
    pub(super) has_setup: bool,
    /// Lower-case names of packages, with the extras of those that have some, as in `fastapi[standard]`.
    dependencies: Vec<String>,
}

impl PythonProject {
    /// `None`: nothing says that it is Python.
    pub(super) fn read(files: &Files, shown: &str) -> Result<Option<Self>, InspectError> {
        let pyproject = files.text("pyproject.toml")?.map(|text| parsed(&text, "pyproject.toml", shown)).transpose()?;
        let pipfile = files.text("Pipfile")?.map(|text| parsed(&text, "Pipfile", shown)).transpose()?;
        let requirements = files.first(&REQUIREMENTS);
        let has_setup = files.has("setup.py");
        let program = files.first(&["manage.py", "main.py", "app.py", "server.py", "wsgi.py", "asgi.py"]);
        let runtime = files.first(&[".python-version", "runtime.txt"]).filter(|_| program.is_some());
        let file = match () {
            () if pyproject.is_some() => "pyproject.toml",
            () if requirements.is_some() => requirements.unwrap_or_default(),
            () if pipfile.is_some() => "Pipfile",
            () if has_setup => "setup.py",
            // Python alone, without a package to install.
            () => match runtime.or(program) {
                Some(_) if files.first(&["package.json", "index.html", "Dockerfile"]).is_some() => return Ok(None),
                Some(file) => file,
                None => return Ok(None),
            },
        };
        let mut project = Self { file, pyproject, requirements, pipfile, has_setup, dependencies: Vec::new() };
        project.dependencies = project.read_dependencies(files);
        Ok(Some(project))
    }

    pub(super) fn table(&self) -> Option<&ProjectTable> {
        self.pyproject.as_ref()?.project.as_ref()
    }

    /// Table `tool.<name>` of pyproject.toml.
    pub(super) fn tool(&self, name: &str) -> Option<&Table> {
        self.pyproject.as_ref()?.tool.get(name)?.as_table()
    }

    pub(super) fn depends_on(&self, name: &str) -> bool {
        self.dependencies.iter().any(|known| known.split('[').next() == Some(name))
    }

    /// True if it asks for one of a package's extras.
    pub(super) fn has_extra(&self, name: &str, extras: &[&str]) -> bool {
        let mut extra = self.dependencies.iter().filter_map(|known| known.strip_prefix(name)?.strip_prefix('['));
        extra.any(|list| list.trim_end_matches(']').split(',').any(|one| extras.contains(&one.trim())))
    }

    fn read_dependencies(&self, files: &Files) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        if let Some(name) = self.requirements {
            requirement_lines(files, name, &mut BTreeSet::new(), &mut all);
        }
        all.extend(self.table().into_iter().flat_map(|table| table.dependencies.iter().cloned()));
        let poetry = self.tool("poetry").and_then(|table| table.get("dependencies")).and_then(Value::as_table);
        let pipfile = self.pipfile.as_ref().and_then(|table| table.get("packages")).and_then(Value::as_table);
        for (name, value) in poetry.into_iter().chain(pipfile).flatten() {
            let extras = value.get("extras").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let extras: Vec<&str> = extras.collect();
            all.push(if extras.is_empty() { name.clone() } else { format!("{name}[{}]", extras.join(",")) });
        }
        for lock in ["uv.lock", "poetry.lock", "pdm.lock"] {
            let text = files.search(lock);
            all.extend(
                text.lines().filter_map(|line| Some(line.strip_prefix("name = \"")?.strip_suffix('"')?.to_owned())),
            );
        }
        if self.has_setup && all.is_empty() {
            let text = [files.search("setup.py"), files.search("setup.cfg")].concat();
            let known = ["flask", "django", "fastapi", "gunicorn", "uvicorn", "starlette", "gevent"];
            let text = text.to_lowercase();
            all.extend(known.into_iter().filter(|name| text.contains(name)).map(str::to_owned));
        }
        all.iter().map(|text| normalized(text)).filter(|name| !name.is_empty()).collect()
    }
}

/// Files of requirements that are looked at.
const REQUIREMENTS_MAX: usize = 20;

/// Lines of a requirements file and of those it includes, each once.
fn requirement_lines(files: &Files, name: &str, seen: &mut BTreeSet<String>, all: &mut Vec<String>) {
    if seen.len() >= REQUIREMENTS_MAX || !seen.insert(name.to_owned()) {
        return;
    }
    for line in files.search(name).lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let included = line.strip_prefix("-r ").or_else(|| line.strip_prefix("--requirement "));
        match included {
            Some(other) => {
                let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let other = other.trim();
                let path = if folder.is_empty() { other.to_owned() } else { format!("{folder}/{other}") };
                requirement_lines(files, &path, seen, all);
            }
            None if !line.starts_with(['#', '-']) => all.push(line.to_owned()),
            _ => {}
        }
    }
}

/// `FastAPI[standard]>=0.1` to `fastapi[standard]`.
fn normalized(requirement: &str) -> String {
    let compact: String = requirement.chars().filter(|char| !char.is_whitespace()).collect();
    let is_name = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let end = compact.find(|char| !is_name(char)).unwrap_or(compact.len());
    let name = compact[..end].to_lowercase().replace(['_', '.'], "-");
    let extras = compact[end..].strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(extras, _)| extras);
    extras.map_or(name.clone(), |extras| format!("{name}[{}]", extras.to_lowercase()))
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str, name: &str, shown: &str) -> Result<T, InspectError> {
    toml::from_str(text).map_err(|error| {
        InspectError::NotDetected(format!(
            "The {name} in {shown} can't be used: {}. Correct it, then deploy again.",
            error.message()
        ))
    })
}
