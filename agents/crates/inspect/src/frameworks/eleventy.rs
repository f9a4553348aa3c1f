//! Eleventy (11ty.dev/docs): a static site in `_site` unless it is configured otherwise.

use super::{Outcome, Preset, Project};
use crate::files::{inside, quoted_after};

pub(super) fn detect(project: &Project<'_>) -> Option<Preset> {
    if !project.package.has("@11ty/eleventy") {
        return None;
    }
    let config = [project.config("eleventy.config"), project.config(".eleventy")].concat();
    let folder = quoted_after(&config, "output").filter(|folder| inside(folder)).unwrap_or_else(|| "_site".to_owned());
    Some(Preset {
        name: "Eleventy",
        dependency: "@11ty/eleventy",
        build: &["eleventy"],
        result: Outcome::site(&[&folder, "dist", "public"]),
        ..Preset::default()
    })
}
