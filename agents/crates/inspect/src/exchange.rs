//! Request to the process that reads a repository, and its answer. Both are JSON between two processes of one agent.
//! Invariant: no path of an answer leads out of the source, whatever the process writes.

use std::io;
use std::path::{Component, Path, PathBuf};

use fairlead_model::{BuildOverrides, Builder};
use serde::{Deserialize, Serialize};

use crate::{BuildMethod, Files, InspectError, PlanRequest, inspect};

/// Request for a plan, as [`PlanRequest`] with values of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedPlanRequest {
    pub builder: Builder,
    pub overrides: BuildOverrides,
    pub engine: bool,
    pub root_folder: String,
    pub shown: String,
}

impl OwnedPlanRequest {
    /// Plans the build of the files in `source`; returns the answer to write.
    pub fn answer(&self, source: PathBuf) -> serde_json::Result<String> {
        let Self { builder, overrides, engine, root_folder, shown } = self;
        let plan_request = PlanRequest { builder: *builder, overrides, engine: *engine, root_folder, shown };
        serde_json::to_string(&inspect(&Files::new(source), plan_request))
    }
}

/// Reads the answer to a request for the plan of `root_folder`.
pub fn read_answer(answer: &[u8], root_folder: &Path) -> io::Result<Result<BuildMethod, InspectError>> {
    let answer: Result<BuildMethod, InspectError> = serde_json::from_slice(answer)?;
    if answer.as_ref().is_ok_and(|way| !stays_in_source(way, root_folder)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a path of the plan leads out of the source"));
    }
    Ok(answer)
}

/// True if no path of the plan leads above the folder that it is relative to, or above the source.
fn stays_in_source(way: &BuildMethod, root_folder: &Path) -> bool {
    let (BuildMethod::Native(plan) | BuildMethod::Dockerfile { plan, .. }) = way;
    let packed = plan.workspace.as_deref().map_or(root_folder, Path::new);
    let app = packed.join(&plan.folder);
    let file = match way {
        BuildMethod::Dockerfile { file, .. } => Some(file),
        BuildMethod::Native(_) => None,
    };
    let files = plan.lock_file.iter().map(|name| packed.join(name)).chain(file.map(|name| root_folder.join(name)));
    let server = plan.server.iter().map(|server| &server.file);
    let environment = plan.reuse.iter().filter_map(|reuse| reuse.environment.as_ref()).map(|name| packed.join(name));
    let folders = plan.output.iter().chain(&plan.excluded_folders).chain(server).map(|name| app.join(name));
    let caches = plan.caches.iter().flat_map(|cache| {
        let folder = packed.join(&cache.folder);
        [folder.join(&cache.stale), folder]
    });
    let all = files.chain(folders).chain(caches).chain(environment);
    depth(packed).is_some() && depth(&app).is_some() && all.map(|path| depth(&path)).all(|depth| depth.is_some())
}

/// Number of levels below the source; `None` for an absolute path and for one that leads above the source on its way.
fn depth(path: &Path) -> Option<usize> {
    path.components().try_fold(0_usize, |depth, part| match part {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        Component::ParentDir => depth.checked_sub(1),
        Component::RootDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn request() -> OwnedPlanRequest {
        OwnedPlanRequest {
            builder: Builder::Detected,
            overrides: BuildOverrides::default(),
            engine: false,
            root_folder: "web".into(),
            shown: "the folder web of the repository".into(),
        }
    }

    #[test]
    fn an_answer_holds_the_whole_plan_or_the_reason_why_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("web")).unwrap();
        let request: OwnedPlanRequest = serde_json::from_str(&serde_json::to_string(&request()).unwrap()).unwrap();
        let answers = || {
            let source = dir.path().to_owned();
            let overrides = BuildOverrides::default();
            let plan_request = PlanRequest {
                builder: Builder::Detected,
                overrides: &overrides,
                engine: false,
                root_folder: "web",
                shown: &request.shown,
            };
            let read = read_answer(request.answer(source.clone()).unwrap().as_bytes(), Path::new("web")).unwrap();
            assert_eq!(read, inspect(&Files::new(source), plan_request));
            read
        };
        assert!(answers().is_err());
        let package = r#"{"scripts":{"start":"node a.js"},"engines":{"node":">=20"}}"#;
        std::fs::write(dir.path().join("web/package.json"), package).unwrap();
        assert!(matches!(answers(), Ok(BuildMethod::Native(plan)) if !plan.tools.is_empty()));
    }

    #[test]
    fn an_answer_that_is_no_plan_or_leads_out_of_the_source_is_refused() {
        for garbage in ["", "null", "{}", "\0", r#"{"Ok":{"Native":{}}}"#, "Ok"] {
            assert!(read_answer(garbage.as_bytes(), Path::new("")).is_err(), "{garbage}");
        }
        let read = |way: BuildMethod, root: &str| {
            let answer: Result<BuildMethod, InspectError> = Ok(way);
            read_answer(&serde_json::to_vec(&answer).unwrap(), Path::new(root)).is_ok()
        };
        let native = |change: fn(&mut Plan)| {
            let mut plan = Plan::default();
            change(&mut plan);
            BuildMethod::Native(Box::new(plan))
        };
        assert!(read(native(|plan| plan.output = vec![".".into(), "../dist".into()]), "web"));
        assert!(read(native(|plan| plan.workspace = Some(String::new())), "web"));
        assert!(!read(native(|plan| plan.output = vec!["../dist".into()]), ""));
        fn cache(folder: &str, stale: &str) -> Vec<crate::Cache> {
            vec![crate::Cache { folder: folder.into(), stale: stale.into() }]
        }
        assert!(read(native(|plan| plan.caches = cache(".next/cache", "fetch-cache")), ""));
        assert!(!read(native(|plan| plan.caches = cache("../cache", "")), ""));
        assert!(!read(native(|plan| plan.caches = cache("cache", "../../other")), ""));
        fn server(file: &str) -> Option<crate::BuiltServer> {
            Some(crate::BuiltServer { file: file.into(), advice: String::new() })
        }
        assert!(read(native(|plan| plan.server = server("./dist/main")), ""));
        assert!(!read(native(|plan| plan.server = server("/etc/passwd")), ""));
        assert!(!read(native(|plan| plan.workspace = Some("../other".into())), "web"));
        assert!(!read(native(|plan| plan.folder = "/etc".into()), "web"));
        assert!(!read(native(|plan| plan.lock_file = Some("a/../../x".into())), ""));
        let dockerfile = |file: &str| BuildMethod::Dockerfile { file: file.into(), plan: Box::default() };
        assert!(read(dockerfile("Dockerfile"), "web") && !read(dockerfile("../../x"), "web"));
    }
}
