//! Eleventy (11ty.dev/docs): a static site in `_site` unless it is configured otherwise.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::files::{inside, quoted_after};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    if !project.package.has("@11ty/eleventy") {
        return None;
    }
    let config = [project.config("eleventy.config"), project.config(".eleventy")].concat();
    let folder = quoted_after(&config, "output").filter(|folder| inside(folder)).unwrap_or_else(|| "_site".to_owned());
    Some(Preset {
        name: "Eleventy",
        dependency: "@11ty/eleventy",
        build: &["eleventy"],
        result: FrameworkOutput::site(&[&folder, "dist", "public"]),
        ..Preset::default()
    })
}
