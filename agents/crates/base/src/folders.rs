//! Layout of the agent's data folder. Invariant: every path inside it is built here.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::accounts;

/// Returns a number that differs between data folders, so that two agents on one server don't meet (FNV-1a).
pub fn fingerprint(root: &Path) -> u64 {
    let bytes = root.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Data folder and the paths in it.
#[derive(Debug, Clone)]
pub struct Folders {
    root: PathBuf,
}

impl Folders {
    /// Stores the path without creating anything. The path becomes absolute, as children may run in other folders.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: std::path::absolute(root)? })
    }

    /// Creates missing folders. Those that an app's user must traverse are 0711, the others 0700.
    pub fn create(&self) -> io::Result<()> {
        for (path, mode) in [
            (self.root.clone(), 0o711),
            (self.state(), 0o700),
            (self.spool(), 0o700),
            (self.builds(), 0o711),
            (self.artifacts(), 0o700),
            (self.releases(), 0o711),
            (self.instances(), 0o711),
            (self.homes(), 0o711),
            (self.volumes(), 0o711),
            (self.caches(), 0o711),
            (self.trash(), 0o700),
            (self.toolchains(), 0o755),
            (self.agents(), 0o711),
            (self.authority(), 0o700),
            (self.run(), 0o700),
            (self.control(), 0o710),
            (self.logs(), 0o700),
            (self.app_logs(), 0o700),
        ] {
            DirBuilder::new().recursive(true).mode(mode).create(&path)?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
        }
        Ok(())
    }

    /// Returns the data folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `agent.toml`: identity of the server and its control plane; created by enrolment.
    pub fn config(&self) -> PathBuf {
        self.root.join("agent.toml")
    }

    /// Ed25519 seed of the agent, 32 bytes, 0600.
    pub fn key(&self) -> PathBuf {
        self.root.join("key.ed25519")
    }

    /// Key that secrets are sealed to, 32 bytes, 0600.
    pub fn sealing_key(&self) -> PathBuf {
        self.root.join("key.age")
    }

    /// State that must survive a restart of the agent.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Last accepted desired state, exactly as it was signed.
    pub fn desired_state(&self) -> PathBuf {
        self.state().join("desired.bin")
    }

    /// Outcomes of builds and benchmarks.
    pub fn local_state(&self) -> PathBuf {
        self.state().join("local.json")
    }

    /// Pushes that the control plane has not acknowledged.
    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// Working folders of builds.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Packed artifacts by digest.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Unpacked releases by id.
    pub fn releases(&self) -> PathBuf {
        self.root.join("releases")
    }

    /// Folders of instances, each with `spec.json` and `log/`.
    pub fn instances(&self) -> PathBuf {
        self.root.join("instances")
    }

    /// Home folders of apps, which outlive their instances.
    pub fn homes(&self) -> PathBuf {
        self.root.join("homes")
    }

    /// Persistent folders of apps, by app and environment, then by name.
    pub fn volumes(&self) -> PathBuf {
        self.root.join("volumes")
    }

    /// Build caches, one folder for each app.
    pub fn caches(&self) -> PathBuf {
        self.root.join("caches")
    }

    /// Unused trees that wait for removal.
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// Runtimes and tools by name and version, readable by all builds and apps.
    pub fn toolchains(&self) -> PathBuf {
        self.root.join("toolchains")
    }

    /// Returns the folder of a toolchain's programs by a name like `node@24.4.1`; `None` if the name is invalid.
    pub fn toolchain_programs(&self, name: &str) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@.-_+".contains(&byte);
        let valid = name.len() <= 100 && name.contains('@') && !name.starts_with('.') && name.bytes().all(plain);
        valid.then(|| self.toolchains().join(name).join("bin"))
    }

    /// Programs of the agent itself by the hex of their digest, beside the one that was installed.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// Record of the agent's current program and the one on trial.
    pub fn agent_record(&self) -> PathBuf {
        self.state().join("agent.json")
    }

    /// Local certificate authority: `ca.pem` and `ca.key`.
    pub fn authority(&self) -> PathBuf {
        self.root.join("ca")
    }

    /// Certificate authority for one host of a control plane on this server: `ca.pem` and `ca.key`.
    pub fn control_authority(&self, host: &str) -> PathBuf {
        self.control_authorities().join(host)
    }

    /// Folders of the authorities of a control plane's hosts, by host.
    pub fn control_authorities(&self) -> PathBuf {
        self.root.join("control-ca")
    }

    /// Sockets. Their names are short: a socket's path holds at most 107 bytes.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Unix sockets of a control plane on this server, `web.sock` and `gateway.sock`; the proxy routes to them.
    pub fn control(&self) -> PathBuf {
        self.root.join("control")
    }

    /// Folders with sockets of the agent, its shims and the control plane.
    pub fn socket_folders(&self) -> Vec<PathBuf> {
        vec![self.instances(), self.run(), self.control()]
    }

    /// Grants only the proxy's user access to the folder of the control plane's sockets. Without root all run as one user.
    pub fn let_proxy_enter_control(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            chown(self.control(), Some(0), Some(accounts::proxy_user()?.gid))?;
        }
        Ok(())
    }

    /// Access log of the proxy and its closed segments.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Logs of apps, by app and environment, process and instance.
    pub fn app_logs(&self) -> PathBuf {
        self.logs().join("apps")
    }

    /// Free disk space in the last day.
    pub fn disk_history(&self) -> PathBuf {
        self.state().join("disk.json")
    }

    /// Lock file that the `run` of this folder holds.
    pub fn run_lock(&self) -> PathBuf {
        self.run().join("run.lock")
    }

    /// Next log line numbers, by deployment.
    pub fn log_lines(&self) -> PathBuf {
        self.state().join("log-lines.json")
    }

    /// Control socket of the proxy.
    pub fn proxy_socket(&self) -> PathBuf {
        self.run().join("proxy.sock")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn apps_may_pass_to_their_release_but_never_read_keys_or_sockets() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(&dir.path().join("data")).unwrap();
        folders.create().unwrap();
        folders.create().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folders.root()), 0o711);
        assert_eq!(mode(&folders.releases()), 0o711);
        assert_eq!(mode(&folders.toolchains()), 0o755);
        assert_eq!(folders.toolchain_programs("go@1.26.8").unwrap(), folders.toolchains().join("go@1.26.8/bin"));
        for bad in ["", "node", "../../etc@1", ".@1", "a b@1", "@scope/x@1"] {
            assert_eq!(folders.toolchain_programs(bad), None, "{bad}");
        }
        for private in
            [folders.trash(), folders.state(), folders.authority(), folders.run(), folders.spool(), folders.logs()]
        {
            assert_eq!(mode(&private), 0o700, "{}", private.display());
        }
        folders.let_proxy_enter_control().unwrap();
        assert_eq!(mode(&folders.control()), 0o710);
        if rustix::process::geteuid().is_root() {
            let group = std::fs::metadata(folders.control()).unwrap().gid();
            assert_eq!(group, accounts::proxy_user().unwrap().gid);
        }
    }
}
