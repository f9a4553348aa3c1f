//! Frameworks with a server that Nitro builds (nitro.build): Nuxt, SolidStart, TanStack Start, Analog and Nitro itself.

use super::{FrameworkOutput, FrameworkProject, Preset};

const SERVER: [&str; 2] = ["node", ".output/server/index.mjs"];

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let package = project.package;
    if let Some(range) = package.dependency("nuxt") {
        return Some(nuxt(project, range));
    }
    let (name, dependency, build): (_, _, &'static [&'static str]) = if package.has("@solidjs/start") {
        ("SolidStart", "@solidjs/start", &["vinxi", "build"])
    } else if let Some(start) =
        ["@tanstack/react-start", "@tanstack/solid-start", "@tanstack/start"].into_iter().find(|name| package.has(name))
    {
        ("TanStack Start", start, &["vite", "build"])
    } else if package.has("@analogjs/platform") {
        return Some(Preset {
            name: "Analog",
            dependency: "@analogjs/platform",
            build: &["vite", "build"],
            result: FrameworkOutput::server(&["node", "dist/analog/server/index.mjs"]),
            ..Preset::default()
        });
    } else if let Some(nitro) = ["nitropack", "nitro"].into_iter().find(|name| package.has(name)) {
        ("Nitro", nitro, &["nitro", "build"])
    } else {
        return None;
    };
    let is_vite_only =
        name != "Nitro" && !package.has_any(&["nitro", "nitropack", "vinxi"]) && !builds_by_nitro(project);
    // Without Nitro these frameworks leave a request handler that no program serves.
    let result = if is_vite_only { FrameworkOutput::Script } else { FrameworkOutput::server(&SERVER) };
    Some(Preset { name, dependency, build, result, ..Preset::default() })
}

/// Older versions bring Nitro along.
fn builds_by_nitro(project: &FrameworkProject<'_>) -> bool {
    project.config("app.config").contains("defineConfig") || project.config("vite.config").contains("nitro")
}

fn nuxt(project: &FrameworkProject<'_>, range: &str) -> Preset {
    let generates =
        ["nuxt generate", "nuxi generate", "nuxt build --prerender"].iter().any(|words| project.builds_with(words));
    let is_old = range.trim_start_matches(['^', '~', '>', '=', 'v']).starts_with('2');
    let result = match (generates, is_old) {
        (true, _) => FrameworkOutput::site(&[".output/public", "dist"]),
        (false, true) => FrameworkOutput::server(&["nuxt", "start"]),
        (false, false) => FrameworkOutput::server(&SERVER),
    };
    Preset {
        name: "Nuxt",
        dependency: "nuxt",
        build: &["nuxt", "build"],
        build_environment: &[("NUXT_TELEMETRY_DISABLED", "1")],
        result,
        ..Preset::default()
    }
}
