//! NestJS (docs.nestjs.com): `nest start` builds again, so the build's result is started instead.

use super::{FrameworkOutput, FrameworkProject, Preset};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    if !project.package.has("@nestjs/core") {
        return None;
    }
    // A script for production goes first.
    let result = FrameworkOutput::server(&["node", "dist/main"]);
    Some(Preset { name: "NestJS", dependency: "@nestjs/core", build: &["nest", "build"], result, ..Preset::default() })
}
