//! Web frameworks of Python and the servers that run them in production.

use super::project::PythonProject;
use super::{django, module};
use crate::{AppSource, Files, InspectError, PlanCommand, command_line, strings};

/// Start of a Python app.
#[derive(Debug, Default)]
pub(super) struct PythonServer {
    /// Name that users see.
    pub(super) framework: &'static str,
    /// Finding, as in `a FastAPI app`.
    pub(super) found: String,
    pub(super) build: Vec<PlanCommand>,
    pub(super) start: Vec<String>,
    /// Packages that the start needs beside those of the app.
    pub(super) adds: Vec<&'static str>,
    pub(super) remarks: Vec<String>,
}

/// Servers that a start command may name without the app depending on them.
const SERVERS: [&str; 7] = ["gunicorn", "uvicorn", "hypercorn", "daphne", "waitress", "granian", "flask"];
/// Scripts that run by themselves.
const PROGRAMS: [&str; 9] =
    ["main.py", "app.py", "server.py", "run.py", "bot.py", "index.py", "hello.py", "wsgi.py", "asgi.py"];

impl PythonServer {
    /// Start command of the settings; a server that it names is installed if the app does not depend on it.
    pub(super) fn asked(start: &[String], project: &PythonProject) -> Self {
        let text = command_line::display_command(start);
        let names: Vec<&str> =
            text.split(|char: char| !(char.is_ascii_alphanumeric() || "-_".contains(char))).collect();
        let adds = SERVERS.into_iter().filter(|name| names.contains(name) && !project.depends_on(name)).collect();
        Self { framework: "Python", found: "a Python app".to_owned(), start: start.to_vec(), adds, ..Self::default() }
    }
}

/// Build steps of the framework, which a start command of the settings leaves.
pub(super) fn build_steps(app_source: AppSource<'_>, project: &PythonProject) -> Vec<PlanCommand> {
    if app_source.app.has("manage.py") { django::server(app_source, project).build } else { Vec::new() }
}

/// Finds the framework and how it starts.
pub(super) fn detect(app_source: AppSource<'_>, project: &PythonProject) -> Result<PythonServer, InspectError> {
    let files = app_source.app;
    if files.has("manage.py") && (project.depends_on("django") || files.search("manage.py").contains("django")) {
        return Ok(django::server(app_source, project));
    }
    let known = asgi(files, project).or_else(|| wsgi(files, project)).or_else(|| tools(files, project));
    if let Some(server) = known {
        return Ok(server);
    }
    if let Some(name) =
        project.table().and_then(|table| table.scripts.keys().next()).filter(|_| files.first(&PROGRAMS).is_none())
    {
        return Ok(PythonServer {
            framework: "Python",
            found: format!("a Python app with the script `{name}`"),
            start: strings(&[name]),
            ..PythonServer::default()
        });
    }
    let found = files.first(&PROGRAMS).map(str::to_owned).or_else(|| {
        ["src/main.py", "src/app.py", "app/main.py"].into_iter().find(|name| files.has(name)).map(str::to_owned)
    });
    let Some(file) = found else {
        return Err(InspectError::NotDetected(format!(
            "It is not clear how to start the Python app in {}: Fairlead looks for Django's manage.py, for an object of FastAPI, Flask or another framework, and for main.py, app.py or server.py. Add one, or set a start command in the settings of the app.",
            app_source.shown
        )));
    };
    Ok(PythonServer {
        framework: "Python",
        found: "a Python app".to_owned(),
        start: strings(&["python", &file]),
        ..PythonServer::default()
    })
}

/// Frameworks with an asynchronous interface, run by uvicorn.
fn asgi(files: &Files, project: &PythonProject) -> Option<PythonServer> {
    const KNOWN: [(&str, &str, &str); 6] = [
        ("fastapi", "FastAPI", "FastAPI"),
        ("litestar", "Litestar", "Litestar"),
        ("quart", "Quart", "Quart"),
        ("starlette", "Starlette", "Starlette"),
        ("blacksheep", "BlackSheep", "Application"),
        ("sanic", "Sanic", "Sanic"),
    ];
    let (package, name, class) = KNOWN.into_iter().find(|(package, ..)| project.depends_on(package))?;
    let entrypoint = project.tool("fastapi").and_then(|table| table.get("entrypoint")).and_then(toml::Value::as_str);
    let (target, folder, is_factory) = match entrypoint.and_then(|text| text.split_once(':')) {
        Some((module, object)) if package == "fastapi" => (format!("{module}:{object}"), String::new(), false),
        _ => {
            let found = module::find(files, &[class], &["create_app", "get_app", "make_app", "get_application"])?;
            let (folder, module) = found.module(files);
            (format!("{module}:{}", found.object), folder, found.is_factory)
        }
    };
    if package == "sanic" {
        let line = format!("sanic {target} --host 0.0.0.0 --port \"$PORT\" --single-process");
        return Some(PythonServer {
            framework: name,
            found: format!("a {name} app, {target}"),
            start: command_line::command(&line)?,
            ..PythonServer::default()
        });
    }
    let has_uvicorn = project.depends_on("uvicorn")
        || project.has_extra("fastapi", &["standard", "all"])
        || project.depends_on("fastapi-cli");
    let mut line = format!("uvicorn {target} --host 0.0.0.0 --port \"$PORT\" --proxy-headers");
    if !folder.is_empty() {
        line.push_str(&format!(" --app-dir {folder}"));
    }
    if is_factory {
        line.push_str(" --factory");
    }
    let adds = if has_uvicorn { Vec::new() } else { vec!["uvicorn"] };
    Some(PythonServer {
        framework: name,
        found: format!("a {name} app, {target}"),
        start: command_line::command(&line)?,
        adds,
        ..PythonServer::default()
    })
}

/// Frameworks with a synchronous interface, run by gunicorn, which reads PORT itself.
fn wsgi(files: &Files, project: &PythonProject) -> Option<PythonServer> {
    const KNOWN: [(&str, &str, &str); 5] = [
        ("dash", "Dash", "Dash"),
        ("flask", "Flask", "Flask"),
        ("bottle", "Bottle", "Bottle"),
        ("falcon", "Falcon", "App"),
        ("pyramid", "Pyramid", "Configurator"),
    ];
    let (package, name, class) = KNOWN.into_iter().find(|(package, ..)| project.depends_on(package))?;
    if package == "pyramid" {
        return None;
    }
    let found = module::find(files, &[class, "APIFlask", "OpenAPI"], &["create_app", "make_app", "get_app"])?;
    let (folder, module) = found.module(files);
    // Dash serves through the Flask object that it makes.
    let object = match (package, found.is_factory) {
        ("dash", false) => format!("{}.server", found.object),
        (_, true) => format!("{}()", found.object),
        _ => found.object.clone(),
    };
    let mut words = strings(&["gunicorn"]);
    if !folder.is_empty() {
        words.extend(strings(&["--chdir", &folder]));
    }
    words.push(format!("{module}:{object}"));
    let adds = if project.depends_on("gunicorn") { Vec::new() } else { vec!["gunicorn"] };
    Some(PythonServer {
        framework: name,
        found: format!("a {name} app, {module}:{object}"),
        start: words,
        adds,
        ..PythonServer::default()
    })
}

/// Tools that bring a server of their own.
fn tools(files: &Files, project: &PythonProject) -> Option<PythonServer> {
    let script = || {
        let names = [
            "streamlit_app.py",
            "app.py",
            "main.py",
            "Home.py",
            "Hello.py",
            "src/app.py",
            "src/main.py",
            "src/streamlit_app.py",
        ];
        files.first(&names).map(str::to_owned)
    };
    let (framework, line) = if project.depends_on("streamlit") {
        (
            "Streamlit",
            format!(
                "streamlit run {} --server.address 0.0.0.0 --server.port \"$PORT\" --server.headless true",
                script()?
            ),
        )
    } else if project.depends_on("chainlit") {
        ("Chainlit", format!("chainlit run {} --host 0.0.0.0 --port \"$PORT\" --headless", script()?))
    } else if project.depends_on("gradio") {
        ("Gradio", format!("GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=\"$PORT\" python {}", script()?))
    } else if project.depends_on("panel") && script().is_some_and(|file| files.search(&file).contains(".servable(")) {
        ("Panel", format!("panel serve {} --address 0.0.0.0 --port \"$PORT\" --allow-websocket-origin='*'", script()?))
    } else {
        return None;
    };
    Some(PythonServer {
        framework,
        found: format!("a {framework} app"),
        start: command_line::command(&line)?,
        ..PythonServer::default()
    })
}
