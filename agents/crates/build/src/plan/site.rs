//! A folder of files to serve as they are. The last builder that is asked: everything else may have an index.html too.

use super::{Asked, Files, Plan, SITE_COMMAND, strings};
use crate::BuildError;

pub(super) fn plan(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Option<Plan>, BuildError> {
    let candidates = [".", "public", "dist", "site", "www", "docs"];
    let found = candidates.into_iter().find(|folder| files.has(&index_of(folder)));
    let Some(folder) = asked.output.or(found) else { return Ok(None) };
    Ok(Some(serving(format!("Found a static site in {shown}."), vec![folder.to_owned()])))
}

/// A plan that ends with serving the first of these folders that has an index.html.
pub(super) fn serving(sentence: String, output: Vec<String>) -> Plan {
    Plan {
        runtime: "static".to_owned(),
        start: strings(&SITE_COMMAND),
        output,
        sentences: vec![sentence],
        ..Plan::default()
    }
}

fn index_of(folder: &str) -> String {
    if folder == "." { "index.html".to_owned() } else { format!("{folder}/index.html") }
}
