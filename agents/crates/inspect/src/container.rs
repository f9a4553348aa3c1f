//! Decides whether a Dockerfile is built instead of the app's own language.

use fairlead_model::Builder;

use crate::manifest::AppManifest;
use crate::{Files, InspectError, PlanRequest};

/// Names of files that a container engine builds.
pub(crate) const NAMES: [&str; 2] = ["Dockerfile", "Containerfile"];

/// Dockerfile to build; `None`: the runtime's own tools build.
pub(crate) fn chosen(
    files: &Files,
    manifest: &AppManifest,
    plan_request: PlanRequest<'_>,
) -> Result<Option<String>, InspectError> {
    let named = [&manifest.build.dockerfile, &plan_request.overrides.dockerfile]
        .into_iter()
        .find(|name| !name.is_empty())
        .cloned();
    let wanted =
        plan_request.builder == Builder::Dockerfile || (plan_request.builder == Builder::Detected && named.is_some());
    let usual = NAMES.into_iter().find(|name| files.has(name)).unwrap_or(NAMES[0]);
    let file = named.unwrap_or_else(|| usual.to_owned());
    if wanted {
        if files.has(&file) {
            return Ok(Some(file));
        }
        return Err(InspectError::NotDetected(format!(
            "There is no file `{file}` in {}. Add it, or choose another builder in the settings of the app.",
            plan_request.shown
        )));
    }
    // Without an engine the files themselves may still tell enough.
    Ok((plan_request.builder == Builder::Detected && plan_request.engine && files.has(&file)).then_some(file))
}
