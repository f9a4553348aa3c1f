//! Apps in Python: a virtual environment at `.venv` in the artifact, made by uv or by the app's own tool.

mod django;
mod install;
mod module;
mod project;
mod server;
mod version;

use crate::{InspectError, Look, Plan, Tool, Want};
use project::Project;

/// Folder of the virtual environment, below the app's folder.
pub(crate) const ENVIRONMENT: &str = ".venv";

pub(crate) fn plan(look: Look<'_>) -> Result<Option<Plan>, InspectError> {
    let Some(project) = Project::read(look.app, look.shown)? else { return Ok(None) };
    let mut plan = Plan { framework: "Python".to_owned(), runtime: "python".to_owned(), ..Plan::default() };
    let installer = install::Installer::of(look.app, &project);
    plan.tools.push(Want::of(Tool::Python, version::request(&[look.app, &installer.root], &project)?));
    plan.tools.push(Want::any(Tool::Uv));
    plan.runs_with.push(Tool::Python);
    plan.lock_file = installer.lock.map(str::to_owned);
    if installer.root.path() != look.app.path() {
        plan.workspace = Some(installer.root.path().to_owned());
        let folder = look.app.path().strip_prefix(installer.root.path()).unwrap_or_default();
        plan.folder = folder.trim_start_matches('/').to_owned();
    }
    let server = match look.asked.start {
        // A command that names a usual server needs it installed, as a detected one does.
        Some(start) => {
            server::Server { build: server::build_steps(look, &project), ..server::Server::asked(start, &project) }
        }
        None => server::detect(look, &project)?,
    };
    plan.framework = server.framework.to_owned();
    plan.say(format!("Found {} in {} ({}).", server.found, look.shown, project.file));
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
