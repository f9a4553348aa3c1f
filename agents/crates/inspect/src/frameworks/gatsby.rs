//! Gatsby (gatsbyjs.com/docs): a static site in `public`.

use super::{FrameworkOutput, FrameworkProject, Preset};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    project.package.has("gatsby").then(|| Preset {
        name: "Gatsby",
        dependency: "gatsby",
        build: &["gatsby", "build"],
        build_environment: &[("GATSBY_TELEMETRY_DISABLED", "1")],
        result: FrameworkOutput::site(&["public"]),
        ..Preset::default()
    })
}
