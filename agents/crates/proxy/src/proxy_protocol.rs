//! Receives the PROXY protocol's header at the beginning of a connection, and not one byte more.

use std::io;
use std::net::SocketAddr;

use fairlead_reactor::Stream;
use fairlead_route::{PROXY_HEADER_BYTES_MAX, parse_proxy_header};

/// Takes the header off `socket`; tells the client that it names, if it does. Looks before it takes: what follows is TLS's.
pub(crate) async fn receive(socket: &Stream) -> io::Result<Option<SocketAddr>> {
    let mut buffer = vec![0; PROXY_HEADER_BYTES_MAX];
    let mut taken = 0;
    loop {
        // More than a whole header can be is never asked for, because the parser refuses before.
        let seen = taken + socket.peek(&mut buffer[taken..]).await?;
        if seen == taken {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let header =
            parse_proxy_header(&buffer[..seen]).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // All of the beginning of a header is the header's.
        let end = header.map_or(seen, |header| header.length);
        while taken < end {
            taken += socket.try_read(&mut buffer[taken..end])?;
        }
        if let Some(header) = header {
            return Ok(header.client);
        }
    }
}
