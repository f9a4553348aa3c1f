//! NestJS (docs.nestjs.com): `nest start` builds again, so the build's result is started instead.

use super::{Outcome, Preset, Project};

pub(super) fn detect(project: &Project<'_>) -> Option<Preset> {
    if !project.package.has("@nestjs/core") {
        return None;
    }
    let production = ["start:prod", "start:production"].into_iter().find(|name| project.package.script(name).is_some());
    let result = if production.is_some() { Outcome::Script } else { Outcome::server(&["node", "dist/main"]) };
    Some(Preset { name: "NestJS", dependency: "@nestjs/core", build: &["nest", "build"], result, ..Preset::default() })
}
