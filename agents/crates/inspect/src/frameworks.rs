//! JavaScript frameworks in the order of detection: a framework that builds upon another comes first.

mod angular;
mod astro;
mod create_react_app;
mod docusaurus;
mod eleventy;
mod gatsby;
mod nest;
mod next;
mod nitro;
mod react_router;
mod site_builders;
mod sveltekit;
mod vite;
mod vitepress;

use crate::javascript::NodePackage;
use crate::{Fallback, Files, files};

/// App as its framework looks at it.
pub(crate) struct FrameworkProject<'a> {
    pub(crate) files: &'a Files,
    pub(crate) package: &'a NodePackage,
}

impl FrameworkProject<'_> {
    /// Text of the configuration `name` with one of the usual endings, without its comments.
    pub(crate) fn config(&self, name: &str) -> String {
        let endings = ["js", "mjs", "cjs", "ts", "mts", "cts"];
        let names: Vec<String> = endings.iter().map(|ending| format!("{name}.{ending}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        files::without_comments(&self.files.search_first(&names))
    }

    /// True if the script `build`, or a script that it runs, contains these words.
    pub(crate) fn builds_with(&self, words: &str) -> bool {
        self.package.script("build").is_some_and(|script| script.contains(words))
    }
}

/// Preset of a framework.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Preset {
    /// Name that users see.
    pub(crate) name: &'static str,
    /// Dependency that showed it.
    pub(crate) dependency: &'static str,
    /// Build command if package.json has no script `build`; empty: none.
    pub(crate) build: &'static [&'static str],
    /// Variables of the build command.
    pub(crate) build_environment: &'static [(&'static str, &'static str)],
    /// Folders of the app, beside node_modules/.cache, that its documentation tells to keep between builds.
    pub(crate) caches: &'static [&'static str],
    /// Folder in the first of them that is not kept, as in `Cache`.
    pub(crate) stale: &'static str,
    /// Packages that the start command needs beside those of the app.
    pub(crate) adds: &'static [&'static str],
    pub(crate) result: FrameworkOutput,
    /// Fallback page if the result is a site.
    pub(crate) fallback: Fallback,
    /// Remark for the plan; empty: none.
    pub(crate) remark: String,
}

/// Result of a framework's build.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum FrameworkOutput {
    /// Files to serve, in the first of these folders that has an index.html.
    Site(Vec<String>),
    /// Server with this start command; a script `start` that is no development server goes first.
    #[default]
    Script,
    Server(Vec<String>),
}

impl FrameworkOutput {
    pub(crate) fn site(folders: &[&str]) -> Self {
        Self::Site(crate::strings(folders))
    }

    pub(crate) fn server(words: &[&str]) -> Self {
        Self::Server(crate::strings(words))
    }
}

type Detect = fn(&FrameworkProject<'_>) -> Option<Preset>;

const FRAMEWORKS: [Detect; 14] = [
    next::detect,
    nitro::detect,
    sveltekit::detect,
    react_router::detect,
    astro::detect,
    gatsby::detect,
    docusaurus::detect,
    vitepress::detect,
    eleventy::detect,
    angular::detect,
    create_react_app::detect,
    nest::detect,
    vite::detect,
    site_builders::detect,
];

/// Preset of the framework of an app; `None`: only its scripts tell.
pub(crate) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    FRAMEWORKS.iter().find_map(|detect| detect(project))
}
