//! Starts the app and the proxies of one run, and ends them with it.

use std::fs::Permissions;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::available_parallelism;
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_bench::{TargetEndpoint, Targets};
use fairlead_model::{BenchmarkProgram, BenchmarkTarget, LabApp, NetworkPath};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

use crate::certificate::issue;
use crate::peer::{FAIRLEAD, Peer, Values, peer};
use crate::process::Serving;

/// Time within which a program must serve.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
/// Most serving threads or processes of a proxy.
const WORKERS_MAX: usize = 8;
/// Most bytes of a program's output in the reason why it can't be measured.
const OUTPUT_BYTES_MAX: u64 = 300;

/// Programs of the lab.
#[derive(Debug, Clone)]
pub struct LabSetup {
    /// This agent's program.
    pub agent: PathBuf,
    /// Folders of other proxies' programs, searched before `PATH`.
    pub folders: Vec<PathBuf>,
}

/// Failure to set up the lab. A proxy that can't start is no failure: its rows are left out.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("the lab's folder or certificate can't be created: {0}")]
    Folder(#[source] io::Error),
    #[error("the lab's {program} can't be started: {source}")]
    Start { program: &'static str, source: io::Error },
    #[error("cancelled")]
    Cancelled,
}

/// App and proxies of one run. Dropping it ends them.
#[derive(Debug)]
pub struct Lab {
    pub targets: Targets,
    pub programs: Vec<BenchmarkProgram>,
    processes: Vec<Child>,
    folder: TempDir,
}

impl Lab {
    /// Starts the app and the proxies behind `targets`.
    pub async fn start(
        setup: &LabSetup,
        app: LabApp,
        targets: &[BenchmarkTarget],
        cancel: &CancellationToken,
    ) -> Result<Self, LabError> {
        tokio::select! {
            started = Self::start_all(setup, app, targets) => started,
            () = cancel.cancelled() => Err(LabError::Cancelled),
        }
    }

    async fn start_all(setup: &LabSetup, app: LabApp, targets: &[BenchmarkTarget]) -> Result<Self, LabError> {
        let folder = tempfile::Builder::new().prefix("fairlead-lab-").tempdir().map_err(LabError::Folder)?;
        // Workers of some proxies run as another user and read below it; secrets have modes of their own.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).map_err(LabError::Folder)?;
        let certificate = folder.path().join("certificate");
        std::fs::create_dir(&certificate).map_err(LabError::Folder)?;
        let root = issue(&certificate).map_err(LabError::Folder)?.root_der;
        let workers = available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);

        let failed = |program| move |source| LabError::Start { program, source };
        let settings = serde_json::to_string(&app).map_err(io::Error::other).map_err(failed("app"))?;
        let (process, serving) = serve(setup, &["app", &settings]).await.map_err(failed("app"))?;
        let mut lab = Self {
            targets: Targets {
                roots: vec![root],
                network_path: Some(NetworkPath::SharedNetwork),
                app_pids: process.id().into_iter().collect(),
                ..Targets::default()
            },
            programs: Vec::new(),
            processes: vec![process],
            folder,
        };
        let app = serving.address;
        for target in targets {
            let (version, configuration, started) = match target {
                BenchmarkTarget::Direct => {
                    lab.targets
                        .endpoints
                        .insert(*target, TargetEndpoint { cleartext: Some(app.into()), ..TargetEndpoint::default() });
                    continue;
                }
                BenchmarkTarget::Floor => {
                    let started = start_floor(setup, &certificate, app, workers).await;
                    (env!("CARGO_PKG_VERSION").to_owned(), String::new(), started.map_err(|error| error.to_string()))
                }
                BenchmarkTarget::Proxy => lab.start_peer(setup, &FAIRLEAD, &certificate, app, workers).await,
                other => match peer(*other) {
                    Some(peer) => lab.start_peer(setup, peer, &certificate, app, workers).await,
                    None => (String::new(), String::new(), Err("this agent can't start it".to_owned())),
                },
            };
            let skipped = match started {
                Ok((process, endpoint)) => {
                    lab.targets.endpoints.insert(*target, endpoint);
                    lab.processes.push(process);
                    None
                }
                Err(reason) => Some(reason),
            };
            lab.programs.push(BenchmarkProgram { target: *target, version, configuration, skipped });
        }
        Ok(lab)
    }

    /// Returns version, configuration and the started process or the reason why there is none.
    async fn start_peer(
        &self,
        setup: &LabSetup,
        peer: &Peer,
        certificate: &Path,
        app: SocketAddr,
        workers: usize,
    ) -> (String, String, Result<(Child, TargetEndpoint), String>) {
        let configuration = peer.files.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        let program =
            if peer.target == BenchmarkTarget::Proxy { Some(setup.agent.clone()) } else { peer.find(&setup.folders) };
        let Some(program) = program else {
            return (String::new(), configuration, Err("not installed".to_owned()));
        };
        let version = match peer.version(&program).await {
            Ok(version) => version,
            Err(error) => return (String::new(), configuration, Err(format!("its version can't be read: {error}"))),
        };
        let started = self.launch(setup, peer, &program, certificate, app, workers).await;
        (version, configuration, started.map_err(|error| error.to_string()))
    }

    async fn launch(
        &self,
        setup: &LabSetup,
        peer: &Peer,
        program: &Path,
        certificate: &Path,
        app: SocketAddr,
        workers: usize,
    ) -> io::Result<(Child, TargetEndpoint)> {
        let folder = tempfile::Builder::new().prefix("peer-").tempdir_in(self.folder.path())?.keep();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o711))?;
        std::fs::create_dir(folder.join("run"))?;
        let [https_port, http_port, metrics_port] = free_ports()?;
        let values = Values { folder: &folder, certificate, app, https_port, http_port, metrics_port, workers };
        let config = folder.join(peer.files.first().map_or("config", |(name, _)| name));
        for (name, template) in peer.files {
            std::fs::write(folder.join(name), values.fill(template, &config))?;
        }
        let output = folder.join("output");
        let log = std::fs::File::create(&output)?;
        let mut process = Command::new(&setup.agent)
            .args(["lab", "peer"])
            .arg(program)
            .arg("--")
            .args(peer.arguments.iter().map(|argument| values.fill(argument, &config)))
            .envs(peer.environment.iter().map(|(name, value)| (*name, values.fill(value, &config))))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let (https, http) = (loopback(https_port), loopback(http_port));
        if let Err(error) = listens(&mut process, [https, http]).await {
            let said = tail(&output).await;
            return Err(io::Error::other(format!("{error}: {said}")));
        }
        let pids = process.id().map(descendants).unwrap_or_default();
        Ok((process, TargetEndpoint { https: Some(https), cleartext: Some(http.into()), pids }))
    }
}

async fn start_floor(
    setup: &LabSetup,
    certificate: &Path,
    app: SocketAddr,
    workers: usize,
) -> io::Result<(Child, TargetEndpoint)> {
    let certificate = certificate.to_str().ok_or_else(|| io::Error::other("its folder is no text"))?;
    let (app, workers) = (app.to_string(), workers.to_string());
    let (process, serving) = serve(setup, &["floor", certificate, &app, &workers]).await?;
    let pids = process.id().into_iter().collect();
    Ok((process, TargetEndpoint { https: serving.https, cleartext: Some(serving.address.into()), pids }))
}

/// Starts a process of the lab and waits until it prints its addresses. It ends with its standard input, which this process holds.
async fn serve(setup: &LabSetup, arguments: &[&str]) -> io::Result<(Child, Serving)> {
    let mut process = Command::new(&setup.agent)
        .arg("lab")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = process.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    let mut line = String::new();
    timeout_at(Instant::now() + START_TIMEOUT, BufReader::new(output).read_line(&mut line)).await??;
    let serving = serde_json::from_str(&line).map_err(|_| io::Error::other("it ended before it served"))?;
    Ok((process, serving))
}

/// Waits until a process listens at all addresses.
async fn listens(process: &mut Child, addresses: [SocketAddr; 2]) -> io::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    for address in addresses {
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = process.try_wait()? {
                return Err(io::Error::other(format!("it ended before it listened ({status})")));
            }
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("it does not listen within {} s", START_TIMEOUT.as_secs())));
            }
            sleep(POLL).await;
        }
    }
    Ok(())
}

/// Returns the end of a program's output on one line.
async fn tail(output: &Path) -> String {
    let read = async {
        let mut file = tokio::fs::File::open(output).await?;
        let length = file.metadata().await?.len();
        tokio::io::AsyncSeekExt::seek(&mut file, io::SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES_MAX))).await?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await?;
        io::Result::Ok(String::from_utf8_lossy(&bytes).trim().replace('\n', " / "))
    };
    read.await.unwrap_or_else(|error| format!("its output can't be read: {error}"))
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Returns ports that are free now.
fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind(loopback(0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Returns the processes below one, without itself.
fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut queue = vec![root];
    while let Some(pid) = queue.pop() {
        // A process may end meanwhile.
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let Ok(children) = std::fs::read_to_string(task.path().join("children")) else { continue };
            let children: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            found.extend(&children);
            queue.extend(children);
        }
    }
    found
}
