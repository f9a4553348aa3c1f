//! Starts the app and the proxies of one run, and ends them with it.

use std::fs::{File, Permissions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use aws_lc_rs::rand::fill;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fairlead_base::CancellationToken;
use fairlead_base::accounts::User;
use fairlead_bench::{EmulatedLink, TargetEndpoint, Targets};
use fairlead_model::{
    BenchmarkPlan, BenchmarkProgram, BenchmarkProtocol, BenchmarkScenario, BenchmarkTarget, LabApp, NetworkPath,
};
use fairlead_network::run_inside;
use fairlead_telemetry::tree_of;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

use crate::certificate::{CERTIFICATE_FILES, issue};
use crate::folder::LabFolder;
use crate::link::LinkNamespaces;
use crate::peer::{FAIRLEAD, Peer, peer};
use crate::process::Serving;
use crate::program::{LabProgram, Values, command_of};
use crate::server::app_server;
use crate::user::{give, user_of_programs};

/// Time within which a program must serve.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
/// Most serving threads or processes of a proxy.
const WORKERS_MAX: usize = 8;
/// Most bytes of a program's output in the reason why it can't be measured.
const OUTPUT_BYTES_MAX: u64 = 300;
/// Attempts to start a program on ports that are free.
const STARTS_MAX: u32 = 3;
/// Part of the message of EADDRINUSE, as programs print it.
const PORT_TAKEN: &str = "address already in use";

/// Programs of the lab.
#[derive(Debug, Clone)]
pub struct LabSetup {
    /// This agent's program.
    pub agent: PathBuf,
    /// Folders of other proxies' programs, searched before `PATH`.
    pub folders: Vec<PathBuf>,
}

/// Copy of an app's release that answers in the lab.
#[derive(Debug, Clone)]
pub struct LabCopy {
    pub address: SocketAddr,
    /// First process of the copy.
    pub pid: u32,
    /// Its network namespace, which the proxies and the clients enter; `None`: that of the server.
    pub network: Option<Arc<OwnedFd>>,
}

/// Failure to set up the lab. A proxy that can't start is no failure: its rows are left out.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("the lab's folder or certificate can't be created: {0}")]
    Folder(#[source] io::Error),
    #[error("the lab's {program} can't be started: {source}")]
    Start { program: &'static str, source: io::Error },
    #[error("a link between clients and proxies can't be emulated ({0})")]
    Link(String),
    #[error("the app server {0} is not installed")]
    NotInstalled(&'static str),
    #[error("cancelled")]
    Cancelled,
}

/// App and proxies of one run. Dropping it ends them.
#[derive(Debug)]
pub struct Lab {
    pub targets: Targets,
    pub programs: Vec<BenchmarkProgram>,
    setup: LabSetup,
    /// Network namespace of the app and the proxies; `None`: that of this process.
    network: Option<PathBuf>,
    processes: Vec<Child>,
    folder: LabFolder,
    /// Folder of the proxies' certificate.
    certificate: PathBuf,
    /// User of the programs; `None`: that of this process.
    user: Option<User>,
    /// Host of the certificate and of all requests.
    host: String,
    /// Password for the APIs of programs.
    secret: String,
    /// Serving threads or processes of each program.
    workers: usize,
    response: LabApp,
}

impl Lab {
    /// Starts the app and the proxies that a plan compares, and the link in front of them if its scenario needs one. A
    /// `copy` runs already, and answers in place of the app.
    pub async fn start(
        setup: &LabSetup,
        plan: &BenchmarkPlan,
        app: LabApp,
        copy: Option<LabCopy>,
        cancel: &CancellationToken,
    ) -> Result<Self, LabError> {
        tokio::select! {
            started = Self::start_all(setup, plan, app, copy) => started,
            () = cancel.cancelled() => Err(LabError::Cancelled),
        }
    }

    async fn start_all(
        setup: &LabSetup,
        plan: &BenchmarkPlan,
        response: LabApp,
        copy: Option<LabCopy>,
    ) -> Result<Self, LabError> {
        let folder = LabFolder::create(&std::env::temp_dir()).map_err(LabError::Folder)?;
        let certificate = folder.path().join("certificate");
        std::fs::create_dir(&certificate).map_err(LabError::Folder)?;
        let root = issue(&certificate, &plan.host).map_err(LabError::Folder)?.root_der;
        // Only the programs read the keys; all of the authority stays this process's own.
        std::fs::set_permissions(&certificate, Permissions::from_mode(0o711)).map_err(LabError::Folder)?;
        let files = CERTIFICATE_FILES.map(|name| certificate.join(name));
        let user = user_of_programs(folder.path(), &files.each_ref().map(PathBuf::as_path));
        let workers = available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
        let mut lab = Self {
            targets: Targets {
                roots: vec![root],
                network_path: Some(NetworkPath::SharedNetwork),
                ..Targets::default()
            },
            programs: Vec::new(),
            setup: setup.clone(),
            network: None,
            processes: Vec::new(),
            folder,
            certificate,
            user,
            host: plan.host.clone(),
            secret: secret().map_err(LabError::Folder)?,
            workers,
            response,
        };
        if plan.scenario == BenchmarkScenario::PacketLoss {
            lab.start_link().await.map_err(|error| LabError::Link(error.to_string()))?;
        }
        let app = match (copy, app_server(plan.lab_server)) {
            (Some(copy), _) => lab.enter(copy),
            (None, None) => lab.start_own_app().await.map_err(|source| LabError::Start { program: "app", source })?,
            (None, Some(program)) => lab.start_app_server(program).await?,
        };
        // Behind a link, app and clients have different networks.
        lab.targets.app_address = Some(app).filter(|_| lab.targets.link.is_none());
        for target in &plan.targets {
            let (version, configuration, started) = match target {
                BenchmarkTarget::Direct => {
                    lab.targets
                        .endpoints
                        .insert(*target, TargetEndpoint { cleartext: Some(app.into()), ..TargetEndpoint::default() });
                    continue;
                }
                BenchmarkTarget::Floor => {
                    let started = lab.start_floor(app).await;
                    (env!("CARGO_PKG_VERSION").to_owned(), String::new(), started.map_err(|error| error.to_string()))
                }
                BenchmarkTarget::Proxy => lab.start_peer(&FAIRLEAD, app).await,
                other => match peer(*other) {
                    Some(peer) => lab.start_peer(peer, app).await,
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

    /// Uses a copy as the app of the lab. Everything that starts later is in the copy's network.
    fn enter(&mut self, copy: LabCopy) -> SocketAddr {
        let LabCopy { address, pid, network } = copy;
        self.targets.app_pids = vec![pid];
        if let Some(network) = network {
            // This process holds the namespace open as long as the lab runs.
            self.network = Some(format!("/proc/{}/fd/{}", std::process::id(), network.as_raw_fd()).into());
            self.targets.network_path = Some(NetworkPath::BenchNamespace);
            self.targets.network = Some(network);
        }
        address
    }

    /// Starts the link. Everything that starts after it is at its far end.
    async fn start_link(&mut self) -> io::Result<()> {
        let mut process = self.lab_command(&["link"]).spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = input.zip(output).ok_or_else(|| io::Error::other("it has no input"))?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        timeout_at(Instant::now() + START_TIMEOUT, output.read_line(&mut line)).await??;
        let Ok(namespaces) = serde_json::from_str::<LinkNamespaces>(&line) else {
            let mut said = String::new();
            if let Some(mut errors) = process.stderr.take() {
                errors.read_to_string(&mut said).await?;
            }
            let said = said.trim().trim_start_matches("fairlead-agent: ").to_owned();
            return Err(io::Error::other(said));
        };
        let clients = File::open(&namespaces.clients)?;
        self.targets.link = Some(EmulatedLink::new(clients.into(), input, output));
        self.network = Some(namespaces.proxies);
        self.processes.push(process);
        Ok(())
    }

    async fn start_own_app(&mut self) -> io::Result<SocketAddr> {
        let settings = serde_json::to_string(&self.response)?;
        let (process, serving) = self.serve(&["app", &settings]).await?;
        self.targets.app_pids = process.id().into_iter().collect();
        self.processes.push(process);
        Ok(serving.address)
    }

    async fn start_app_server(&mut self, program: &LabProgram) -> Result<SocketAddr, LabError> {
        let missing = LabError::NotInstalled(program.name);
        let file = program.find(&self.setup.folders).ok_or(missing)?;
        let failed = |source| LabError::Start { program: program.name, source };
        let version = program.version(&file).await.map_err(failed)?;
        let configuration = program.configuration();
        self.programs.push(BenchmarkProgram { target: BenchmarkTarget::Direct, version, configuration, skipped: None });
        let started = launched(|| self.launch_app_server(program, &file)).await.map_err(failed)?;
        let (process, address) = started;
        self.targets.app_pids = process.id().into_iter().collect();
        self.processes.push(process);
        Ok(address)
    }

    async fn launch_app_server(&self, program: &LabProgram, file: &Path) -> io::Result<(Child, SocketAddr)> {
        let [port] = self.free_ports()?;
        let values = Values { app: loopback(port), ..self.values(loopback(port)) };
        let (process, _) = self.run(program, file, values, &[loopback(port)]).await?;
        Ok((process, loopback(port)))
    }

    /// Returns version, configuration and the started process or the reason why there is none.
    async fn start_peer(
        &self,
        peer: &Peer,
        app: SocketAddr,
    ) -> (String, String, Result<(Child, TargetEndpoint), String>) {
        let is_grpc = self.response.speaks_grpc;
        let configuration = peer.configuration(is_grpc);
        if is_grpc && !peer.target.speaks(BenchmarkProtocol::Grpc) {
            return (String::new(), configuration, Err("the lab has no configuration of it for gRPC".to_owned()));
        }
        let program = if peer.target == BenchmarkTarget::Proxy {
            Some(self.setup.agent.clone())
        } else {
            peer.program.find(&self.setup.folders)
        };
        let Some(program) = program else {
            return (String::new(), configuration, Err("not installed".to_owned()));
        };
        let version = match peer.program.version(&program).await {
            Ok(version) => version,
            Err(error) => return (String::new(), configuration, Err(format!("its version can't be read: {error}"))),
        };
        let started = launched(|| self.launch(peer, &program, app)).await;
        (version, configuration, started.map_err(|error| error.to_string()))
    }

    async fn launch(&self, peer: &Peer, file: &Path, app: SocketAddr) -> io::Result<(Child, TargetEndpoint)> {
        let [https_port, http_port, metrics_port] = self.free_ports()?;
        let (https, http) = (loopback(https_port), loopback(http_port));
        let replacements = peer.replacements(self.response.speaks_grpc);
        let values = Values { https_port, http_port, metrics_port, replacements, ..self.values(app) };
        let serves_http = peer.target.speaks(BenchmarkProtocol::Http1Cleartext);
        let listeners = if serves_http { vec![https, http] } else { vec![https] };
        let (process, command) = self.run(&peer.program, file, values, &listeners).await?;
        if !peer.route_arguments.is_empty() {
            self.call(file, &command, peer.route_arguments).await?;
        }
        let pids = process.id().and_then(program_of).into_iter().collect();
        let cleartext = serves_http.then(|| http.into());
        Ok((process, TargetEndpoint { https: Some(https), cleartext, pids }))
    }

    fn values(&self, app: SocketAddr) -> Values {
        Values {
            folder: PathBuf::new(),
            certificate: self.certificate.clone(),
            host: self.host.clone(),
            app,
            https_port: 0,
            http_port: 0,
            metrics_port: 0,
            workers: self.workers,
            secret: self.secret.clone(),
            response: self.response,
            replacements: &[],
        }
    }

    /// Starts a program in a folder of its own, and waits until it listens.
    async fn run(
        &self,
        program: &LabProgram,
        file: &Path,
        values: Values,
        listeners: &[SocketAddr],
    ) -> io::Result<(Child, FilledProgram)> {
        let folder = self.folder.add()?;
        let values = Values { folder, ..values };
        let config = values.folder.join(program.files.first().map_or("config", |(name, _)| name));
        for (name, template) in program.files {
            let file = values.folder.join(name);
            file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(file, values.fill(template, &config))?;
        }
        let output = values.folder.join("output");
        let log = File::create(&output)?;
        // A handle from before the start: the program may own the folder, and put a link in the file's place.
        let said = File::open(&output)?;
        if let Some(user) = self.user {
            for (name, _) in program.files {
                give(&values.folder.join(name), user)?;
            }
            // Last, because programs of the same user may then replace the files in them.
            for name in program.folders().iter().rev() {
                give(&values.folder.join(name), user)?;
            }
            give(&values.folder.join("run"), user)?;
            give(&values.folder, user)?;
        }
        let filled = FilledProgram { values, config, environment: program.environment };
        let mut command = self.program_command(file, &filled, program.arguments)?;
        let mut process = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        if let Err(error) = self.listens(&mut process, listeners).await {
            let said = tail(said).await;
            return Err(io::Error::other(format!("{error}: {said}")));
        }
        Ok((process, filled))
    }

    /// Returns a `lab peer`, which ends its program when its standard input ends, or when it is killed.
    fn program_command(&self, file: &Path, filled: &FilledProgram, arguments: &[&str]) -> io::Result<Command> {
        let mut command = self.lab_command(&["peer"]);
        if let Some(User { uid, gid }) = self.user {
            command.args(["--user", &uid.to_string(), "--group", &gid.to_string()]);
            command.env("HOME", filled.values.folder.join("run"));
        }
        // The user can't read the agent's folders, and GoDoxy reads its files below its working directory.
        command.current_dir(&filled.values.folder);
        command.arg(std::path::absolute(file)?).arg("--").args(filled.fill(arguments)).envs(filled.environment());
        Ok(command)
    }

    /// Runs another command of a program, to its end.
    async fn call(&self, file: &Path, filled: &FilledProgram, arguments: &[&str]) -> io::Result<()> {
        let mut process = self.program_command(file, filled, arguments)?.spawn()?;
        // The command ends with its input.
        let _input = process.stdin.take();
        let output = timeout_at(Instant::now() + START_TIMEOUT, process.wait_with_output()).await??;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / ");
        Err(io::Error::other(format!("it refused its routes ({}): {said}", output.status)))
    }

    async fn start_floor(&self, app: SocketAddr) -> io::Result<(Child, TargetEndpoint)> {
        let certificate = self.certificate.to_str().ok_or_else(|| io::Error::other("its folder is no text"))?;
        let (app, workers) = (app.to_string(), self.workers.to_string());
        let (process, serving) = self.serve(&["floor", certificate, &app, &workers]).await?;
        let pids = process.id().into_iter().collect();
        Ok((process, TargetEndpoint { https: serving.https, cleartext: Some(serving.address.into()), pids }))
    }

    /// Starts a process of the lab and waits until it prints its addresses. It ends with its standard input, which this
    /// process holds.
    async fn serve(&self, arguments: &[&str]) -> io::Result<(Child, Serving)> {
        let mut process = self.lab_command(arguments).stderr(Stdio::inherit()).spawn()?;
        let output = process.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
        let mut line = String::new();
        timeout_at(Instant::now() + START_TIMEOUT, BufReader::new(output).read_line(&mut line)).await??;
        let serving = serde_json::from_str(&line).map_err(|_| io::Error::other("it ended before it served"))?;
        Ok((process, serving))
    }

    fn lab_command(&self, arguments: &[&str]) -> Command {
        let mut command = command_of(&self.setup.agent);
        command.arg("lab");
        if let Some(network) = &self.network {
            command.arg("--network").arg(network);
        }
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Waits until a process listens at all addresses.
    async fn listens(&self, process: &mut Child, addresses: &[SocketAddr]) -> io::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        for address in addresses {
            while self.connect(*address).await.is_err() {
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

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match (&self.targets.link, &self.targets.network) {
            (Some(link), _) => link.connect(address).await,
            (None, Some(network)) => run_inside(network.as_fd(), TcpSocket::new_v4)?.connect(address).await,
            (None, None) => TcpStream::connect(address).await,
        }
    }

    /// Returns ports that are free now in the network of the proxies. Behind a link, they are those of this process's network.
    fn free_ports<const N: usize>(&self) -> io::Result<[u16; N]> {
        match &self.targets.network {
            Some(network) => run_inside(network.as_fd(), free_ports),
            None => free_ports(),
        }
    }
}

/// Program with the values of its run.
struct FilledProgram {
    values: Values,
    config: PathBuf,
    environment: &'static [(&'static str, &'static str)],
}

impl FilledProgram {
    fn fill(&self, arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|argument| self.values.fill(argument, &self.config)).collect()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        self.environment.iter().map(|(name, value)| (*name, self.values.fill(value, &self.config))).collect()
    }
}

/// Repeats a start that failed because another process took its port meanwhile.
async fn launched<T, Launch: Future<Output = io::Result<T>>>(launch: impl Fn() -> Launch) -> io::Result<T> {
    for _ in 1..STARTS_MAX {
        match launch().await {
            Err(error) if error.to_string().to_ascii_lowercase().contains(PORT_TAKEN) => {
                tracing::warn!(%error, "a port was taken meanwhile; starting again");
            }
            outcome => return outcome,
        }
    }
    launch().await
}

/// Returns the end of a program's output on one line.
async fn tail(output: File) -> String {
    let read = async {
        let mut file = tokio::fs::File::from_std(output);
        let length = file.metadata().await?.len();
        tokio::io::AsyncSeekExt::seek(&mut file, io::SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES_MAX))).await?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await?;
        io::Result::Ok(String::from_utf8_lossy(&bytes).trim().replace('\n', " / "))
    };
    read.await.unwrap_or_else(|error| format!("its output can't be read: {error}"))
}

/// Returns a random password.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(STANDARD_NO_PAD.encode(bytes))
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

/// Returns the program of a `lab peer`, which starts it before its guard.
fn program_of(peer: u32) -> Option<u32> {
    tree_of(peer).get(1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a program of a lab whose agent is a script that prints its environment.
    async fn environment_of_program(user: Option<User>) -> Vec<String> {
        let parent = tempfile::tempdir().unwrap();
        let agent = parent.path().join("agent");
        std::fs::write(&agent, "#!/bin/sh\nexec env\n").unwrap();
        std::fs::set_permissions(&agent, Permissions::from_mode(0o755)).unwrap();
        let lab = Lab {
            targets: Targets::default(),
            programs: Vec::new(),
            setup: LabSetup { agent, folders: Vec::new() },
            network: None,
            processes: Vec::new(),
            folder: LabFolder::create(parent.path()).unwrap(),
            certificate: PathBuf::new(),
            user,
            host: "bench.localhost".to_owned(),
            secret: String::new(),
            workers: 2,
            response: LabApp {
                response_bytes: 13,
                response_delay: Duration::ZERO,
                error_every: 0,
                serves_probes: false,
                speaks_grpc: false,
            },
        };
        let values = Values { folder: parent.path().to_owned(), ..lab.values(loopback(1)) };
        let filled =
            FilledProgram { values, config: PathBuf::new(), environment: &[("GODOXY_API_USER", "lab-@WORKERS@")] };
        let mut command = lab.program_command(Path::new("/bin/true"), &filled, &[]).unwrap();
        let output = command.output().await.unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_program_gets_its_own_variables_and_no_others_of_the_agent() {
        // Cargo gives tests variables that no program needs.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let own = environment_of_program(None).await;
        let agents = |name: &str| format!("{name}={}", std::env::var(name).unwrap());
        for line in [agents("PATH"), agents("HOME"), "LANG=C.UTF-8".to_owned(), "GODOXY_API_USER=lab-2".to_owned()] {
            assert!(own.contains(&line), "{line}: {own:?}");
        }
        assert!(!own.iter().any(|line| line.starts_with("CARGO")), "{own:?}");
        let other = environment_of_program(Some(User { uid: 1, gid: 1 })).await;
        assert!(other.iter().any(|line| line.starts_with("HOME=") && line.ends_with("/run")), "{other:?}");
    }
}
