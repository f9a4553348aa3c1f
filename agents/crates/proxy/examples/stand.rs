//! The two ends of a side-by-side measurement (e2e/perf/proxy.ts): an app that costs nearly nothing, and a proxy before it.
//! `stand app BYTES` answers every request with so many bytes; `stand proxy AGENT FOLDER APP` keeps `AGENT proxy` before it.
//! Both print one JSON line once they serve and end with their standard input.

use std::io::{Error, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fairlead_proxy::{KeeperOptions, ProxyKeeper};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::{ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot, ProxyUpstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Fault = Box<dyn std::error::Error + Send + Sync>;

const HOST: &str = "bench.localhost";
/// Routes beside the measured one: a table of one host would flatter the look-up.
const OTHER_ROUTES: usize = 1000;

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let mut next =
        || arguments.next().ok_or_else(|| Error::other("usage: stand app BYTES | stand proxy AGENT FOLDER APP"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match next()?.as_str() {
        "app" => runtime.block_on(app(next()?.parse()?)),
        "proxy" => runtime.block_on(proxy(next()?.into(), next()?.into(), next()?.parse()?)),
        other => Err(Error::other(format!("`{other}` is neither app nor proxy")).into()),
    }
}

/// Ready when whoever started this has closed our standard input.
async fn abandoned() -> Result<(), Fault> {
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}

async fn app(bytes: usize) -> Result<(), Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{{\"address\":\"{}\"}}", listener.local_addr()?);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {bytes}\r\n\r\n");
    let response: &'static [u8] = Vec::leak([head.into_bytes(), vec![b'x'; bytes]].concat());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                // A client that leaves is how every measurement ends.
                drop(answer(stream, response).await);
            });
        }
    });
    abandoned().await
}

/// One answer for each empty line: requests without a body, as the load generator sends them.
async fn answer(mut stream: TcpStream, response: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut filled) = (vec![0; 16 * 1024], 0);
    loop {
        let count = stream.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        while let Some(end) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") {
            buffer.copy_within(end + 4..filled, 0);
            filled -= end + 4;
            stream.write_all(response).await?;
        }
    }
}

async fn proxy(agent: PathBuf, folder: PathBuf, app: SocketAddr) -> Result<(), Fault> {
    let any = "127.0.0.1:0".parse()?;
    let (keeper, mut stats) = ProxyKeeper::start(KeeperOptions {
        program: agent,
        control_path: folder.join("proxy.sock"),
        https: vec![any],
        http: Vec::new(),
        workers: 2,
    })
    .await?;
    tokio::spawn(async move { while stats.recv().await.is_some() {} });
    let authority = LocalAuthority::open_or_create(&folder.join("ca"))?;
    let leaf = authority.leaf(HOST)?;
    // nginx answers with the same certificate.
    std::fs::write(folder.join("leaf.der"), &leaf.chain_der[0])?;
    std::fs::write(folder.join("leaf-key.der"), &leaf.key_pkcs8_der)?;
    keeper.apply(snapshot(app, leaf)).await?;
    let address = keeper.https_address().ok_or_else(|| Error::other("the proxy has no address"))?;
    println!("{{\"address\":\"{address}\",\"pid\":{}}}", keeper.pid());
    abandoned().await?;
    keeper.stop(Duration::from_secs(1)).await;
    Ok(())
}

fn snapshot(app: SocketAddr, leaf: fairlead_tls::Certificate) -> ProxySnapshot {
    let key = "app_bench/env_bench".to_owned();
    let route = |host: String| ProxyRoute { host, path_prefix: "/".to_owned(), app_key: key.clone() };
    let others = (0..OTHER_ROUTES).map(|number| route(format!("other-{number}.localhost")));
    ProxySnapshot {
        generation: 0,
        routes: others.chain([route(HOST.to_owned())]).collect(),
        certificates: vec![ProxyCertificate {
            hosts: vec![HOST.to_owned()],
            chain_der: leaf.chain_der,
            key_pkcs8_der: leaf.key_pkcs8_der,
        }],
        apps: vec![ProxyApp {
            app_key: key.clone(),
            upstreams: vec![ProxyUpstream {
                instance_id: "ins_bench".to_owned(),
                address: app.to_string(),
                draining: false,
            }],
            measured: true,
        }],
    }
}
