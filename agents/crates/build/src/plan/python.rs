//! Apps in Python: dependencies from uv.lock, pyproject.toml or requirements.txt into a folder of the artifact, by uv.
//! No virtual environment: those name the build's folder, which is gone when the app starts.

use serde::Deserialize;

use super::{Asked, Files, OWN_FOLDER, Plan, Task, Tool, Want, strings};
use crate::BuildError;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Project {
    project: Option<Table>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Table {
    dependencies: Vec<String>,
    requires_python: Option<String>,
}

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let project = files.text("pyproject.toml")?;
    let requirements = files.text("requirements.txt")?;
    if project.is_none() && requirements.is_none() {
        return Ok(None);
    }
    let parsed: Project = toml::from_str(project.as_deref().unwrap_or_default()).map_err(|error| {
        BuildError::NotDetected(format!(
            "The pyproject.toml in {shown} can't be used: {}. Correct it, then deploy again.",
            error.message()
        ))
    })?;
    let table = parsed.project;
    let mut sentences = vec![format!("Found a Python app in {shown}.")];
    let python = files.line(".python-version")?;
    // `3.12.4` is too narrow for what a server has: a Python is one of its minor version.
    let python = python.map(|version| version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."));
    let packages = format!("{OWN_FOLDER}/packages");
    let exported = format!("{OWN_FOLDER}/requirements.txt");
    let locked = project.is_some() && files.has("uv.lock");
    let from = match (locked, &requirements, &table) {
        (true, _, _) => Some(exported.as_str()),
        (false, Some(_), _) => Some("requirements.txt"),
        (false, None, Some(table)) if !table.dependencies.is_empty() => Some("pyproject.toml"),
        _ => None,
    };
    let give = |task: Task| {
        task.with("UV_PYTHON_DOWNLOADS", "never").with("UV_LINK_MODE", "copy").with("UV_NATIVE_TLS", "true")
    };
    let mut install = Vec::new();
    if locked {
        let export = ["uv", "export", "--locked", "--no-dev", "--no-emit-workspace", "--quiet", "-o", &exported];
        install.push(
            give(Task::new(&export)).advised(
                "Often uv.lock and pyproject.toml do not match: run `uv lock`, commit both, then deploy again.",
            ),
        );
    }
    if let Some(from) = from {
        let mut words = vec!["uv", "pip", "install", "--target", &packages, "-r", from];
        if let Some(python) = &python {
            words.extend(["--python", python]);
        }
        install.push(give(Task::new(&words)).advised(
            "The last lines of the log say why: often a package has no build for this server's Python, or a version is not there.",
        ));
    }
    if from.is_some() && !locked {
        sentences.push("There is no uv.lock: the newest versions allowed are taken. Commit a lock file to get the same ones every time.".to_owned());
    }
    let program = python.as_ref().map_or("python3".to_owned(), |version| format!("python{version}"));
    let names = dependencies(requirements.as_deref(), table.as_ref(), &files.text("uv.lock")?.unwrap_or_default());
    let start = match asked.start {
        Some(start) => start.to_vec(),
        None => start(files, &program, &names).ok_or_else(|| {
            BuildError::NotDetected(format!(
                "It is not clear how to start the Python app in {shown}: there is no main.py, app.py or server.py, nor a manage.py with gunicorn among the dependencies. Add one, or `run.start` in fairlead.toml."
            ))
        })?,
    };
    if let Some(python) = table.and_then(|table| table.requires_python).filter(|_| python.is_none()) {
        sentences.push(format!("It asks for Python {python}; the server's own `python3` runs it."));
    }
    // `env` because a start command has no variables of its own.
    let search = format!("PYTHONPATH={packages}:.:src");
    let start = [strings(&["env", &search, "PYTHONUNBUFFERED=1"]), start].concat();
    Ok(Some(Plan {
        runtime: "python".to_owned(),
        tools: if install.is_empty() { Vec::new() } else { vec![Want::any(Tool::Uv)] },
        install,
        start,
        lock_file: [(locked, "uv.lock"), (requirements.is_some(), "requirements.txt")]
            .iter()
            .find_map(|(there, name)| there.then(|| (*name).to_owned())),
        sentences,
        ..Plan::default()
    }))
}

/// Lower-case names of what it depends on.
fn dependencies(requirements: Option<&str>, table: Option<&Table>, lock: &str) -> Vec<String> {
    let direct = requirements.into_iter().flat_map(str::lines).map(str::to_owned);
    let declared = table.into_iter().flat_map(|table| table.dependencies.iter().cloned());
    let locked = lock.lines().filter_map(|line| Some(line.strip_prefix("name = \"")?.strip_suffix('"')?.to_owned()));
    let name = |text: String| {
        let end = text.find(|char: char| !(char.is_ascii_alphanumeric() || "-_.".contains(char))).unwrap_or(text.len());
        text[..end].to_lowercase().replace('_', "-")
    };
    direct.chain(declared).chain(locked).map(name).filter(|name| !name.is_empty()).collect()
}

fn start(files: &Files, python: &str, names: &[String]) -> Option<Vec<String>> {
    let has = |name: &str| names.iter().any(|known| known == name);
    let module = |module: &[&str]| Some([strings(&[python, "-m"]), strings(module)].concat());
    let main = ["main.py", "app.py", "server.py", "wsgi.py", "asgi.py"].into_iter().find(|name| files.has(name));
    if files.has("manage.py") {
        let wsgi = files.names("").into_iter().find(|name| files.has(&format!("{name}/wsgi.py")));
        return module(&["gunicorn", &format!("{}.wsgi", wsgi.filter(|_| has("gunicorn"))?)]);
    }
    let main = main?;
    let text = files.text(main).ok().flatten().unwrap_or_default();
    // It serves itself when it says what to do as a program.
    let serves_itself = text.contains("__main__") || !(text.contains("app =") || text.contains("app:"));
    let name = main.trim_end_matches(".py");
    if serves_itself {
        return Some(strings(&[python, main]));
    }
    if has("uvicorn") && (has("fastapi") || has("starlette")) {
        // Uvicorn takes a port as an argument only, and no shell is there to put one in.
        let program =
            format!("import os, uvicorn; uvicorn.run('{name}:app', host='127.0.0.1', port=int(os.environ['PORT']))");
        return Some(strings(&[python, "-c", &program]));
    }
    // Gunicorn reads PORT itself.
    if has("gunicorn") { module(&["gunicorn", &format!("{name}:app")]) } else { Some(strings(&[python, main])) }
}
