//! Tests the real binary as a static site server: fallback page, rules and compressed files.

#![cfg(test)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

struct Site {
    child: Child,
    address: SocketAddr,
    log: BufReader<ChildStderr>,
}

impl Site {
    fn start(folder: &Path) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairlead-agent"))
            .args(["static", ".", "--fallback", "index.html", "--port", &address.port().to_string()])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        while TcpStream::connect(address).is_err() {
            assert_eq!(child.try_wait().unwrap(), None, "the server ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Self { child, address, log }
    }

    /// Head and body of the response to a GET with these header lines.
    fn get(&self, path: &str, lines: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n").as_bytes())
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        (String::from_utf8(answer[..end].to_vec()).unwrap() + "\r\n", answer[end + 4..].to_vec())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_site_is_served_with_its_fallback_page_its_rules_and_its_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let script = "export const words = 'again and again';\n".repeat(100);
    for (name, text) in [
        ("index.html", "app"),
        ("app.js", script.as_str()),
        ("_redirects", "/old/* /new/:splat 302\n/broken\n"),
        ("_headers", "/*\n  X-Frame-Options: DENY\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut script.as_bytes(), &mut compressed, &Default::default()).unwrap();
    std::fs::write(folder.path().join("app.js.br"), &compressed).unwrap();
    let mut site = Site::start(folder.path());

    let (head, body) = site.get("/users/7", "Accept: text/html\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("x-frame-options: DENY\r\n"), "{head}");
    assert_eq!(body, b"app");
    assert!(site.get("/users/7.png", "").0.starts_with("HTTP/1.1 404 "));
    let (head, _) = site.get("/old/a/b?c=d", "");
    assert!(head.starts_with("HTTP/1.1 302 ") && head.contains("location: /new/a/b?c=d\r\n"), "{head}");
    let (head, body) = site.get("/app.js", "Accept-Encoding: gzip, br\r\n");
    assert!(head.contains("content-encoding: br\r\n") && head.contains("vary: accept-encoding\r\n"), "{head}");
    assert_eq!(body, compressed);
    assert_eq!(site.get("/app.js", "").1, script.as_bytes());
    let mut line = String::new();
    site.log.read_line(&mut line).unwrap();
    assert!(line.contains("line 2 of _redirects is ignored: it has no target"), "{line}");
}
