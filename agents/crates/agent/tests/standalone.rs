//! Tests the real binary in standalone mode: it serves, reloads the file, keeps the last valid configuration and exits cleanly.

#![cfg(test)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Maximum wait for a line or the end of a process; far more than either takes.
const SILENCE_MAX: Duration = Duration::from_secs(120);
const ANY_PORT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// An app that answers every connection with its name.
fn app(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", name.len());
            // Ignores errors of clients that have left.
            drop(stream.write_all(format!("{head}{name}").as_bytes()));
        }
    });
    address
}

/// `fairlead-agent proxy --config` and the lines it prints.
struct StandaloneProxy {
    child: Child,
    lines: Receiver<String>,
}

impl StandaloneProxy {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairlead-agent"))
            .args(["proxy", "--config"])
            .arg(config)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (line, lines) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|text| line.send(text)));
        Self { child, lines }
    }

    /// Waits for a line with this text.
    fn until(&self, text: &str) -> String {
        let mut seen = Vec::new();
        while let Some(line) = self.next_line() {
            if line.contains(text) {
                return line;
            }
            seen.push(line);
        }
        panic!("`{text}` was never said, but: {seen:#?}");
    }

    /// `None` once no process is left that could say more.
    fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(SILENCE_MAX) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("silent for {SILENCE_MAX:?}, and not ended"),
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for StandaloneProxy {
    fn drop(&mut self) {
        // Ends with its child proxy; one that has ended by itself can't be signalled any more.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(rustix::process::Signal::TERM);
            drop(self.child.wait());
        }
    }
}

fn get(port: u16, host: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Returns the port of the first address in a line, since the system chooses the port.
fn port(line: &str) -> u16 {
    let digits = line.split("127.0.0.1:").nth(1).unwrap_or_else(|| panic!("no address: {line}"));
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap()
}

struct ConfigFile {
    path: PathBuf,
    metrics: SocketAddr,
    app: SocketAddr,
}

impl ConfigFile {
    fn new(folder: &Path, app: SocketAddr) -> Self {
        Self { path: folder.join("routes.toml"), metrics: ANY_PORT, app }
    }

    fn write(&self, host: &str, rest: &str) {
        let Self { metrics, app, .. } = self;
        let text = format!(
            "[listen]\nhttp = [\"{ANY_PORT}\"]\nmetrics = \"{metrics}\"\ncores = 1\n\
             [apps.web]\ninstances = [\"{app}\"]\n[[routes]]\nhost = \"{host}\"\napp = \"web\"\n{rest}"
        );
        std::fs::write(&self.path, text).unwrap();
    }
}

#[test]
fn a_file_is_served_followed_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path(), app("hello"));
    file.write("one.example.com", "");
    let mut proxy = StandaloneProxy::start(&file.path);
    let metrics = port(&proxy.until("metrics"));
    let http = port(&proxy.until("serving by"));
    assert!(get(http, "one.example.com", "/").unwrap().ends_with("hello"));
    assert!(get(http, "two.example.com", "/").unwrap().starts_with("HTTP/1.1 404"));

    file.write("two.example.com", "");
    proxy.until("configuration applied");
    assert!(get(http, "two.example.com", "/").unwrap().ends_with("hello"));

    file.write("three.example.com", "[routes.policy]\nno_such_word = 1\n");
    proxy.signal(rustix::process::Signal::HUP);
    proxy.until("no_such_word");
    proxy.until("serves on");
    assert!(get(http, "two.example.com", "/").unwrap().ends_with("hello"), "the last good file serves on");

    // The metrics update once a second.
    let counted = "fairlead_requests_total{app=\"web\",class=\"ok\"} 3";
    while !get(metrics, "localhost", "/metrics").unwrap().contains(counted) {
        std::thread::sleep(Duration::from_millis(5));
    }
    proxy.signal(rustix::process::Signal::TERM);
    assert!(proxy.child.wait().unwrap().success());
    assert!(get(http, "two.example.com", "/").is_none(), "nothing listens any more");
}

/// Returns the only child of a process.
fn child_of(pid: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn the_process_that_serves_has_no_rights_and_outlives_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path(), app("hello"));
    file.write("one.example.com", "[settings.access_log]\nsample_permille = 1000\n");
    let text = std::fs::read_to_string(&file.path).unwrap();
    std::fs::write(&file.path, text.replace("cores = 1", "cores = 1\naccess_log = \"access.log\"")).unwrap();
    let ask = |port| assert!(get(port, "one.example.com", "/").unwrap().ends_with("hello"));
    let log = || std::fs::read_to_string(folder.path().join("access.log")).unwrap().lines().count();
    let logged = |count| {
        while log() < count {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let mut first = StandaloneProxy::start(&file.path);
    let http = port(&first.until("serving by"));
    ask(http);
    // A killed proxy writes no more to its log.
    logged(1);
    // A successor has the same rights and the same log.
    kill(child_of(first.child.id()));
    first.until("started again");
    ask(http);
    let proxy = child_of(first.child.id());
    kill(first.child.id());
    first.child.wait().unwrap();
    ask(http);
    let second = StandaloneProxy::start(&file.path);
    assert_eq!(port(&second.until("serving by")), http);
    ask(http);
    logged(4);
    let status = std::fs::read_to_string(format!("/proc/{proxy}/status")).unwrap();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!((field("CapEff:"), field("NoNewPrivs:"), field("Seccomp:")), ("0".repeat(16), "1".into(), "2".into()));
    assert!(!field("Uid:").starts_with("0\t"), "{status}");
}

#[test]
fn a_taken_address_for_metrics_leaves_no_proxy_behind() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind(ANY_PORT).unwrap();
    let mut file = ConfigFile::new(folder.path(), app("hello"));
    file.metrics = taken.local_addr().unwrap();
    file.write("one.example.com", "");
    let mut proxy = StandaloneProxy::start(&file.path);
    assert!(!proxy.child.wait().unwrap().success());
    // The output ends only once no process holds the pipe: a left-over proxy would.
    let said: Vec<String> = std::iter::from_fn(|| proxy.next_line()).collect();
    assert!(said.iter().any(|line| line.contains("in use")), "{said:#?}");
}

#[test]
fn a_password_is_hashed_for_the_file() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fairlead-agent"))
        .args(["proxy", "--hash-password"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"open sesame\n").unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path(), "127.0.0.1:1".parse().unwrap());
    let user = format!("{{ name = \"ann\", password_hash = \"{}\" }}", printed.trim_end());
    file.write("a.example.com", &format!("[routes.policy]\nbasic_auth = {{ users = [{user}] }}\n"));
    let checked = Command::new(env!("CARGO_BIN_EXE_fairlead-agent"))
        .args(["proxy", "--check", "--config"])
        .arg(&file.path)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn a_bad_file_starts_nothing_and_says_where_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path(), app("hello"));
    let check = |arguments: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_fairlead-agent")).args(arguments).arg(&file.path).output().unwrap();
        (out.status.success(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
    };
    file.write("UPPER.example.com", "");
    let (good, told) = check(&["proxy", "--config"]);
    assert!(!good && told.contains("UPPER.example.com"), "{told}");
    file.write("lower.example.com", "");
    let (good, told) = check(&["proxy", "--check", "--config"]);
    assert!(good && told.contains("is good: 1 routes, 1 apps"), "{told}");
}
