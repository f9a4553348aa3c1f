//! Certificate and backend app for side-by-side proxy benchmarks (e2e/perf/proxy.ts). `stand certificate FOLDER`
//! creates their shared certificate; `stand app BYTES [SOCKET]` answers with bodies of this size until its standard
//! input ends.

mod app;

use std::io::{Error, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fairlead_tls::LocalAuthority;
use socket2::{Domain, SockAddr, Socket, Type};

type Fault = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "stand certificate FOLDER | stand app BYTES [SOCKET]";
/// The listen backlog must fit the simultaneous connections of a proxy.
const BACKLOG: i32 = 4096;
const HOST: &str = "bench.localhost";

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or_else(|| Error::other(USAGE));
    match next()?.as_str() {
        "certificate" => certificate(next()?.as_ref()),
        "app" => app(next()?.parse()?, next().ok().map(PathBuf::from).as_deref()),
        _ => Err(Error::other(USAGE).into()),
    }
}

/// Listens on a port of the kernel's choice or, given a path, on a Unix socket there.
fn app(body_bytes: usize, path: Option<&Path>) -> Result<(), Fault> {
    let (address, domain) = match path {
        Some(path) => (SockAddr::unix(path)?, Domain::UNIX),
        None => (SocketAddr::from(([127, 0, 0, 1], 0)).into(), Domain::IPV4),
    };
    let listener = Socket::new(domain, Type::STREAM, None)?;
    listener.bind(&address)?;
    listener.listen(BACKLOG)?;
    listener.set_nonblocking(true)?;
    let address = match path {
        Some(path) => format!("unix:{}", path.display()),
        None => listener.local_addr()?.as_socket().ok_or_else(|| Error::other("a port has no address"))?.to_string(),
    };
    println!("{{\"address\":\"{address}\"}}");
    let listener = listener.into();
    std::thread::spawn(move || {
        // It ends only after a fatal error, and nothing can be measured then.
        if let Err(error) = app::serve(&listener, body_bytes) {
            eprintln!("the app can't go on: {error}");
            std::process::exit(1);
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Writes `ca/ca.pem` (to trust), `leaf.der` and `leaf-key.der`.
fn certificate(folder: &Path) -> Result<(), Fault> {
    let leaf = LocalAuthority::open_or_create(&folder.join("ca"))?.leaf(HOST)?;
    std::fs::write(folder.join("leaf.der"), &leaf.chain_der[0])?;
    std::fs::write(folder.join("leaf-key.der"), &leaf.key_pkcs8_der)?;
    Ok(())
}
