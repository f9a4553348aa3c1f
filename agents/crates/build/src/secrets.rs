//! Secrets of a build, for its commands and its source. Decrypted when they are used, dropped with the build; no error contains
//! a value.

use fairlead_model::{AppKey, BuildSpec, SealedSecrets, Secret};

use crate::{BuildError, BuildOptions};

/// Opens what was sealed for this app in this environment; none: empty.
pub(crate) fn open(
    options: &BuildOptions,
    spec: &BuildSpec,
    sealed: Option<&SealedSecrets>,
) -> Result<Vec<Secret>, BuildError> {
    let Some(sealed) = sealed else { return Ok(Vec::new()) };
    let refused = |why: &str| BuildError::Secrets(why.to_owned());
    if sealed.is_held_back() {
        return Err(refused("the control plane has no key that opens them, or there are too many at once"));
    }
    let key = options.sealing.as_ref().ok_or_else(|| refused("this agent has no key for them"))?;
    let environment = spec.environment.clone().ok_or_else(|| refused("the build names no environment"))?;
    let of = AppKey { app: spec.app.clone(), environment };
    let plain = key.open(&sealed.sealed).map_err(|error| refused(&error.to_string()))?;
    let bundle = fairlead_wire::secret_bundle(&plain).map_err(|error| refused(&error.to_string()))?;
    if bundle.key != of {
        return Err(refused("they are those of another app or environment"));
    }
    if bundle.version != sealed.version {
        return Err(refused("they are of another version than was announced"));
    }
    Ok(bundle.secrets)
}

/// The text of one of them.
pub(crate) fn text<'a>(secrets: &'a [Secret], name: &str) -> Result<Option<&'a str>, BuildError> {
    let Some(secret) = secrets.iter().find(|secret| secret.name == name) else { return Ok(None) };
    let text = std::str::from_utf8(&secret.value).map_err(|_| BuildError::Secrets(format!("`{name}` is not text")))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}
