//! HTTP/1.1 server that injects delays and faults, for e2e/perf/check-generator.ts: `inject DELAY_US FAULT EVERY SKIP`. FAULT is
//! `none`, `status` (503) or `reset`. Counts what it injects and tells it at `/counts`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
struct Injection {
    delay: Duration,
    fault: String,
    /// Every `every`th request fails.
    every: u64,
    /// Number of first requests without a fault, for the warm-up of clients.
    skip: u64,
    requests: AtomicU64,
    injected: AtomicU64,
    delay_sum_ns: AtomicU64,
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [delay_us, fault, every, skip] = arguments.as_slice() else {
        return Err(std::io::Error::other("usage: inject DELAY_US FAULT EVERY SKIP"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(std::io::Error::other);
    let injection = Arc::new(Injection {
        delay: Duration::from_micros(number(delay_us)?),
        fault: fault.clone(),
        every: number(every)?.max(1),
        skip: number(skip)?,
        requests: AtomicU64::new(0),
        injected: AtomicU64::new(0),
        delay_sum_ns: AtomicU64::new(0),
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!(r#"{{"address":"{}"}}"#, listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let injection = injection.clone();
            std::thread::spawn(move || serve(stream, &injection));
        }
    });
    // The end of standard input ends the server.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Serves one connection until the client or a fault ends it.
fn serve(mut stream: TcpStream, injection: &Injection) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; 4096];
    loop {
        let length = stream.read(&mut request)?;
        if length == 0 {
            return Ok(());
        }
        if request.starts_with(b"GET /counts ") {
            return stream.write_all(&response("200 OK", &counts(injection)));
        }
        let arrived = Instant::now();
        let number = injection.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let counted = number.saturating_sub(injection.skip);
        if counted > 0 && !injection.delay.is_zero() {
            std::thread::sleep(injection.delay);
            let ns = u64::try_from(arrived.elapsed().as_nanos()).unwrap_or(u64::MAX);
            injection.delay_sum_ns.fetch_add(ns, Ordering::Relaxed);
        }
        let fails = injection.fault != "none" && counted > 0 && counted.is_multiple_of(injection.every);
        if !fails {
            stream.write_all(&response("200 OK", "ok"))?;
            continue;
        }
        injection.injected.fetch_add(1, Ordering::Relaxed);
        if injection.fault == "reset" {
            // Without lingering, a close resets the connection.
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
            return Ok(());
        }
        stream.write_all(&response("503 Service Unavailable", ""))?;
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn counts(injection: &Injection) -> String {
    let requests = injection.requests.load(Ordering::Relaxed).saturating_sub(injection.skip);
    let mean_us = injection.delay_sum_ns.load(Ordering::Relaxed) as f64 / 1e3 / requests.max(1) as f64;
    let injected = injection.injected.load(Ordering::Relaxed);
    format!(r#"{{"requests":{requests},"injected":{injected},"delay_mean_us":{mean_us:.1}}}"#)
}
