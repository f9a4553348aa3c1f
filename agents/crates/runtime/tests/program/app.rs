//! An app for the integration tests, good or bad by its arguments.
//! `serve [words…]` answers HTTP on PORT with the words; other modes misbehave as their name says.

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

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
        "migrate" => {
            // One line each time it runs, in what its app keeps.
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
                    // Until the test says go on.
                    while !std::path::Path::new(&format!("{home}/go-on")).exists() {
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    }
                    Ok(ExitCode::SUCCESS)
                }
                _ => Ok(ExitCode::SUCCESS),
            };
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
            // A grandchild in a session of its own, as daemons make it.
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

/// Tells all its secrets to whoever reads its log, in every form, and returns what it has seen of them.
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
        // In two writes, as a full buffer would cut it.
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

async fn serve(listener: &TcpListener, status: u16, body: &str) -> io::Result<ExitCode> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0u8; 4096];
        if stream.read(&mut request).await? == 0 {
            continue;
        }
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await?;
    }
}
