//! Vite (vite.dev): a static site in `dist`, unless the app has a server of its own.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;
use crate::files::quoted_after;
use crate::javascript::SERVERS;

/// Plugins that render each page into a file.
const PAGE_RENDERERS: [&str; 4] = ["vike", "vite-plugin-ssr", "vite-ssg", "vite-react-ssg"];

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let package = project.package;
    let dependency = ["vite", "rolldown-vite"].into_iter().find(|name| package.has(name))?;
    let has_page = project.files.has("index.html") || project.files.has("src/index.html");
    // Vite may build only a part of an app, and its tests need it too.
    if !has_page && !project.builds_with("vite build") {
        return None;
    }
    let config = project.config("vite.config");
    let folder =
        quoted_after(&config, "outDir").map(|folder| folder.trim_start_matches("./").trim_end_matches('/').to_owned());
    // A site beside a backend is often built into the backend's folder.
    let folder = folder.filter(|folder| project.files.stays_in_source(folder));
    let preset = Preset { name: "Vite", dependency, build: &["vite", "build"], ..Preset::default() };
    if package.has_any(&SERVERS) && project.files.first(&["server.js", "server.ts", "server.mjs"]).is_some() {
        return Some(Preset { result: FrameworkOutput::Script, ..preset });
    }
    let folders: Vec<String> = folder.into_iter().chain(crate::strings(&["dist", "build"])).collect();
    let has_pages =
        package.has_any(&PAGE_RENDERERS) || quoted_after(&config, "appType").is_some_and(|kind| kind == "mpa");
    let fallback = if has_pages { Fallback::default() } else { Fallback::app() };
    Some(Preset { result: FrameworkOutput::Site(folders), fallback, ..preset })
}
