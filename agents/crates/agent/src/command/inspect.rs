//! `inspect`: prints the build and start plan of a folder.

use std::path::Component;
use std::process::ExitCode;

use fairlead_inspect::{Files, OwnedPlanRequest, PlanRequest, report};
use fairlead_model::{BuildOverrides, Builder};

use super::CommandResult;
use crate::cli::InspectArgs;

/// Prints the plan; exit code 1 if there is none.
pub(crate) fn inspect(args: InspectArgs) -> CommandResult {
    if let Some(request) = args.request {
        let request: OwnedPlanRequest = serde_json::from_str(&request)?;
        print!("{}", request.answer(args.source)?);
        return Ok(ExitCode::SUCCESS);
    }
    let folder = std::path::Path::new(&args.root_folder);
    if !folder.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err("The root folder is not a path inside the repository.".into());
    }
    let source = args.source.canonicalize()?;
    if !source.join(folder).is_dir() {
        return Err(format!("There is no folder `{}` in the repository.", args.root_folder).into());
    }
    let shown = match args.root_folder.as_str() {
        "" | "." => "the repository".to_owned(),
        folder => format!("the folder {folder} of the repository"),
    };
    let plan_request = PlanRequest {
        builder: Builder::Detected,
        overrides: &BuildOverrides::default(),
        engine: args.engine,
        root_folder: &args.root_folder,
        shown: &shown,
    };
    let result = fairlead_inspect::inspect(&Files::new(source), plan_request);
    println!("{:#}", report(&result));
    Ok(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
