//! Docusaurus (docusaurus.io/docs): a static site in `build`.

use super::{FrameworkOutput, FrameworkProject, Preset};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    project.package.has("@docusaurus/core").then(|| Preset {
        name: "Docusaurus",
        dependency: "@docusaurus/core",
        build: &["docusaurus", "build"],
        result: FrameworkOutput::site(&["build"]),
        ..Preset::default()
    })
}
