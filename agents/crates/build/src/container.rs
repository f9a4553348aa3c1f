//! Builds by a container engine: an image from a Dockerfile, or one that exists; either becomes an archive in the folder of
//! artifacts. A Dockerfile gets no secrets: what it is given stays readable in its layers.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fairlead_engine::{Engine, EngineError, ImageBuildRequest, LOCAL_REGISTRY, Login, OwnBridge};
use fairlead_model::{Artifact, ArtifactKind, BuildSpec, DeploymentId, LogStream, Step};
use fairlead_network::set_group;
use tokio::io::AsyncReadExt;
use tokio::time::{Duration, Instant, sleep};

use crate::build::{artifact, not_packed};
use crate::command::Workshop;
use crate::line_splitter::LineSplitter;
use crate::{BuildError, context, dockerfile, pack, secrets};
use fairlead_inspect::Plan;

/// Time for which the files of a build are kept for the next one of the same app.
const KEPT_SECONDS: u64 = 24 * 60 * 60;
/// Most bytes of the variables given to a Dockerfile: they travel in the head of a request, and engines take 1 MiB of it.
const ARGUMENTS_BYTES_MAX: usize = 200 * 1024;
/// Limit of the removal of a build's network, in which a cancelled build's container may end a moment later.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);
const REMOVE_PAUSE: Duration = Duration::from_millis(100);

/// Builds the image and gives its name.
pub(crate) async fn build(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
    below: &Path,
    file: &str,
) -> Result<String, BuildError> {
    let engine = engine(workshop).await?;
    let context = workshop.build_folders.folder.join("context.tar");
    let packed = {
        let (trusted, below) = (workshop.build_folders.source.clone(), below.to_owned());
        let (into, file, user) = (context.clone(), file.to_owned(), workshop.options.user);
        let (cancel, deadline) = (workshop.cancel.clone(), workshop.deadline.into_std());
        tokio::task::spawn_blocking(move || {
            let bounds = pack::ArtifactLimits::ARTIFACT;
            let order = pack::PackRequest {
                trusted: &trusted,
                below: &below,
                excluded: &pack::NO_EXCLUSIONS,
                user,
                cancel: &cancel,
                deadline,
                bounds,
            };
            context::pack(&order, &file, &into)
        })
        .await
    };
    packed
        .unwrap_or_else(|error| Err(io::Error::other(error).into()))
        .map_err(|error| not_packed(error, workshop.limit, "packed the context of the Dockerfile"))?;
    let dockerfile = dockerfile::read(&context, file).map_err(|error| {
        BuildError::Container(format!("{file} can't be read: {error}. Commit it as a regular file."))
    })?;
    refuse_remote_sources(&dockerfile, file)?;
    let arguments = build_arguments(workshop, &dockerfile, file)?;
    let (repository, tag) = name(&workshop.options.image_owner, spec);
    let name = format!("{repository}:{tag}");
    if !workshop.secrets.is_empty() {
        workshop.say(
            Step::Build,
            "The secrets that are marked for builds are not given to a Dockerfile: they would stay readable in the image.",
        );
    }
    workshop.say(Step::Build, format!("Building {file} with the container engine."));
    let network = make_network(workshop, &engine).await?;
    let order = ImageBuildRequest {
        context: &context,
        dockerfile: file,
        name: &name,
        memory_bytes: workshop.limits.memory_bytes_max,
        cpu_millis: workshop.limits.cpu_millis_max,
        without_cache: spec.without_cache,
        network: network.as_deref(),
        arguments: &arguments,
    };
    let (deadline, cancel) = (workshop.deadline, workshop.cancel.child_token());
    let mut remote_step = false;
    let built = {
        let mut say = |text: String| {
            // The engine fetches next. The build has to end before a program of the image can read what came.
            if dockerfile::is_remote_step(&text) {
                remote_step = true;
                cancel.cancel();
            }
            workshop.said(Step::Build, &text);
        };
        tokio::time::timeout_at(deadline, engine.build(order, &mut say, &cancel)).await
    };
    if let Some(network) = &network {
        remove_network(&engine, network).await;
    }
    if remote_step {
        return Err(BuildError::Container(format!(
            "The base image of {file} has ONBUILD instructions, which builds don't follow. Copy them into {file}, and base it on an image without them."
        )));
    }
    let doing = || format!("built {file}");
    match built {
        Err(_) => Err(BuildError::Timeout { limit: workshop.limit, doing: doing() }),
        // As Docker says it, and as Podman does.
        Ok(Err(EngineError::Refused(why)))
            if ["non-zero code: 137", "exit status 137"].iter().any(|end| why.contains(end)) =>
        {
            Err(BuildError::OutOfMemory { limit_bytes: workshop.limits.memory_bytes_max, doing: doing() })
        }
        Ok(built) => {
            built.map(|()| name).map_err(|error| failed(&format!("The image could not be built from {file}"), error))
        }
    }
}

/// Selects the variables that the Dockerfile declares with `ARG`: the engine warns of others.
fn build_arguments(
    workshop: &mut Workshop<'_>,
    dockerfile: &str,
    file: &str,
) -> Result<BTreeMap<String, String>, BuildError> {
    let declared = dockerfile::declared_arguments(dockerfile);
    let mut given = workshop.variables.clone();
    let has_own = given.keys().any(|name| !name.starts_with("FAIRLEAD_"));
    given.retain(|name, _| declared.contains(name));
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > ARGUMENTS_BYTES_MAX {
        return Err(BuildError::Container(format!(
            "The variables that {file} declares with ARG have {bytes} bytes, more than the {ARGUMENTS_BYTES_MAX} that a container engine takes. Put large values into files of the repository."
        )));
    }
    if !given.is_empty() {
        let names: Vec<&str> = given.keys().map(String::as_str).collect();
        workshop.say(Step::Build, format!("Variables given as build arguments: {}.", names.join(", ")));
    } else if has_own {
        let words = format!("{file} declares no variable of the app with ARG, so its build gets none.");
        workshop.say(Step::Build, words);
    }
    Ok(given)
}

/// The engine would fetch them over the server's network.
fn refuse_remote_sources(dockerfile: &str, file: &str) -> Result<(), BuildError> {
    match dockerfile::remote_source(dockerfile) {
        None => Ok(()),
        Some(source) => Err(BuildError::Container(format!(
            "{file} has an ADD from `{source}`, which the container engine would fetch over the server's own network. Download it with RUN, or use COPY for files of the repository."
        ))),
    }
}

/// Makes the network of the build's containers, for which the firewall has the rules of other builds. `None`: builds share the
/// server's network, and their containers use the engine's default network.
async fn make_network(workshop: &Workshop<'_>, engine: &Engine) -> Result<Option<String>, BuildError> {
    let Some((own, private)) = &workshop.options.network else { return Ok(None) };
    let (owner, link) = (&workshop.options.image_owner, own.link(*private, workshop.deployment.as_str()));
    let name = format!("fairlead-{owner}-build-{}", tag(workshop.deployment));
    let bridge = OwnBridge { name: &name, owner, device_prefix: &link.prefix };
    let device = engine.make_own_bridge(bridge).await;
    let device = device.map_err(|error| failed("The network of the build could not be made", error))?;
    match set_group(&device, link.group) {
        // Podman makes the device with each container, in the group that reaches no private network.
        Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
            remove_network(engine, &name).await;
            Err(BuildError::server("connecting its network")(error))
        }
        _ => Ok(Some(name)),
    }
}

async fn remove_network(engine: &Engine, name: &str) {
    let until = Instant::now() + REMOVE_TIMEOUT;
    while let Err(error) = engine.remove_network(name).await {
        if Instant::now() >= until {
            // The agent's next start removes it.
            tracing::warn!(network = name, %error, "the network of a build stays");
            return;
        }
        sleep(REMOVE_PAUSE).await;
    }
}

/// Pulls the image that exists, and saves what its tag means now.
pub(crate) async fn pull(workshop: &mut Workshop<'_>, spec: &BuildSpec) -> Result<Artifact, BuildError> {
    let engine = engine(workshop).await?;
    let given = secrets::open(workshop.options, spec, spec.credentials.as_ref())?;
    let (username, password) = (secrets::text(&given, "username")?, secrets::text(&given, "password")?);
    let login = username
        .zip(password)
        .map(|(username, password)| Login { username: username.into(), password: password.into() });
    workshop.say(Step::Build, format!("Pulling {}.", spec.image));
    let (deadline, cancel) = (workshop.deadline, workshop.cancel.clone());
    let pulled = {
        let mut say = |text: String| workshop.said(Step::Build, &text);
        tokio::time::timeout_at(deadline, engine.pull(&spec.image, login.as_ref(), &mut say, &cancel)).await
    };
    let pulled =
        pulled.map_err(|_| BuildError::Timeout { limit: workshop.limit, doing: "pulled the image".to_owned() })?;
    let digest = pulled.map_err(|error| failed(&format!("The image {} could not be pulled", spec.image), error))?;
    let mut plan =
        Plan { runtime: "docker".to_owned(), start: spec.overrides.start_command.clone(), ..Plan::default() };
    let sentence = format!("Uses the image {} as it was at {digest}.", spec.image);
    workshop.say(Step::Build, sentence.clone());
    plan.sentences.push(sentence);
    // The image is saved under a name of Fairlead's. Loaded elsewhere, the registry's name would replace another image there.
    let (repository, tag) = name(&workshop.options.image_owner, spec);
    let named = engine.tag(&spec.image, &repository, &tag).await;
    named.map_err(|error| failed("The image could not be named", error))?;
    save(workshop, spec, &format!("{repository}:{tag}"), plan).await
}

/// Repository and tag of what a build makes; engines want small letters in the first. The owner is in the name, not in a label:
/// an image that was pulled can't be given one, and one of ours would travel to other servers.
fn name(owner: &str, spec: &BuildSpec) -> (String, String) {
    (format!("{}{}", below(owner), spec.app.as_str().to_lowercase()), tag(&spec.deployment))
}

fn below(owner: &str) -> String {
    format!("{LOCAL_REGISTRY}/build-{owner}/")
}

/// Names of an older agent's images.
fn formerly_below(owner: &str) -> String {
    format!("fairlead-build-{owner}/")
}

fn tag(deployment: &DeploymentId) -> String {
    deployment.as_str().to_lowercase()
}

/// Takes away the names that this owner's builds gave more than a day ago, but for those of `building`; what an image was
/// built for is in its archive, and the engine keeps its layers for the next build as long as another name holds them.
pub async fn prune_images(
    engine: &Engine,
    owner: &str,
    building: &[DeploymentId],
    now_unix_s: u64,
) -> Result<(), EngineError> {
    let kept: Vec<String> = building.iter().map(tag).collect();
    let mut images = engine.images_below(&below(owner)).await?;
    images.extend(engine.images_below(&formerly_below(owner)).await?);
    for image in images {
        let tag = image.name.rsplit(':').next().unwrap_or_default();
        let is_old = now_unix_s.saturating_sub(image.made_unix_s) > KEPT_SECONDS;
        if is_old && !kept.iter().any(|kept| kept == tag) {
            engine
                .remove(&image.name)
                .await
                .unwrap_or_else(|error| tracing::debug!(image = image.name, %error, "stays"));
        }
    }
    Ok(())
}

/// Removes the names of all images of builds of this owner.
pub async fn remove_images(engine: &Engine, owner: &str) -> Result<(), EngineError> {
    let mut images = engine.images_below(&below(owner)).await?;
    images.extend(engine.images_below(&formerly_below(owner)).await?);
    for image in images {
        engine.remove(&image.name).await?;
    }
    Ok(())
}

/// Saves an image as an artifact.
pub(crate) async fn save(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
    name: &str,
    plan: Plan,
) -> Result<Artifact, BuildError> {
    let engine = engine(workshop).await?;
    let partial = workshop.options.artifacts.join(format!("{}.part", spec.deployment));
    let cancel = workshop.cancel.clone();
    let (reader, mut writer) = tokio::io::duplex(1 << 20);
    let packed = tokio::spawn(compress(reader, partial.clone()));
    let saved = tokio::time::timeout_at(workshop.deadline, engine.save(name, &mut writer, &cancel)).await;
    drop(writer);
    let packed = packed.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    let saved = saved.map_err(|_| BuildError::Timeout { limit: workshop.limit, doing: "saved the image".to_owned() });
    let saved = saved.and_then(|saved| saved.map_err(|error| failed("The image could not be saved", error)));
    let kept = saved.and_then(|()| {
        let (digest, size_bytes) = packed.map_err(BuildError::server("saving the image"))?;
        let path = crate::artifact_path(&workshop.options.artifacts, &digest)
            .ok_or_else(|| BuildError::server("naming the image")(io::ErrorKind::InvalidData.into()))?;
        std::fs::rename(&partial, &path)
            .and_then(|()| fairlead_base::file::sync_folder(&path))
            .map_err(BuildError::server("keeping the image"))?;
        Ok((digest, size_bytes))
    });
    if kept.is_err() {
        // The first error is the one to tell; the next attempt replaces what stays.
        std::fs::remove_file(&partial).ok();
    }
    let (digest, size_bytes) = kept?;
    let mebibytes = size_bytes as f64 / f64::from(1 << 20);
    workshop.say(Step::Pack, format!("Saved the image into {mebibytes:.1} MiB, {}.", &digest[..19]));
    Ok(artifact(digest, size_bytes, ArtifactKind::Image, plan))
}

/// To a file of zstd; its digest and size.
async fn compress(mut from: impl tokio::io::AsyncRead + Unpin, into: PathBuf) -> io::Result<(String, u64)> {
    let file = std::fs::File::create(into)?;
    let mut encoder = zstd::Encoder::new(pack::HashingWriter::new(file), 3)?;
    let mut piece = vec![0; 1 << 17];
    loop {
        let count = from.read(&mut piece).await?;
        if count == 0 {
            break;
        }
        encoder.write_all(&piece[..count])?;
    }
    let hashing = encoder.finish()?;
    hashing.inner.sync_all()?;
    let hex: String = hashing.hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((format!("sha256:{hex}"), hashing.size_bytes))
}

impl Workshop<'_> {
    /// Words of the engine, which may hold what a Dockerfile prints.
    fn said(&mut self, step: Step, text: &str) {
        let text = self.redacted(text.to_owned());
        let mut log = |line| {
            // Without the escape sequences that are left out, a line may show a secret.
            let line = self.redacted(line);
            self.log(step, LogStream::Stdout, line);
        };
        let mut cutter = LineSplitter::default();
        cutter.take(text.as_bytes(), &mut log);
        cutter.finish(log);
    }
}

async fn engine(workshop: &Workshop<'_>) -> Result<Engine, BuildError> {
    if let Some(engine) = &workshop.options.engine
        && engine.answers().await
    {
        return Ok(engine.clone());
    }
    Err(BuildError::Container(
        "This server has no container engine that answers. Install Docker on it, or build on another server."
            .to_owned(),
    ))
}

fn failed(what: &str, error: EngineError) -> BuildError {
    match error {
        EngineError::Cancelled => BuildError::Cancelled,
        EngineError::Refused(why) if why.contains("no space left on device") => BuildError::DiskFull,
        EngineError::File(source) => BuildError::server("reading or writing the image")(source),
        error => BuildError::Container(format!("{what}: {}.", error.to_string().trim_end_matches('.'))),
    }
}
