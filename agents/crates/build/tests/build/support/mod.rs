//! A git host on loopback (git http-backend behind a CGI host of a few lines) and repositories to clone from it.

mod large_files;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serves every repository below a folder; lives as long as the test's process.
pub(crate) struct GitHost {
    pub(crate) address: SocketAddr,
    root: tempfile::TempDir,
    sent_bytes: Arc<AtomicU64>,
}

impl GitHost {
    pub(crate) fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let folder = root.path().to_owned();
        let sent_bytes = Arc::new(AtomicU64::new(0));
        let sent = Arc::clone(&sent_bytes);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (folder, sent) = (folder.clone(), Arc::clone(&sent));
                std::thread::spawn(move || answer(&stream.unwrap(), &folder, &sent));
            }
        });
        Self { address, root, sent_bytes }
    }

    /// Bytes that the host has sent since the last call: objects, refs and large files.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.swap(0, Ordering::Relaxed)
    }

    /// Prefix of repositories that require the login `ada` with `open-sesame`.
    pub(crate) const PRIVATE: &str = "private";

    /// Returns the folder of the repositories.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// A repository that is there.
    pub(crate) fn reopen(&self, name: &str) -> Repository {
        Repository { folder: self.root.path().join(name) }
    }

    /// A repository with one commit of these files on `main`.
    pub(crate) fn repository(&self, name: &str, files: &[(&str, &str)]) -> Repository {
        let folder = self.root.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let repository = Repository { folder };
        repository.git(&["init", "--quiet", "-b", "main", "."]);
        repository.commit("First commit", files);
        repository
    }
}

pub(crate) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Commits the files and returns the hash.
    pub(crate) fn commit(&self, subject: &str, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            let path = self.folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits a file of this machine.
    pub(crate) fn copy(&self, from: &str, name: &str) {
        std::fs::copy(from, self.folder.join(name)).unwrap();
        self.commit("A program", &[]);
    }

    /// Commits a submodule as `git submodule add` would, without asking whether it is there.
    pub(crate) fn submodule(&self, name: &str, url: &str, hash: &str) {
        let text = format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = {url}\n");
        std::fs::write(self.folder.join(".gitmodules"), text).unwrap();
        // Or the next commit would take it for removed.
        std::fs::create_dir_all(self.folder.join(name)).unwrap();
        self.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{hash},{name}")]);
        self.git(&["add", ".gitmodules"]);
        self.git(&["commit", "--quiet", "-m", "Submodule"]);
    }

    /// Commits a file that the host's git-lfs keeps: the repository holds a pointer to it.
    pub(crate) fn large_file(&self, name: &str, bytes: &[u8]) {
        let pointer = large_files::keep(self.folder.parent().unwrap(), bytes);
        self.commit("Large file", &[(name, &pointer), (".gitattributes", &format!("{name} filter=lfs -text\n"))]);
    }

    pub(crate) fn link(&self, name: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.folder.join(name)).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "safe.directory=*"])
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

/// One request by CGI (RFC 3875).
fn answer(stream: &TcpStream, root: &Path, sent_bytes: &AtomicU64) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or_default() == 0 {
        return;
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        match header.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| headers.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value.as_str());
    let body = read_body(&mut reader, header("content-length"), header("transfer-encoding"));
    // "ada:open-sesame" (RFC 7617).
    if path.starts_with(&format!("/{}", GitHost::PRIVATE)) && header("authorization") != "Basic YWRhOm9wZW4tc2VzYW1l" {
        let mut stream = stream;
        stream
            .write_all(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .ok();
        return;
    }
    if let Some(answer) = large_files::answer(root, path, header("host"), &body) {
        sent_bytes.fetch_add(answer.len() as u64, Ordering::Relaxed);
        let mut stream = stream;
        stream.write_all(&answer).ok();
        return;
    }
    let mut child = Command::new("git")
        .args(["-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&body).ok());
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.wait().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8_lossy(&output);
    let status = text.strip_prefix("Status: ").map_or("200 OK", |rest| rest.lines().next().unwrap());
    let mut answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n").into_bytes();
    answer.extend_from_slice(&output);
    sent_bytes.fetch_add(answer.len() as u64, Ordering::Relaxed);
    let mut stream = stream;
    stream.write_all(&answer).ok();
}

fn read_body(reader: &mut impl BufRead, length: &str, encoding: &str) -> Vec<u8> {
    let mut body = Vec::new();
    if encoding == "chunked" {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).unwrap();
            if size == 0 {
                return body;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    body.resize(length.parse().unwrap_or_default(), 0);
    reader.read_exact(&mut body).unwrap();
    body
}
