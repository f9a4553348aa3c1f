//! Gatsby (gatsbyjs.com/docs): a static site in `public`.

use super::{Outcome, Preset, Project};

pub(super) fn detect(project: &Project<'_>) -> Option<Preset> {
    project.package.has("gatsby").then(|| Preset {
        name: "Gatsby",
        dependency: "gatsby",
        build: &["gatsby", "build"],
        build_environment: &[("GATSBY_TELEMETRY_DISABLED", "1")],
        result: Outcome::site(&["public"]),
        ..Preset::default()
    })
}
