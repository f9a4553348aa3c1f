//! Plan as JSON, for `fairlead-agent inspect` and the pages that show it (docs/builds.md).

use serde_json::{Value, json};

use crate::{BuildMethod, InspectError, Plan, PlanCommand, display_command};

/// Plan, or the reason why there is none, with commands as people type them.
pub fn report(result: &Result<BuildMethod, InspectError>) -> Value {
    match result {
        Ok(BuildMethod::Native(plan)) => fields(plan, "native", None),
        Ok(BuildMethod::Dockerfile { file, plan }) => fields(plan, "dockerfile", Some(file)),
        Err(error) => {
            let folders = error.app_folders();
            json!({ "error": { "code": error.code(), "message": error.to_string(), "folders": folders } })
        }
    }
}

fn fields(plan: &Plan, builder: &str, dockerfile: Option<&String>) -> Value {
    let lines = |tasks: &[PlanCommand]| tasks.iter().map(|task| display_command(&task.command)).collect::<Vec<_>>();
    let tools = plan.tools.iter().map(|want| {
        let version = want.version.as_ref();
        json!({
            "tool": want.tool.name(),
            "range": version.map(|version| &version.range),
            "source": version.map(|version| &version.source),
        })
    });
    let workers = plan
        .workers
        .iter()
        .map(|worker| json!({ "name": worker.name, "command": display_command(&worker.command), "instances": worker.instances }));
    json!({
        "builder": builder,
        "dockerfile": dockerfile,
        "framework": plan.framework,
        "runtime": plan.runtime,
        "workspace": plan.workspace,
        "folder": plan.folder,
        "tools": tools.collect::<Vec<_>>(),
        "installCommands": lines(&plan.install),
        "buildCommands": lines(&plan.build),
        "startCommand": display_command(&plan.start),
        "outputFolders": plan.output,
        "fallback": if plan.output.is_empty() { &[][..] } else { plan.fallback.pages() },
        "workers": workers.collect::<Vec<_>>(),
        "releaseCommand": display_command(&plan.release_command),
        "healthPath": plan.health_path,
        "listensOnSocket": plan.listens_on_socket,
        "expectedVariables": plan.expected_variables,
        "sentences": plan.sentences,
    })
}
