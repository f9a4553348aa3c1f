//! Third-party programs that the lab starts: their paths, versions, configurations and arguments.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fairlead_fetch::Digest;
use fairlead_model::LabApp;
use tokio::process::Command;
use tokio::time::timeout;

/// Folders of programs beside those in `PATH`: servers live there, and a service's path may lack it.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
const VERSION_CHARS_MAX: usize = 120;
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Hexadecimal digits of a digest that stand for a version.
const DIGEST_DIGITS: usize = 16;

/// Program with its configuration. Names between at signs are those of `Values`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabProgram {
    pub(crate) name: &'static str,
    /// Arguments that print its version; empty: it prints none.
    pub(crate) version: &'static [&'static str],
    /// Configuration files as (path in its folder, template). Its arguments name the first one.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Arguments of a start. `@CONFIG@` is the path of the first file.
    pub(crate) arguments: &'static [&'static str],
    /// Environment of a start.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

/// Changes of configuration files, as (text, replacement).
pub(crate) type Replacements = &'static [(&'static str, &'static str)];

/// Returns a text with all replacements, in their order.
pub(crate) fn replaced(text: &str, replacements: Replacements) -> String {
    replacements.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Environment variables of the agent that programs of the lab inherit: folders of programs, libraries, modules and files.
/// A proxy from an archive, Uvicorn from pip and Puma from gem need them to start.
const INHERITED: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "GEM_HOME", "GEM_PATH"];

/// Returns a command with `LANG` and the `INHERITED` variables. The agent's other variables may hold tokens and passwords.
pub(crate) fn command_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LANG", "C.UTF-8");
    command.envs(INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    command
}

/// Number of routes beside the measured one in Fairlead's table.
const OTHER_ROUTES: usize = 999;

impl LabProgram {
    /// Returns the program's file: first of `folders`, then of `PATH` and the folders of servers.
    pub(crate) fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
        // An empty entry would be the working directory.
        let entries = std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty());
        let mut files = folders.iter().cloned().chain(entries).chain(system);
        files.find_map(|folder| Some(folder.join(self.name)).filter(|file| is_program(file)))
    }

    /// Returns the first line with a digit that the program prints as its version, or the digest of one that prints none.
    pub(crate) async fn version(&self, program: &Path) -> std::io::Result<String> {
        if self.version.is_empty() {
            let program = program.to_owned();
            let hex = tokio::task::spawn_blocking(move || Digest::hex_of(&program)).await??;
            return Ok(format!("sha256:{}", hex.chars().take(DIGEST_DIGITS).collect::<String>()));
        }
        let output = command_of(program).args(self.version).stdin(Stdio::null()).kill_on_drop(true).output();
        let output = timeout(VERSION_TIMEOUT, output).await??;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().map(str::trim).find(|line| line.bytes().any(|byte| byte.is_ascii_digit()));
        Ok(line.unwrap_or_default().chars().take(VERSION_CHARS_MAX).collect())
    }

    /// Returns the folders of its files below the program's own folder, parents first.
    pub(crate) fn folders(&self) -> BTreeSet<&'static Path> {
        let paths = self.files.iter().flat_map(|(name, _)| Path::new(name).ancestors().skip(1));
        paths.filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// Returns its configuration files as one text.
    pub(crate) fn configuration(&self) -> String {
        self.files.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n")
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the values of a template's names for all programs alike.
pub(crate) struct Values {
    pub(crate) folder: PathBuf,
    pub(crate) certificate: PathBuf,
    /// Host of all requests.
    pub(crate) host: String,
    pub(crate) app: SocketAddr,
    pub(crate) https_port: u16,
    pub(crate) http_port: u16,
    pub(crate) metrics_port: u16,
    pub(crate) workers: usize,
    /// Random password of this lab.
    pub(crate) secret: String,
    pub(crate) response: LabApp,
    /// Changes of the templates before their names are filled in.
    pub(crate) replacements: Replacements,
}

impl Values {
    /// Fills in the names between at signs. `config`: path of the first file.
    pub(crate) fn fill(&self, template: &str, config: &Path) -> String {
        let values = [
            ("@CONFIG@", config.display().to_string()),
            ("@FOLDER@", self.folder.display().to_string()),
            ("@CERTIFICATE@", self.certificate.display().to_string()),
            ("@HOST@", self.host.clone()),
            ("@APP@", self.app.to_string()),
            ("@APP_HOST@", self.app.ip().to_string()),
            ("@APP_PORT@", self.app.port().to_string()),
            ("@HTTPS_PORT@", self.https_port.to_string()),
            ("@HTTP_PORT@", self.http_port.to_string()),
            ("@METRICS_PORT@", self.metrics_port.to_string()),
            ("@WORKERS@", self.workers.to_string()),
            ("@SECRET@", self.secret.clone()),
            ("@RESPONSE_BYTES@", self.response.response_bytes.to_string()),
            ("@RESPONSE_DELAY_MS@", self.response.response_delay.as_millis().to_string()),
        ];
        let template = replaced(template, self.replacements);
        let text = values.iter().fold(template, |text, (name, value)| text.replace(name, value));
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_version_is_read_without_the_variables_of_the_agent() {
        // Cargo gives tests variables that no program needs.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("proxy");
        std::fs::write(&file, "#!/bin/sh\necho 1 ${PATH:+path} $CARGO_MANIFEST_DIR\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program =
            LabProgram { name: "proxy", version: &["--version"], files: &[], arguments: &[], environment: &[] };
        assert_eq!(program.version(&file).await.unwrap(), "1 path");
    }

    /// Most memory that this process has had.
    fn memory_peak_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    #[tokio::test]
    async fn a_program_without_a_version_is_never_whole_in_memory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let program = LabProgram { name: "proxy", version: &[], files: &[], arguments: &[], environment: &[] };
        assert_eq!(program.version(file.path()).await.unwrap(), "sha256:e3b0c44298fc1c14");
        let size = 1 << 28;
        file.as_file().set_len(size).unwrap();
        let before = memory_peak_bytes();
        assert_eq!(program.version(file.path()).await.unwrap(), "sha256:a6d72ac7690f53be");
        let grown = memory_peak_bytes() - before;
        assert!(grown < size / 2, "{grown}");
    }
}
