//! Reads the PROXY protocol header at the start of a connection. Invariant: consumes not a single byte beyond it.

use std::io;
use std::net::SocketAddr;

use fairlead_reactor::Stream;
use fairlead_route::{PROXY_HEADER_BYTES_MAX, parse_proxy_header};

/// Reads the header from `socket`; returns the client that it names, if any. Peeks before it reads: TLS bytes follow.
pub(crate) async fn receive(socket: &Stream) -> io::Result<Option<SocketAddr>> {
    let mut buffer = vec![0; PROXY_HEADER_BYTES_MAX];
    let mut taken = 0;
    loop {
        // The buffer never fills up, because the parser rejects longer headers earlier.
        let seen = taken + socket.peek(&mut buffer[taken..]).await?;
        if seen == taken {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let header =
            parse_proxy_header(&buffer[..seen]).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // An incomplete header is consumed entirely.
        let end = header.map_or(seen, |header| header.length);
        while taken < end {
            taken += socket.try_read(&mut buffer[taken..end])?;
        }
        if let Some(header) = header {
            return Ok(header.client);
        }
    }
}
