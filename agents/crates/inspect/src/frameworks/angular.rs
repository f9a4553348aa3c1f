//! Angular (angular.dev): angular.json says where the build goes, and `@angular/ssr` makes it a server.

use serde_json::Value;

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;
use crate::files::inside;

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    if !project.package.has("@angular/core") || !project.files.has("angular.json") {
        return None;
    }
    let folders = outputs(&project.files.search("angular.json"), project.package.name().unwrap_or("app"));
    let serves = project.package.has("@angular/ssr") && project.files.has("src/server.ts");
    let first = folders.first().cloned().unwrap_or_else(|| "dist".to_owned());
    let result = if serves {
        FrameworkOutput::server(&["node", &format!("{first}/server/server.mjs")])
    } else {
        // Since version 17 the pages lie in `browser` below.
        FrameworkOutput::Site(folders.iter().flat_map(|folder| [format!("{folder}/browser"), folder.clone()]).collect())
    };
    Some(Preset {
        name: "Angular",
        dependency: "@angular/core",
        build: &["ng", "build"],
        build_environment: &[("NG_CLI_ANALYTICS", "false")],
        result,
        // The page that is rendered by the browser alone, where the build also renders pages.
        fallback: Fallback::app_with("index.csr.html"),
        ..Preset::default()
    })
}

/// Output folders of the applications of a workspace.
fn outputs(text: &str, usual: &str) -> Vec<String> {
    let workspace: Value = serde_json::from_str(text).unwrap_or_default();
    let projects = workspace.get("projects").and_then(Value::as_object);
    let mut found = Vec::new();
    for (name, project) in projects.into_iter().flatten() {
        if project.get("projectType").and_then(Value::as_str).is_some_and(|kind| kind != "application") {
            continue;
        }
        let path = project
            .pointer("/architect/build/options/outputPath")
            .or_else(|| project.pointer("/targets/build/options/outputPath"));
        let path = path.and_then(|path| path.as_str().or_else(|| path.get("base")?.as_str()));
        let path = path.map_or_else(
            || format!("dist/{name}"),
            |path| path.trim_start_matches("./").trim_end_matches('/').to_owned(),
        );
        if inside(&path) {
            found.push(path);
        }
    }
    if found.is_empty() {
        found.push(format!("dist/{usual}"));
    }
    found.push("dist".to_owned());
    found
}
