//! Folder of files to serve as they are. Tried last: other apps may have an index.html too.

use crate::{AppSource, InspectError, Plan, SITE_COMMAND, strings};

const CANDIDATES: [&str; 7] = [".", "public", "dist", "site", "www", "docs", "_site"];

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let found = CANDIDATES.into_iter().find(|folder| app_source.app.has(&index_of(folder)));
    let Some(folder) = app_source.asked.output.or(found) else { return Ok(None) };
    // A PHP app has an index.html now and then; a start command is for something that runs.
    if app_source.asked.start.is_some() {
        return Ok(Some(Plan {
            framework: "Custom start command".to_owned(),
            start: app_source.asked.start.unwrap_or_default().to_vec(),
            sentences: vec![format!("Found files and a start command in {}.", app_source.shown)],
            ..Plan::default()
        }));
    }
    let mut plan = serving("Static site", vec![folder.to_owned()]);
    plan.say(format!("Found a static site in {}.", app_source.shown));
    Ok(Some(plan))
}

/// Plan that serves the first of these folders that has an index.html.
pub(crate) fn serving(framework: &str, output: Vec<String>) -> Plan {
    Plan {
        framework: framework.to_owned(),
        runtime: "static".to_owned(),
        start: strings(&SITE_COMMAND),
        output,
        ..Plan::default()
    }
}

fn index_of(folder: &str) -> String {
    if folder == "." { "index.html".to_owned() } else { format!("{folder}/index.html") }
}
