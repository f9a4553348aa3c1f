//! React Router as a framework and Remix (reactrouter.com, remix.run): a server, or a single-page app with `ssr: false`.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let package = project.package;
    let (name, dependency, build): (_, _, &'static [&'static str]) = if package.has("@react-router/dev") {
        ("React Router", "@react-router/dev", &["react-router", "build"])
    } else if package.has("@remix-run/dev") {
        ("Remix", "@remix-run/dev", if package.has("vite") { &["remix", "vite:build"] } else { &["remix", "build"] })
    } else {
        return None;
    };
    let config = [project.config("react-router.config"), project.config("vite.config")].concat();
    let is_page = config.replace(' ', "").contains("ssr:false");
    let serve = if dependency == "@react-router/dev" { "react-router-serve" } else { "remix-serve" };
    let file = if package.has("vite") { "./build/server/index.js" } else { "./build/index.js" };
    let server = FrameworkOutput::server(&[serve, file]);
    let result = if is_page { FrameworkOutput::site(&["build/client"]) } else { server };
    // Its own fallback page, where it also renders the home page.
    let fallback = Fallback::app_with("__spa-fallback.html");
    Some(Preset { name, dependency, build, result, fallback, ..Preset::default() })
}
