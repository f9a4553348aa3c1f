//! Real nginx between the proxy and the app: it parses what the proxy forwards by its own rules.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Returns Debian's nginx, or the one that `FAIRLEAD_NGINX` names.
pub fn program() -> Option<PathBuf> {
    let file = std::env::var_os("FAIRLEAD_NGINX").map_or_else(|| "/usr/sbin/nginx".into(), PathBuf::from);
    file.exists().then_some(file)
}

pub struct Nginx {
    pub address: SocketAddr,
    child: Child,
    folder: TempDir,
}

impl Nginx {
    /// Starts an nginx in front of `app`.
    pub fn start(program: PathBuf, app: SocketAddr) -> Self {
        loop {
            // The port is free again and may be lost to another process: nginx then ends, and the loop tries another
            // port.
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            if let Some(nginx) = Self::listen(&program, address, app) {
                return nginx;
            }
        }
    }

    fn listen(program: &PathBuf, address: SocketAddr, app: SocketAddr) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;
             events {{ worker_connections 64; }}
             http {{
                 access_log {path}/access.log;
                 client_body_temp_path {path}/body; proxy_temp_path {path}/proxy; fastcgi_temp_path {path}/f;
                 uwsgi_temp_path {path}/u; scgi_temp_path {path}/s;
                 underscores_in_headers on; ignore_invalid_headers off; client_max_body_size 0; merge_slashes off;
                 large_client_header_buffers 8 64k; proxy_ignore_client_abort on;
                 server {{
                     listen {address};
                     location / {{
                         proxy_pass http://{app}; proxy_http_version 1.1; proxy_set_header Host $http_host;
                         proxy_request_buffering on;
                     }}
                 }}
             }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path()).arg("-c").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        loop {
            // nginx writes its process id once it listens.
            if std::fs::read(folder.path().join("pid")).is_ok_and(|pid| !pid.is_empty()) {
                return Some(Self { address, child, folder });
            }
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops it gracefully; returns the errors about requests that it refused.
    pub fn finish(mut self) -> Vec<String> {
        let pid = rustix::process::Pid::from_child(&self.child);
        // nginx misses a signal that arrives between its check and its wait for events, so the loop repeats it.
        while self.child.try_wait().unwrap().is_none() {
            rustix::process::kill_process(pid, rustix::process::Signal::QUIT).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        let log = std::fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains("\" 400 ")).map(str::to_owned).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A case that failed before `finish` leaves the process running.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
