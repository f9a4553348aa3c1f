//! Apps in Python: a virtual environment at `.venv` in the artifact, made by uv or by the app's own tool.

mod django;
mod install;
mod module;
mod project;
mod server;
mod version;

use crate::{AppSource, InspectError, Plan, Tool, Want};
use project::PythonProject;

/// Folder of the virtual environment, below the app's folder.
pub(crate) const ENVIRONMENT: &str = ".venv";

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let Some(project) = PythonProject::read(app_source.app, app_source.shown)? else { return Ok(None) };
    let mut plan = Plan { framework: "Python".to_owned(), runtime: "python".to_owned(), ..Plan::default() };
    let installer = install::Installer::of(app_source.app, &project);
    plan.tools.push(Want::of(Tool::Python, version::request(&[app_source.app, &installer.root], &project)?));
    plan.tools.push(Want::any(Tool::Uv));
    plan.runs_with.push(Tool::Python);
    plan.lock_file = installer.lock.map(str::to_owned);
    if installer.root.path() != app_source.app.path() {
        plan.workspace = Some(installer.root.path().to_owned());
        let folder = app_source.app.path().strip_prefix(installer.root.path()).unwrap_or_default();
        plan.folder = folder.trim_start_matches('/').to_owned();
    }
    let server = match app_source.asked.start {
        // A command that names a usual server needs it installed, as a detected one does.
        Some(start) => server::PythonServer {
            build: server::build_steps(app_source, &project),
            ..server::PythonServer::asked(start, &project)
        },
        None => server::detect(app_source, &project)?,
    };
    plan.framework = server.framework.to_owned();
    plan.say(format!("Found {} in {} ({}).", server.found, app_source.shown, project.file));
    installer.describe(&mut plan);
    plan.install = installer.tasks(&project, &server.adds);
    plan.reuse = installer.reuse(&plan.install);
    plan.build = server.build;
    plan.start = server.start;
    plan.sentences.extend(server.remarks);
    for (name, value) in [("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")] {
        plan.environment.insert(name.to_owned(), value.to_owned());
    }
    Ok(Some(plan))
}
