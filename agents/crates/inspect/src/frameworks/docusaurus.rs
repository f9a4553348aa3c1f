//! Docusaurus (docusaurus.io/docs): a static site in `build`.

use super::{Outcome, Preset, Project};

pub(super) fn detect(project: &Project<'_>) -> Option<Preset> {
    project.package.has("@docusaurus/core").then(|| Preset {
        name: "Docusaurus",
        dependency: "@docusaurus/core",
        build: &["docusaurus", "build"],
        result: Outcome::site(&["build"]),
        ..Preset::default()
    })
}
