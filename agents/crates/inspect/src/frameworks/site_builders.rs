//! Table of static site builders: dependency, build command and output folder.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;

struct Row {
    name: &'static str,
    dependency: &'static str,
    build: &'static [&'static str],
    folders: &'static [&'static str],
    is_app: IsApp,
}

/// Tells a single-page app from a site of pages.
type IsApp = fn(&FrameworkProject<'_>) -> bool;

const APP: IsApp = |_| true;
const PAGES: IsApp = |_| false;

const ROWS: [Row; 16] = [
    Row {
        name: "Vue CLI",
        dependency: "@vue/cli-service",
        build: &["vue-cli-service", "build"],
        folders: &["dist"],
        is_app: APP,
    },
    Row { name: "Hexo", dependency: "hexo", build: &["hexo", "generate"], folders: &["public"], is_app: PAGES },
    Row {
        name: "Ember",
        dependency: "ember-cli",
        build: &["ember", "build", "--environment=production"],
        folders: &["dist"],
        is_app: APP,
    },
    Row { name: "Preact CLI", dependency: "preact-cli", build: &["preact", "build"], folders: &["build"], is_app: APP },
    Row {
        name: "Stencil",
        dependency: "@stencil/core",
        build: &["stencil", "build"],
        folders: &["www", "dist"],
        is_app: APP,
    },
    Row { name: "Rsbuild", dependency: "@rsbuild/core", build: &["rsbuild", "build"], folders: &["dist"], is_app: APP },
    Row {
        name: "Rspress",
        dependency: "rspress",
        build: &["rspress", "build"],
        folders: &["doc_build"],
        is_app: PAGES,
    },
    Row { name: "Rspack", dependency: "@rspack/cli", build: &["rspack", "build"], folders: &["dist"], is_app: APP },
    Row { name: "UmiJS", dependency: "umi", build: &["umi", "build"], folders: &["dist"], is_app: APP },
    Row { name: "Parcel", dependency: "parcel", build: &["parcel", "build"], folders: &["dist"], is_app: APP },
    Row { name: "Slidev", dependency: "@slidev/cli", build: &["slidev", "build"], folders: &["dist"], is_app: APP },
    Row {
        name: "Expo",
        dependency: "expo",
        build: &["expo", "export", "-p", "web"],
        folders: &["dist", "web-build"],
        is_app: expo_is_app,
    },
    Row {
        name: "Storybook",
        dependency: "storybook",
        build: &["storybook", "build"],
        folders: &["storybook-static"],
        is_app: PAGES,
    },
    Row { name: "Gridsome", dependency: "gridsome", build: &["gridsome", "build"], folders: &["dist"], is_app: PAGES },
    Row { name: "Metalsmith", dependency: "metalsmith", build: &[], folders: &["build"], is_app: PAGES },
    Row {
        name: "Webpack",
        dependency: "webpack-dev-server",
        build: &[],
        folders: &["dist", "build", "public"],
        is_app: webpack_is_app,
    },
];

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let row = ROWS.iter().find(|row| project.package.has(row.dependency))?;
    // A component library or a server may use one of them beside; its own script says so.
    let is_main = project
        .package
        .script("build")
        .is_none_or(|script| row.build.first().is_some_and(|program| script.contains(program)) || row.build.is_empty());
    let serves = project.package.has_any(&crate::javascript::SERVERS);
    (is_main && !serves).then(|| Preset {
        name: row.name,
        dependency: row.dependency,
        build: row.build,
        result: FrameworkOutput::site(row.folders),
        fallback: if (row.is_app)(project) { Fallback::app() } else { Fallback::default() },
        ..Preset::default()
    })
}

/// Expo's router renders a file for each page if the configuration asks for it.
fn expo_is_app(project: &FrameworkProject<'_>) -> bool {
    let config = [project.files.search("app.json"), project.config("app.config")].concat();
    crate::files::quoted_after(&config, "output").is_none_or(|output| output == "single")
}

/// Webpack bundles anything; a development server with a fallback shows a single-page app.
fn webpack_is_app(project: &FrameworkProject<'_>) -> bool {
    project.config("webpack.config").replace(' ', "").contains("historyApiFallback:true")
}
