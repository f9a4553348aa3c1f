//! SvelteKit (svelte.dev/docs/kit): its adapter decides what the build produces.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;
use crate::files::{inside, quoted_after};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let package = project.package;
    if !package.has("@sveltejs/kit") {
        return None;
    }
    let config = [project.config("svelte.config"), project.config("vite.config")].concat();
    let out = quoted_after(&config, "out").or_else(|| quoted_after(&config, "pages"));
    let out = out.filter(|folder| inside(folder)).unwrap_or_else(|| "build".to_owned());
    let preset =
        Preset { name: "SvelteKit", dependency: "@sveltejs/kit", build: &["vite", "build"], ..Preset::default() };
    // The configuration may name another adapter than the one that package.json lists too.
    let uses = |adapter: &str| config.contains(adapter) || (package.has(adapter) && !config.contains("adapter-"));
    Some(if uses("@sveltejs/adapter-static") {
        // A fallback that is called 404.html is served as such.
        let page = quoted_after(&config, "fallback").filter(|page| inside(page) && page != "404.html");
        let fallback = page.map_or_else(Fallback::default, |page| Fallback::app_with(&page));
        Preset { result: FrameworkOutput::site(&[&out]), fallback, ..preset }
    } else if uses("@sveltejs/adapter-node") {
        Preset { result: FrameworkOutput::server(&["node", &out]), ..preset }
    } else if uses("@sveltejs/adapter-auto") {
        Preset {
            // adapter-auto knows hosts by their variables; this one makes it take the adapter for Node.
            build_environment: &[("GCP_BUILDPACKS", "1")],
            result: FrameworkOutput::server(&["node", "build"]),
            remark: "adapter-auto uses @sveltejs/adapter-node here. Add that to package.json to choose its version."
                .to_owned(),
            ..preset
        }
    } else {
        let adapter = config.split(['\'', '"']).find(|text| text.contains("adapter-")).unwrap_or("Its adapter");
        Preset {
            result: FrameworkOutput::server(&["node", "build"]),
            remark: format!(
                "{adapter} builds for another host. Use @sveltejs/adapter-node or @sveltejs/adapter-static instead."
            ),
            ..preset
        }
    })
}
