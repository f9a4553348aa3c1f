//! Image builds from a Dockerfile with the engine's classic builder. Writes the request itself, because the API's client has no
//! room for more than 2 GiB of memory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use bollard::models::ContainerUpdateBody;
use bollard::query_parameters::InspectContainerOptions;
use fairlead_base::CancellationToken;
use serde_json::Value;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::container::{OWNER_LABEL, PIDS_MAX};
use crate::{Engine, EngineError};

/// Registry in the names of images that an agent makes. No registry has this name (RFC 6761), so no publisher can offer an image
/// under one of the agent's names.
pub const LOCAL_REGISTRY: &str = "fairlead.invalid";

const CPU_PERIOD_US: u64 = 100_000;
/// Most bytes of the head of an answer, and of one line of it.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Text before the short id of the container in which an instruction runs.
const RUNNING_IN: &str = "Running in ";

/// A build from a Dockerfile.
#[derive(Debug)]
pub struct ImageBuildRequest<'a> {
    /// Tar of the folder, read as it is sent.
    pub context: &'a Path,
    /// Path of the Dockerfile in the tar.
    pub dockerfile: &'a str,
    /// `name:tag` of the image.
    pub name: &'a str,
    /// Memory of each container; zero for no limit.
    pub memory_bytes: u64,
    /// Processor time of each container, 1000 = one core; zero for no limit.
    pub cpu_millis: u32,
    /// Begins with an empty cache.
    pub without_cache: bool,
    /// Network of its containers, by name; `None`: the engine's default.
    pub network: Option<&'a str>,
    /// Values of names that the Dockerfile declares with `ARG`. They stay readable in the image's history.
    pub arguments: &'a BTreeMap<String, String>,
}

impl Engine {
    /// Builds an image and passes its output to `line`. Cancelling closes the connection, which ends the build.
    ///
    /// Asks the registry for every image that the Dockerfile names (`pull`), in `FROM`, `COPY --from`, `ONBUILD` and after
    /// expansion of `ARG`. No name or start of an id resolves to an image of this server, because these are other apps'.
    pub async fn build(
        &self,
        request: ImageBuildRequest<'_>,
        line: &mut (dyn FnMut(String) + Send),
        cancel: &CancellationToken,
    ) -> Result<(), EngineError> {
        tokio::select! {
            () = cancel.cancelled() => Err(EngineError::Cancelled),
            built = self.build_to_end(&request, line) => built,
        }
    }

    async fn build_to_end(
        &self,
        request: &ImageBuildRequest<'_>,
        line: &mut (dyn FnMut(String) + Send),
    ) -> Result<(), EngineError> {
        let socket = self.socket().ok_or(EngineError::Missing)?;
        let mut context = File::open(request.context).await?;
        let head = format!(
            "POST /build?{} HTTP/1.0\r\nhost: engine\r\ncontent-type: application/x-tar\r\ncontent-length: {}\r\n\r\n",
            query(request),
            context.metadata().await?.len()
        );
        let (reader, mut writer) = UnixStream::connect(socket).await.map_err(unreachable)?.into_split();
        let send = async {
            writer.write_all(head.as_bytes()).await?;
            tokio::io::copy(&mut context, &mut writer).await
        };
        let read = self.follow(BufReader::new(reader), request.memory_bytes, line);
        tokio::pin!(read);
        tokio::select! {
            biased;
            built = &mut read => return built,
            // An engine that refuses the build closes the connection during the upload; its answer has the reason.
            sent = send => if let Err(error) = sent {
                tracing::debug!(%error, "the context was not taken whole");
            }
        }
        read.await
    }

    /// Reads the answer to its end.
    async fn follow(
        &self,
        mut answer: impl AsyncRead + Unpin + AsyncBufReadExt,
        memory_bytes: u64,
        line: &mut (dyn FnMut(String) + Send),
    ) -> Result<(), EngineError> {
        let status = read_head(&mut answer).await.map_err(unreachable)?;
        let mut built = false;
        while let Some(words) = next_line(&mut answer).await.map_err(unreachable)? {
            let said: Value = serde_json::from_slice(&words).unwrap_or(Value::Null);
            let text = |field: &str| said[field].as_str().unwrap_or_default();
            if status != 200 {
                let why = said["message"].as_str().map_or_else(|| String::from_utf8_lossy(&words), Into::into);
                return Err(EngineError::Refused(why.trim().to_owned()));
            }
            if let Some(why) = said["errorDetail"]["message"].as_str().or(said["error"].as_str()) {
                return Err(EngineError::Refused(why.to_owned()));
            }
            let words = if text("stream").is_empty() { text("status") } else { text("stream") };
            for text in words.lines().filter(|text| !text.trim().is_empty()) {
                if let Some(container) =
                    text.trim().strip_prefix("---> ").and_then(|text| text.strip_prefix(RUNNING_IN))
                {
                    self.limit_processes(container, memory_bytes).await;
                }
                built |= text.starts_with("Successfully built ");
                line(text.to_owned());
            }
        }
        // Podman sends no such message, and ends with the id alone.
        if status == 200 && (built || self.is_podman().await?) {
            return Ok(());
        }
        Err(EngineError::Refused(format!("it ended the build without a word (status {status})")))
    }

    /// Limits the processes of a build's container, for which the builder has no setting. A program of the build can print the
    /// builder's words itself, so only a container with exactly the build's memory limit is changed.
    async fn limit_processes(&self, container: &str, memory_bytes: u64) {
        if memory_bytes == 0 || container.len() != 12 || !container.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return;
        }
        let limited = async {
            let docker = self.api().await?;
            let found = docker.inspect_container(container, None::<InspectContainerOptions>).await?;
            let host = found.host_config.unwrap_or_default();
            let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
            let memory = u64::try_from(host.memory.unwrap_or_default()).unwrap_or_default();
            if memory == memory_bytes && !labels.contains_key(OWNER_LABEL) {
                let limit = ContainerUpdateBody { pids_limit: Some(i64::from(PIDS_MAX)), ..Default::default() };
                docker.update_container(container, limit).await?;
            }
            Ok::<(), EngineError>(())
        };
        // The container may have ended already.
        if let Err(error) = limited.await {
            tracing::debug!(container, %error, "its processes are not limited");
        }
    }
}

fn query(request: &ImageBuildRequest<'_>) -> String {
    let mut query = format!(
        "version=1&pull=true&rm=true&forcerm=true&nocache={}&dockerfile={}&t={}",
        request.without_cache,
        encoded(request.dockerfile),
        encoded(request.name)
    );
    if request.memory_bytes > 0 {
        // The same limit with swap as without: no swap.
        query.push_str(&format!("&memory={0}&memswap={0}", request.memory_bytes));
    }
    if request.cpu_millis > 0 {
        let quota = u64::from(request.cpu_millis) * CPU_PERIOD_US / 1000;
        query.push_str(&format!("&cpuperiod={CPU_PERIOD_US}&cpuquota={quota}"));
    }
    if let Some(network) = request.network {
        query.push_str(&format!("&networkmode={}", encoded(network)));
    }
    if !request.arguments.is_empty() {
        query.push_str(&format!("&buildargs={}", encoded(&serde_json::json!(request.arguments).to_string())));
    }
    query
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn unreachable(error: io::Error) -> EngineError {
    EngineError::Refused(format!("it can't be asked for the build ({error})"))
}

/// Reads the status line and the headers; returns the status.
async fn read_head(answer: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<u16> {
    let mut status = None;
    while let Some(line) = next_line(answer).await? {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        status = status.or_else(|| line.split(' ').nth(1)?.parse().ok());
    }
    status.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the next line; `None` at the end.
async fn next_line(answer: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let count = answer.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    Ok((count > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_asks_registries_for_its_images_and_gives_memory_as_it_is() {
        let request = ImageBuildRequest {
            context: Path::new("/x"),
            dockerfile: "web/Dockerfile a&pull=false",
            name: "fairlead.invalid/a:b",
            memory_bytes: 6 << 30,
            cpu_millis: 1500,
            without_cache: false,
            network: Some("fairlead-0a-build"),
            arguments: &BTreeMap::from([("A".to_owned(), "b&c".to_owned())]),
        };
        assert_eq!(
            query(&request),
            "version=1&pull=true&rm=true&forcerm=true&nocache=false&dockerfile=web%2FDockerfile%20a%26pull%3Dfalse\
             &t=fairlead.invalid%2Fa%3Ab&memory=6442450944&memswap=6442450944&cpuperiod=100000&cpuquota=150000&networkmode=fairlead-0a-build\
             &buildargs=%7B%22A%22%3A%22b%26c%22%7D"
        );
    }
}
