//! Proxies that the lab compares: their programs, configurations and arguments.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fairlead_model::BenchmarkTarget;
use tokio::process::Command;
use tokio::time::timeout;

/// Folders of programs beside those in `PATH`: servers live there, and a service's path may lack it.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
const VERSION_CHARS_MAX: usize = 120;
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Proxy with a configuration that is equivalent to the others'.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) target: BenchmarkTarget,
    program: &'static str,
    /// Arguments that print its version.
    version: &'static [&'static str],
    /// Configuration files as (name, template). The first one is named by its arguments.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Arguments of a start. `@CONFIG@` is the path of the first file.
    pub(crate) arguments: &'static [&'static str],
    /// Environment of a start.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

const GO: &[(&str, &str)] = &[("GOMAXPROCS", "@WORKERS@")];

const PEERS: &[Peer] = &[
    Peer {
        target: BenchmarkTarget::Nginx,
        program: "nginx",
        version: &["-v"],
        files: &[("nginx.conf", include_str!("../peers/nginx.conf"))],
        arguments: &["-c", "@CONFIG@", "-p", "@FOLDER@"],
        environment: &[],
    },
    Peer {
        target: BenchmarkTarget::Haproxy,
        program: "haproxy",
        version: &["-v"],
        files: &[("haproxy.cfg", include_str!("../peers/haproxy.cfg"))],
        arguments: &["-db", "-f", "@CONFIG@"],
        environment: &[],
    },
    Peer {
        target: BenchmarkTarget::Envoy,
        program: "envoy",
        version: &["--version"],
        files: &[("envoy.yaml", include_str!("../peers/envoy.yaml"))],
        arguments: &["-c", "@CONFIG@", "--concurrency", "@WORKERS@", "--disable-hot-restart", "-l", "error"],
        environment: &[],
    },
    Peer {
        target: BenchmarkTarget::Caddy,
        program: "caddy",
        version: &["version"],
        files: &[("Caddyfile", include_str!("../peers/Caddyfile"))],
        arguments: &["run", "--adapter", "caddyfile", "--config", "@CONFIG@"],
        environment: GO,
    },
    Peer {
        target: BenchmarkTarget::Traefik,
        program: "traefik",
        version: &["version"],
        files: &[
            ("traefik.yaml", include_str!("../peers/traefik.yaml")),
            ("traefik-routes.yaml", include_str!("../peers/traefik-routes.yaml")),
        ],
        arguments: &["--configFile=@CONFIG@"],
        environment: GO,
    },
    Peer {
        target: BenchmarkTarget::H2o,
        program: "h2o",
        version: &["-v"],
        files: &[("h2o.yaml", include_str!("../peers/h2o.yaml"))],
        arguments: &["-m", "worker", "-c", "@CONFIG@"],
        environment: &[],
    },
];

/// Fairlead's own proxy, standalone and with its policies on.
pub(crate) const FAIRLEAD: Peer = Peer {
    target: BenchmarkTarget::Proxy,
    program: "fairlead-agent",
    version: &["version"],
    files: &[("fairlead.toml", include_str!("../peers/fairlead.toml"))],
    arguments: &["proxy", "--config", "@CONFIG@"],
    environment: &[("RUST_LOG", "warn")],
};

/// Number of routes beside the measured one in Fairlead's table.
const OTHER_ROUTES: usize = 999;

/// Returns the peer behind a target; `None` for the lab's own ones.
pub(crate) fn peer(target: BenchmarkTarget) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.target == target)
}

impl Peer {
    /// Returns the program's file: first of `folders`, then of `PATH` and the folders of servers.
    pub(crate) fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
        // An empty entry would be the working directory.
        let entries = std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty());
        let mut files = folders.iter().cloned().chain(entries).chain(system);
        files.find_map(|folder| Some(folder.join(self.program)).filter(|file| is_program(file)))
    }

    /// Returns the first line with a digit that the program prints as its version.
    pub(crate) async fn version(&self, program: &Path) -> std::io::Result<String> {
        let output = Command::new(program).args(self.version).stdin(Stdio::null()).kill_on_drop(true).output();
        let output = timeout(VERSION_TIMEOUT, output).await??;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().map(str::trim).find(|line| line.bytes().any(|byte| byte.is_ascii_digit()));
        Ok(line.unwrap_or_default().chars().take(VERSION_CHARS_MAX).collect())
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the values of a template's names for all peers alike.
pub(crate) struct Values<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) certificate: &'a Path,
    pub(crate) app: std::net::SocketAddr,
    pub(crate) https_port: u16,
    pub(crate) http_port: u16,
    pub(crate) metrics_port: u16,
    pub(crate) workers: usize,
}

impl Values<'_> {
    /// Fills in the names between at signs. `config`: path of the first file.
    pub(crate) fn fill(&self, template: &str, config: &Path) -> String {
        let values = [
            ("@CONFIG@", config.display().to_string()),
            ("@FOLDER@", self.folder.display().to_string()),
            ("@CERTIFICATE@", self.certificate.display().to_string()),
            ("@APP@", self.app.to_string()),
            ("@APP_HOST@", self.app.ip().to_string()),
            ("@APP_PORT@", self.app.port().to_string()),
            ("@HTTPS_PORT@", self.https_port.to_string()),
            ("@HTTP_PORT@", self.http_port.to_string()),
            ("@METRICS_PORT@", self.metrics_port.to_string()),
            ("@WORKERS@", self.workers.to_string()),
        ];
        let text = values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value));
        // Last, because it is long.
        if text.contains("@OTHER_ROUTES@") { text.replace("@OTHER_ROUTES@", &other_routes()) } else { text }
    }
}

fn other_routes() -> String {
    let route = |number| format!("[[routes]]\nhost = \"other-{number}.localhost\"\npath = \"/\"\napp = \"bench\"\n");
    (0..OTHER_ROUTES).map(route).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_use_only_names_that_have_a_value() {
        let values = Values {
            folder: Path::new("/folder"),
            certificate: Path::new("/certificate"),
            app: ([127, 0, 0, 1], 3000).into(),
            https_port: 1,
            http_port: 2,
            metrics_port: 3,
            workers: 2,
        };
        for peer in PEERS.iter().chain([&FAIRLEAD]) {
            let texts = peer.files.iter().map(|(_, text)| text).chain(peer.arguments);
            for text in texts.chain(peer.environment.iter().map(|(_, value)| value)) {
                let filled = values.fill(text, Path::new("/folder/config"));
                let left = filled.split_once('@').map(|(_, rest)| rest);
                // `@type` is Envoy's.
                assert!(left.is_none_or(|rest| rest.starts_with("type\"")), "{:?}: {filled}", peer.target);
            }
        }
    }
}
