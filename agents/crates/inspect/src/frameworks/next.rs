//! Next.js (nextjs.org/docs): a server, or a static export.

use super::{FrameworkOutput, FrameworkProject, Preset};

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    if !project.package.has("next") {
        return None;
    }
    let config = project.config("next.config");
    let exports = ["output: 'export'", "output: \"export\"", "output:'export'", "output:\"export\""];
    let is_export = exports.iter().any(|text| config.contains(text)) || project.builds_with("next export");
    let folder = crate::files::quoted_after(&config, "distDir").filter(|_| is_export);
    let result = match (is_export, folder) {
        (true, Some(folder)) => FrameworkOutput::site(&[&folder, "out"]),
        (true, None) => FrameworkOutput::site(&["out"]),
        (false, _) => FrameworkOutput::server(&["next", "start"]),
    };
    Some(Preset {
        name: "Next.js",
        dependency: "next",
        build: &["next", "build"],
        build_environment: &[("NEXT_TELEMETRY_DISABLED", "1")],
        caches: &[".next/cache"],
        // Data that pages fetched, which may have no date of expiry.
        stale: "fetch-cache",
        result,
        ..Preset::default()
    })
}
