//! An app for the integration tests, good or bad by its arguments.
//! `serve [words…]` answers HTTP on PORT with the words; other modes misbehave as their name says.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::{Command, ExitCode, Stdio};

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

/// Writes 24 MiB: into a folder, into /tmp, or into a file without a name.
fn fill(how: &str) -> io::Result<std::fs::File> {
    let path = if how == "tmp" { "/tmp/uploads" } else { "uploads" };
    std::fs::create_dir_all(path)?;
    let mut file = std::fs::File::create(format!("{path}/file"))?;
    if how == "unlinked" {
        std::fs::remove_file(format!("{path}/file"))?;
    }
    file.write_all(&vec![1; 24 << 20])?;
    Ok(file)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map(String::as_str).unwrap_or_default();
    let mut term = signal(SignalKind::terminate())?;
    let port = std::env::var("PORT").unwrap_or_default();
    match mode {
        "crash" => {
            writeln!(io::stderr(), "something broke on purpose")?;
            return Ok(ExitCode::from(3));
        }
        "ends" => return Ok(ExitCode::SUCCESS),
        "migrate" => {
            // Each run appends one line to a file in the app's home.
            use std::os::unix::fs::MetadataExt;
            let home = std::env::var("HOME").unwrap_or_default();
            let words = arguments.get(1..).unwrap_or_default();
            let mut ran = std::fs::File::options().create(true).append(true).open(format!("{home}/migrations"))?;
            writeln!(ran, "{}", words.join(" "))?;
            let user = std::fs::metadata("/proc/self")?.uid();
            let greeting = std::env::var("GREETING").unwrap_or_default();
            writeln!(io::stdout(), "migrating as {user} with {greeting}, port {port:?}")?;
            return match words.first().map(String::as_str) {
                Some("fails") => Ok(ExitCode::from(4)),
                Some("waits") => {
                    // Waits for the test's signal.
                    while !std::path::Path::new(&format!("{home}/go-on")).exists() {
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    }
                    Ok(ExitCode::SUCCESS)
                }
                _ => Ok(ExitCode::SUCCESS),
            };
        }
        "six" => {
            // The body counts health checks.
            let listener = TcpListener::bind(format!("[::1]:{port}")).await?;
            let mut checks = 0;
            loop {
                let (mut stream, _) = listener.accept().await?;
                let mut request = [0u8; 4096];
                let count = stream.read(&mut request).await?;
                if request[..count].starts_with(b"GET /healthz") {
                    checks += 1;
                }
                answer(&mut stream, 200, &checks.to_string()).await?;
            }
        }
        "shares" => {
            let listener = shared(format!("127.0.0.1:{port}"))?;
            serve(&listener, 200, "shared").await
        }
        "squat" => {
            let word = |index: usize| arguments.get(index).cloned().unwrap_or_default();
            let opened = if word(2) == "shares" { shared(word(1)) } else { TcpListener::bind(word(1)).await };
            match opened {
                Ok(listener) => {
                    writeln!(io::stdout(), "listening")?;
                    serve(&listener, 200, "hijacked").await
                }
                Err(error) => {
                    writeln!(io::stdout(), "{error}")?;
                    Ok(ExitCode::FAILURE)
                }
            }
        }
        "fixed-port" => {
            let fixed = arguments.get(1).cloned().unwrap_or_default();
            let opened = TcpListener::bind(format!("127.0.0.1:{fixed}")).await;
            let listener = match opened {
                Ok(listener) => listener,
                Err(error) => {
                    writeln!(io::stderr(), "listen: {error}")?;
                    return Ok(ExitCode::FAILURE);
                }
            };
            serve(&listener, 200, "elsewhere").await
        }
        "hosts" => {
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            let [host, hostname] = ["HOST", "HOSTNAME"].map(|name| std::env::var(name).unwrap_or_default());
            serve(&listener, 200, &format!("{host} {hostname}")).await
        }
        "binds" => {
            let report = binds(arguments.get(1).and_then(|word| word.parse().ok()).unwrap_or_default());
            if port.is_empty() {
                writeln!(io::stdout(), "{report}")?;
                return Ok(ExitCode::SUCCESS);
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 200, &report).await
        }
        "checks" => {
            // A health command may bind no port, not even the app's.
            let denied = binds(port.parse().unwrap_or_default()).contains("other-two=13");
            Ok(if denied { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        "never-listens" => std::future::pending().await,
        "wrong-port" => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            serve(&listener, 200, "wrong").await
        }
        "sick" => {
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 503, "sick").await
        }
        "stubborn" => {
            // Installing the handler is what ignores SIGTERM.
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 200, "stubborn").await
        }
        "family" => {
            // Starts a grandchild in a session of its own, as daemons do.
            let child =
                Command::new("/usr/bin/setsid").args(["/usr/bin/sleep", "1000"]).stdin(Stdio::null()).spawn()?;
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            let words = child.id().to_string();
            tokio::select! {
                result = serve(&listener, 200, &words) => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
        "identity" => {
            let status = std::fs::read_to_string("/proc/self/status")?;
            let field = |name: &str| {
                status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().split_whitespace().collect()
            };
            let fields: Vec<String> = ["Uid:", "Gid:", "Groups:", "NoNewPrivs:", "CapEff:"]
                .map(|f| {
                    let words: Vec<&str> = field(f);
                    words.join(",")
                })
                .into();
            std::fs::write("/tmp/of-this-app-only", "x")?;
            let home = std::env::var("HOME").unwrap_or_default();
            std::fs::write(format!("{home}/kept"), "x")?;
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 200, &fields.join(" ")).await
        }
        "secrets" => {
            let body = secrets()?;
            if arguments.get(1).is_some_and(|word| word == "crash") {
                return Ok(ExitCode::from(3));
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            tokio::select! {
                result = serve(&listener, 200, &body) => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
        "intruder" => {
            let report = intrude(arguments.get(1..).unwrap_or_default());
            if port.is_empty() {
                writeln!(io::stdout(), "{report}")?;
                return Ok(ExitCode::SUCCESS);
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 200, &report).await
        }
        "worker" => {
            let home = std::env::var("HOME").unwrap_or_default();
            let release = std::env::var("FAIRLEAD_RELEASE_ID").unwrap_or_default();
            let mine = format!("{home}/works-{release}-{}", std::process::id());
            let others = |name: &str| name.starts_with("works-") && !name.starts_with(&format!("works-{release}-"));
            let names = std::fs::read_dir(&home)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
            if names.into_iter().any(|name| others(&name)) {
                std::fs::write(format!("{home}/overlap"), "x")?;
            }
            std::fs::write(&mine, &port)?;
            writeln!(io::stdout(), "working")?;
            term.recv().await;
            std::fs::remove_file(mine)?;
            Ok(ExitCode::SUCCESS)
        }
        "freezes" => {
            let frozen = format!("{}/frozen", std::env::var("HOME").unwrap_or_default());
            if std::path::Path::new(&frozen).exists() {
                std::fs::remove_file(&frozen)?;
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            let serving = serve(&listener, 200, "warm");
            let freezing = async {
                while !std::path::Path::new(&frozen).exists() {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            tokio::select! {
                result = serving => return result,
                () = freezing => {}
            }
            // The kernel's queue accepts; nothing ever answers.
            std::future::pending().await
        }
        "fills" => {
            // Writes too much at its first start, and with `again` at each.
            let home = std::env::var("HOME").unwrap_or_default();
            let marker = std::path::PathBuf::from(format!("{home}/filled"));
            let how = arguments.get(1).map(String::as_str).unwrap_or_default();
            let _kept = if !marker.exists() || how == "again" {
                std::fs::write(&marker, "")?;
                Some(fill(how)?)
            } else {
                None
            };
            if how == "again" {
                term.recv().await;
                return Ok(ExitCode::SUCCESS);
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            tokio::select! {
                result = serve(&listener, 200, "fills") => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
        "leaves" => {
            let report = leave(arguments.get(1..).unwrap_or_default())?;
            if port.is_empty() {
                writeln!(io::stdout(), "{report}")?;
                return Ok(ExitCode::SUCCESS);
            }
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            serve(&listener, 200, &report).await
        }
        "checks-files" => {
            let sees = std::fs::read_to_string("own")? == "mine" && std::fs::metadata("old").is_err();
            Ok(if sees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        "checks-secrets" => {
            let path = format!("{}/TLS_KEY", std::env::var("FAIRLEAD_SECRETS").unwrap_or_default());
            let absent = std::fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            Ok(if absent { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        "keeps" => {
            let path = format!("{}/data/kept", std::env::var("FAIRLEAD_VOLUMES").unwrap_or_default());
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(b"x")?;
            let kept = std::fs::read_to_string(&path)?;
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            tokio::select! {
                result = serve(&listener, 200, &kept) => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
        "socket" => {
            let path = std::env::var("FAIRLEAD_SOCKET").unwrap_or_default();
            // Links to another user's socket, as far as the app's own rights allow.
            if let Some(other) = arguments.get(1) {
                std::os::unix::fs::symlink(other, &path)?;
                return std::future::pending().await;
            }
            let listener = tokio::net::UnixListener::bind(&path)?;
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{path}", path.len());
            let serving = async {
                loop {
                    let (mut stream, _) = listener.accept().await?;
                    if stream.read(&mut [0u8; 4096]).await? > 0 {
                        stream.write_all(answer.as_bytes()).await?;
                    }
                }
            };
            tokio::select! {
                result = serving => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
        "network" => {
            let address = arguments.get(1).cloned().unwrap_or_else(|| format!("0.0.0.0:{port}"));
            let listener = TcpListener::bind(address).await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                let mut request = [0u8; 4096];
                let count = stream.read(&mut request).await?;
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                let body = network(request.split(' ').nth(1).unwrap_or_default()).await;
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await?;
            }
        }
        "hungry" => {
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            let (stream, _) = listener.accept().await?;
            drop(stream);
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1u8; 1 << 20]);
            }
        }
        _ => {
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            writeln!(io::stdout(), "listening on {port}")?;
            let words = arguments.get(1..).unwrap_or_default().join(" ");
            tokio::select! {
                result = serve(&listener, 200, &words) => result,
                _ = term.recv() => Ok(ExitCode::SUCCESS),
            }
        }
    }
}

/// Attempts what an app must not do, and reports the result of each attempt. The arguments are a file and a folder of
/// others that its user could open, a process of theirs, and the name of an abstract socket of theirs.
fn intrude(others: &[String]) -> String {
    let errno = |result: io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.raw_os_error().unwrap_or_default().to_string(),
    };
    let path = |index: usize| others.get(index).cloned().unwrap_or_default();
    let home = std::env::var("HOME").unwrap_or_else(|_| "/nowhere".into());
    let parent = i64::from(std::os::unix::process::parent_id());
    let shared = std::fs::write("/dev/shm/mine", "x").and_then(|()| std::fs::write("/dev/null", "x"));
    let attempts = [
        ("ptrace", call(libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), parent])),
        ("mount", call(libc::SYS_mount, [0, 0])),
        ("clone", call(libc::SYS_clone, [i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD), 0])),
        ("namespace", call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0])),
        ("clone3", call(libc::SYS_clone3, [0, 0])),
        ("bpf", call(libc::SYS_bpf, [0, 0])),
        ("crypto-socket", call(libc::SYS_socket, [libc::AF_ALG.into(), libc::SOCK_SEQPACKET.into()])),
        ("shadow", std::fs::read("/etc/shadow").map(drop)),
        ("read", std::fs::read(path(0)).map(drop)),
        ("write", std::fs::write(format!("{}/left", path(1)), "x")),
        ("signal", call(libc::SYS_kill, [parent, 0])),
        ("process", std::fs::read(format!("/proc/{}/cmdline", path(2))).map(drop)),
        ("abstract", connect_abstract(&path(3))),
        ("own-process", std::fs::read("/proc/self/status").map(drop)),
        ("own-thread", std::fs::read_dir("/proc/thread-self/fd").map(drop)),
        ("own-setting", std::fs::write("/proc/self/comm", "renamed")),
        ("memory", std::fs::read("/proc/meminfo").map(drop)),
        ("processors", std::fs::read("/proc/cpuinfo").map(drop)),
        ("groups", std::fs::read("/proc/self/cgroup").map(drop)),
        ("network", std::fs::read("/proc/net/tcp").map(drop)),
        ("home", std::fs::write(format!("{home}/mine"), "x")),
        ("tmp", std::fs::write("/tmp/mine", "x")),
        ("dev", shared),
        ("hosts", std::fs::read("/etc/hosts").map(drop)),
    ];
    let disks = std::fs::read_dir("/dev").map(Iterator::count).unwrap_or_default();
    let seen = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let seen = seen.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    let told: Vec<String> = attempts.into_iter().map(|(name, result)| format!("{name}={}", errno(result))).collect();
    format!("{} devices={disks} processes={seen} child={}", told.join(" "), errno(finds_child()))
}

/// Writes beside the code, and attempts to write where the release lies on the server; reports the results.
fn leave(release: &[String]) -> io::Result<String> {
    let errno = |result: io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.raw_os_error().unwrap_or_default().to_string(),
    };
    let names = |path: &str| -> io::Result<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(path)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names.join(","))
    };
    let (folder, found) = (std::env::current_dir()?, names(".")?);
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    std::fs::write("own", "mine")?;
    std::fs::write("code/file", "changed")?;
    std::fs::create_dir_all("instance/deep")?;
    std::fs::remove_file("old")?;
    std::fs::rename("code/file", "code/renamed")?;
    let mut attempts = Vec::new();
    for path in release {
        attempts.push(errno(std::fs::write(format!("{path}/own"), "x")));
        attempts.push(errno(std::fs::write(format!("{path}/code/file"), "x")));
        attempts.push(errno(std::fs::read_dir(path).map(drop)));
    }
    Ok(format!(
        "folder={} found={found} path={} venv={} deno={} unbuffered={} attempts={}",
        folder.display(),
        variable("PATH"),
        variable("VIRTUAL_ENV"),
        variable("DENO_DIR"),
        variable("PYTHONUNBUFFERED"),
        attempts.join(",")
    ))
}

/// Attempts to listen where an app must not, and where it may; reports the result of each attempt.
fn binds(other: u16) -> String {
    use std::net::TcpListener;
    let errno = |result: io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.raw_os_error().unwrap_or_default().to_string(),
    };
    let open = |protocol| socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, protocol);
    let mptcp = || {
        let protocol = NonZeroU32::new(262).map(Protocol::from_raw);
        bind(open(protocol)?, &SocketAddr::from(([127, 0, 0, 1], other)))?;
        Ok(())
    };
    let attempts = [
        ("other", TcpListener::bind(("127.0.0.1", other)).map(drop)),
        ("other-two", TcpListener::bind(("127.0.0.2", other)).map(drop)),
        ("other-six", TcpListener::bind(("::1", other)).map(drop)),
        ("picked", TcpListener::bind("127.0.0.1:0").map(drop)),
        ("unbound", open(None).and_then(|socket| listen(socket, 1)).map_err(io::Error::from)),
        ("mptcp", mptcp()),
    ];
    attempts.map(|(name, result)| format!("{name}={}", errno(result))).join(" ")
}

/// Shares a port with other listeners of the same user (`SO_REUSEPORT`).
fn shared(address: String) -> io::Result<TcpListener> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, 128)?;
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn connect_abstract(name: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    std::os::unix::net::UnixStream::connect_addr(&address).map(drop)
}

/// Checks that `ps` lists a process that this one started.
fn finds_child() -> io::Result<()> {
    let mut child = Command::new("/usr/bin/sleep").arg("1000").spawn()?;
    let listed = Command::new("/usr/bin/ps").args(["-o", "args=", "-p", &child.id().to_string()]).output();
    child.kill()?;
    child.wait()?;
    if listed?.stdout.starts_with(b"/usr/bin/sleep") { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

#[allow(unsafe_code)]
fn call(number: i64, [first, second]: [i64; 2]) -> io::Result<()> {
    // SAFETY: no call of the list above is given memory of this process; what is not refused fails for its null pointers.
    let result = unsafe { libc::syscall(number, first, second, 0usize, 0usize, 0usize) };
    if number == libc::SYS_clone && result == 0 {
        std::process::exit(0);
    }
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes all its secrets to its log, in every form, and returns what it has seen of them.
fn secrets() -> io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let [url, session, folder] =
        ["DATABASE_URL", "SESSION_KEY", "FAIRLEAD_SECRETS"].map(|name| std::env::var(name).unwrap_or_default());
    let path = format!("{folder}/TLS_KEY");
    let (file, found) = (std::fs::read_to_string(&path)?, std::fs::metadata(&path)?);
    let write = if std::fs::write(&path, "x").is_err() && std::fs::write(format!("{folder}/NEW"), "x").is_err() {
        "refused"
    } else {
        "possible"
    };
    writeln!(io::stderr(), "a key:\n{file}")?;
    for value in [&url, &session, &file] {
        let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let percent = |byte: u8| if kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        let percent: String = value.bytes().map(percent).collect();
        let mut base64 =
            Command::new("/usr/bin/base64").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(mut to) = base64.stdin.take() {
            to.write_all(value.as_bytes())?;
        }
        let base64 = base64.wait_with_output()?.stdout;
        let json = serde_json::json!({ "value": value });
        let mut out = io::stdout();
        writeln!(out, "as it is: {value}\nin an address: {percent}\nin JSON: {json}")?;
        out.flush()?;
        // Two writes, as a full buffer would split it.
        let (first, second) = base64.split_at(base64.len() / 2);
        write!(out, "in base64: ")?;
        for part in [first, second] {
            out.write_all(part)?;
            out.flush()?;
        }
    }
    let (mode, user, file) = (found.mode() & 0o777, found.uid(), file.replace('\n', "/"));
    Ok(format!("{url}|{session}|{file}|{mode:o}|{user}|{write}"))
}

/// Executes the request of a path, and reports the result.
async fn network(path: &str) -> String {
    let limit = std::time::Duration::from_secs(5);
    let words: Vec<&str> = path.trim_start_matches('/').splitn(2, '/').collect();
    match words[..] {
        ["connect", address] => match tokio::time::timeout(limit, tokio::net::TcpStream::connect(address)).await {
            Ok(Ok(_)) => "open".to_owned(),
            Ok(Err(error)) => format!("{:?}", error.kind()),
            Err(_) => "no answer".to_owned(),
        },
        ["resolve", name] => match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => found.map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        },
        ["udp", address] => {
            let answers = async {
                let socket = tokio::net::UdpSocket::bind("0.0.0.0:0").await?;
                socket.send_to(b"hello", address).await?;
                let (mut found, mut bytes) = (Vec::new(), [0u8; 64]);
                while let Ok(received) = tokio::time::timeout(limit / 5, socket.recv_from(&mut bytes)).await {
                    found.push(String::from_utf8_lossy(&bytes[..received?.0]).into_owned());
                }
                Ok::<_, io::Error>(found.join(" "))
            };
            answers.await.unwrap_or_else(|error| format!("{:?}", error.kind()))
        }
        ["unix", path] => match tokio::net::UnixStream::connect(format!("/{path}")).await {
            Ok(_) => "open".to_owned(),
            Err(error) => format!("{:?}", error.kind()),
        },
        ["read", file] => std::fs::read_to_string(format!("/{file}")).unwrap_or_else(|error| error.to_string()),
        _ => "network".to_owned(),
    }
}

async fn serve(listener: &TcpListener, status: u16, body: &str) -> io::Result<ExitCode> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0u8; 4096];
        if stream.read(&mut request).await? == 0 {
            continue;
        }
        answer(&mut stream, status, body).await?;
    }
}

async fn answer(stream: &mut TcpStream, status: u16, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await
}
