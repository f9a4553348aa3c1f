//! VitePress and VuePress (vitepress.dev, vuepress.vuejs.org): a static site in `.vitepress/dist` of the folder of its pages.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::files::inside;

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let (name, dependency, hidden) = if project.package.has("vitepress") {
        ("VitePress", "vitepress", ".vitepress")
    } else {
        let dependency = ["vuepress", "vuepress-vite"].into_iter().find(|name| project.package.has(name))?;
        ("VuePress", dependency, ".vuepress")
    };
    // Libraries keep their documentation beside their code.
    let pages = ["", "docs", "src", "doc", "site"]
        .into_iter()
        .map(|folder| if folder.is_empty() { hidden.to_owned() } else { format!("{folder}/{hidden}") });
    let mut found: Vec<String> =
        pages.filter(|folder| project.files.has_folder(folder)).map(|folder| format!("{folder}/dist")).collect();
    let script = ["docs:build", "build"].into_iter().find(|script| project.package.script(script).is_some());
    if found.is_empty() {
        // Pages need no configuration.
        let command = script.and_then(|script| project.package.script(script))?;
        let (_, after) = command.split_once("press build")?;
        let folder = after.split_ascii_whitespace().next().filter(|word| inside(word) && !word.starts_with(['-', '&']));
        found.push(folder.map_or(format!("{hidden}/dist"), |folder| format!("{folder}/{hidden}/dist")));
    }
    let build: &'static [&'static str] = match script {
        Some("docs:build") => &["npm", "run", "docs:build"],
        _ => &["vitepress", "build"],
    };
    Some(Preset { name, dependency, build, result: FrameworkOutput::Site(found), ..Preset::default() })
}
