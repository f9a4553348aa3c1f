//! Astro (docs.astro.build): static unless it has the adapter for Node.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::files::{inside, quoted_after};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    if !project.package.has("astro") {
        return None;
    }
    let config = project.config("astro.config");
    let folder =
        quoted_after(&config, "outDir").map(|folder| folder.trim_start_matches("./").trim_end_matches('/').to_owned());
    let folder = folder.filter(|folder| inside(folder)).unwrap_or_else(|| "dist".to_owned());
    let preset = Preset {
        name: "Astro",
        dependency: "astro",
        build: &["astro", "build"],
        build_environment: &[("ASTRO_TELEMETRY_DISABLED", "1")],
        caches: &["node_modules/.astro"],
        ..Preset::default()
    };
    let other =
        ["@astrojs/vercel", "@astrojs/netlify", "@astrojs/cloudflare"].into_iter().find(|name| config.contains(name));
    let compact = config.replace([' ', '\t'], "");
    let asks_for_server = ["output:'server'", "output:\"server\""].iter().any(|text| compact.contains(text));
    Some(if config.contains("@astrojs/node") {
        Preset { result: FrameworkOutput::server(&["node", &format!("./{folder}/server/entry.mjs")]), ..preset }
    } else if let Some(other) = other.filter(|_| asks_for_server) {
        Preset {
            result: FrameworkOutput::site(&[&folder]),
            remark: format!(
                "Its adapter {other} is for another host. Replace it with @astrojs/node to run its server here."
            ),
            ..preset
        }
    } else {
        Preset { result: FrameworkOutput::site(&[&folder]), ..preset }
    })
}
