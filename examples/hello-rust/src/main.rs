//! Answers every request with a greeting, on the port that PORT names.

use std::io::{Read, Write};
use std::net::TcpListener;

fn main() -> std::io::Result<()> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        // One request is enough for a greeting; whoever hangs up early wanted none.
        let mut request = [0; 4096];
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 16\r\nConnection: close\r\n\r\nHello from Rust\n";
        if stream.read(&mut request).is_ok() && stream.write_all(answer).is_err() {
            eprintln!("a client left early");
        }
    }
    Ok(())
}
