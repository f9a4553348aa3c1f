//! Create React App and its relatives (create-react-app.dev): a static site in `build`.

use super::{FrameworkOutput, FrameworkProject, Preset};
use crate::Fallback;

pub(super) fn detect(project: &FrameworkProject<'_>) -> Option<Preset> {
    let dependency =
        ["react-scripts", "@craco/craco", "react-app-rewired"].into_iter().find(|name| project.package.has(name))?;
    Some(Preset {
        name: "Create React App",
        dependency,
        build: &["react-scripts", "build"],
        // Warnings are errors where CI is set.
        build_environment: &[("CI", "false"), ("DISABLE_ESLINT_PLUGIN", "true")],
        result: FrameworkOutput::site(&["build", "dist"]),
        fallback: Fallback::app(),
        ..Preset::default()
    })
}
