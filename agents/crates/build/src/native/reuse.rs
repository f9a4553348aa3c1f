//! Reuse of installed dependencies and of tools' cache folders by the next build.
//! Invariant: dependencies are kept as their install left them, and used again only where an install would read the same.

mod fingerprint;
mod kept_folders;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use aws_lc_rs::{hmac, rand};
use fairlead_base::file;
use fairlead_inspect::Plan;
use fairlead_model::{Secret, Step};

use super::tools::BuildTools;
use crate::BuildError;
use crate::as_user::as_user;
use crate::command::Workshop;
use fingerprint::{Install, Unusable, environment_key, install_key, settings_key};
pub(crate) use kept_folders::KeptFolders;
use kept_folders::ReuseKeys;

/// Variables that differ in each deployment and that no install depends on.
const CHANGING: [&str; 2] = ["FAIRLEAD_DEPLOYMENT_ID", "FAIRLEAD_GIT_COMMIT"];
/// File beside the kept repository, which commands of a build do not reach.
const SALT: &str = "salt";
const SALT_LENGTH: usize = 32;

/// Looks for what a former build kept. Call it before any command of the build runs.
pub(super) async fn begin(
    workshop: &mut Workshop<'_>,
    base: &Path,
    plan: &Plan,
    chosen: &BuildTools,
) -> Result<(), BuildError> {
    let (all, own) = (workshop.build_folders.cache.clone(), workshop.cache.clone());
    let (home, base, source) =
        (workshop.build_folders.home.clone(), base.to_owned(), workshop.build_folders.source.clone());
    let mut settings = settings(workshop, plan, chosen);
    let secrets = secrets_digest(&workshop.build_folders.repository, &workshop.secrets)
        .map_err(BuildError::server("reading the salt of its cache"))?;
    settings.push(secrets);
    let (caches, reuse) = (plan.caches.clone(), plan.reuse.clone());
    let commands = format!("{:?}", plan.install);
    let kept = blocking(workshop.options.user, move || {
        let settings = settings_key(&settings);
        let environment = reuse.as_ref().and_then(|reuse| reuse.environment.clone());
        let install = reuse.map(|reuse| {
            let packages_with_scripts = usize::from(!reuse.commands.is_empty());
            let install = Install { source: &source, packages_with_scripts, commands };
            if reuse.environment.is_some() {
                environment_key(&install, &settings)
            } else {
                install_key(&install, &settings)
            }
        });
        // An unreadable file means that dependencies are installed again.
        let keys = ReuseKeys { install: install.and_then(Result::ok).flatten(), settings };
        KeptFolders::begin((&all, &own), &home, &base, &caches, environment.as_deref(), &keys)
    });
    workshop.kept = Some(kept.await.map_err(BuildError::server("looking for what the last build kept"))?);
    Ok(())
}

/// Lists what the commands of a build may depend on beside files and secrets.
fn settings(workshop: &Workshop<'_>, plan: &Plan, chosen: &BuildTools) -> Vec<String> {
    let of_server = workshop.options.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let of_app = workshop.variables.iter().filter(|(name, _)| !CHANGING.contains(&name.as_str()));
    let of_app = of_app.map(|(name, value)| format!("{name}={value}"));
    let of_tools = chosen.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let versions = chosen.versions.iter().cloned().chain([plan.runtime.clone()]);
    versions.chain(of_server).chain(of_app).chain(of_tools).collect()
}

/// Digest of a build's secrets. The name of a folder tells it to the build's user, so it depends on a salt that no build can read:
/// without the salt, values of a secret can't be tried.
fn secrets_digest(salt_folder: &Path, secrets: &[Secret]) -> io::Result<String> {
    let path = salt_folder.join(SALT);
    let salt = match std::fs::read(&path) {
        Ok(salt) if salt.len() == SALT_LENGTH => salt,
        _ => {
            let mut salt = vec![0; SALT_LENGTH];
            rand::fill(&mut salt).map_err(|_| io::Error::other("the operating system gave no random bytes"))?;
            file::replace(&path, &salt, 0o600)?;
            salt
        }
    };
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &salt));
    for secret in secrets {
        for part in [secret.name.as_bytes(), &secret.value] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
    }
    Ok(context.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Moves kept dependencies into the app. Returns false if they must be installed.
pub(super) async fn restore(workshop: &mut Workshop<'_>, plan: &Plan) -> Result<bool, BuildError> {
    let restored = with_kept(workshop, |kept| kept.restore_dependencies()).await;
    let restored = restored.map_err(BuildError::server("moving kept dependencies into the app"))?;
    if restored {
        let lock = plan.lock_file.as_deref().unwrap_or("lock file");
        let words = match plan.reuse.as_ref().and_then(|reuse| reuse.environment.as_ref()) {
            Some(folder) => format!("Updates {folder} of the last build, whose requirements were the same."),
            None => {
                format!("Uses the dependencies of the last build: {lock} and all that an install reads are the same.")
            }
        };
        workshop.say(Step::Build, words);
    }
    Ok(restored)
}

/// Returns false if scripts of the app changed restored dependencies, which must be installed then.
pub(super) async fn are_unchanged(workshop: &mut Workshop<'_>) -> Result<bool, BuildError> {
    let unchanged = with_kept(workshop, |kept| kept.are_unchanged()).await;
    unchanged.map_err(BuildError::server("comparing kept dependencies"))
}

/// Remembers what the install left, and moves kept folders of tools into the app.
pub(super) async fn installed(workshop: &mut Workshop<'_>) {
    let done = with_kept(workshop, |kept| {
        kept.installed()?;
        kept.restore_caches()
    });
    let done = done.await;
    warn(workshop.deployment, done);
}

/// Takes what the artifact must not have out of the app: folders of tools, and those that the app leaves behind.
pub(super) async fn built(workshop: &mut Workshop<'_>, plan: &Plan) {
    workshop.end_leftovers().await;
    let taken = with_kept(workshop, |kept| kept.take_caches()).await;
    warn(workshop.deployment, taken);
    if !plan.output.is_empty() {
        return;
    }
    for name in &plan.excluded_folders {
        let folder = PathBuf::from(&plan.folder).join(name);
        if let Err(error) = with_kept(workshop, move |kept| kept.leave_behind(&folder)).await {
            workshop.say(Step::Build, format!("The folder {name} could not be left out and is packed: {error}"));
        }
    }
}

/// Moves what the next build may use into the cache, once the app is packed. Never fails a build.
pub(crate) async fn save(workshop: &mut Workshop<'_>) {
    let Some(kept) = workshop.kept.take() else { return };
    let saved = blocking(workshop.options.user, move || kept.save()).await;
    let reason = match saved {
        Err(error) => return warn(workshop.deployment, Err(error)),
        Ok(None) => return,
        Ok(Some(Unusable::InstallScript(file))) => {
            format!("the install script of {} may read files of the app", file.display())
        }
        Ok(Some(Unusable::Changed(file))) => format!("this one changed {}", file.display()),
        Ok(Some(Unusable::Large)) => "they have too many files".to_owned(),
    };
    workshop.say(Step::Pack, format!("The next build installs its dependencies anew: {reason}."));
}

fn warn(deployment: &fairlead_model::DeploymentId, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(%deployment, %error, "the next build can't use what this one leaves");
    }
}

async fn with_kept<T: Default + Send + 'static>(
    workshop: &mut Workshop<'_>,
    work: impl FnOnce(&mut KeptFolders) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let Some(mut kept) = workshop.kept.take() else { return Ok(T::default()) };
    let (kept, done) = blocking(workshop.options.user, move || {
        let done = work(&mut kept);
        Ok((kept, done))
    })
    .await?;
    workshop.kept = Some(kept);
    done
}

async fn blocking<T: Send + 'static>(
    user: Option<u32>,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(move || as_user(user, work));
    done.await.unwrap_or_else(|error| Err(io::Error::other(error)))?
}
