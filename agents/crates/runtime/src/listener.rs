//! Identity of the listeners at an address of this server: an instance's own, or another program's. Any program can
//! bind a free port of the loopback, so an answer alone does not show that the app gave it.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use fairlead_base::sock_diag::SocketDiagnostics;

use crate::listening::{self, OpenSockets};

/// User and process tree of an instance: their listeners count as its own.
#[derive(Debug, Clone)]
pub struct Owner {
    /// User of the instance.
    pub user: u32,
    /// Process that all processes of the instance descend from.
    pub process: u32,
    own: OwnSockets,
}

/// Inodes of sockets that the instance's processes have open. The kernel gives an inode to no other open socket.
type OwnSockets = Arc<Mutex<HashSet<u32>>>;

/// Listeners that take connections to one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listeners {
    Missing,
    /// The instance's alone, by their inodes.
    Own(HashSet<u32>),
    /// Another program's, alone or beside the instance's.
    Foreign,
}

impl Listeners {
    /// True if one listener was there both times, so that the kernel let no other user listen in between.
    pub(crate) fn has_lasted(&self, later: &Self) -> bool {
        matches!((self, later), (Self::Own(before), Self::Own(after)) if !before.is_disjoint(after))
    }
}

impl Owner {
    /// Takes the user and the first process of an instance.
    pub fn new(user: u32, process: u32) -> Self {
        Self { user, process, own: Arc::default() }
    }

    /// Looks up the listeners at an address.
    pub(crate) fn listeners(&self, address: SocketAddr) -> io::Result<Listeners> {
        let diagnostics = SocketDiagnostics::open()?;
        let all = diagnostics.listeners(address)?;
        if all.is_empty() {
            return Ok(Listeners::Missing);
        }
        // A listener that is bound to another interface covers the address, but gets none of its connections.
        let chosen = diagnostics.listener(address)?;
        let is_own_user = all.iter().chain(&chosen).all(|listener| listener.user == self.user);
        let inodes: HashSet<u32> = all.iter().chain(&chosen).map(|listener| listener.inode).collect();
        if !is_own_user || !self.owns(&inodes) {
            return Ok(Listeners::Foreign);
        }
        Ok(if chosen.is_some() { Listeners::Own(inodes) } else { Listeners::Missing })
    }

    fn owns(&self, inodes: &HashSet<u32>) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if inodes.is_subset(&own) {
            return true;
        }
        match listening::sockets_of(&listening::tree(self.process)) {
            // The agent may not look into the processes, so the user decides.
            OpenSockets::Hidden => true,
            OpenSockets::Seen(seen) => {
                *own = inodes.iter().filter(|inode| seen.contains(&u64::from(**inode))).copied().collect();
                *own == *inodes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::{Child, Command, Stdio};

    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

    use super::*;

    fn own() -> Owner {
        Owner::new(rustix::process::geteuid().as_raw(), std::process::id())
    }

    /// A process that is no descendant of the app's.
    fn stranger() -> Child {
        Command::new("/usr/bin/sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_listener_is_own_by_its_user_and_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(matches!(own().listeners(address).unwrap(), Listeners::Own(found) if found.len() == 1));
        let other_user = Owner::new(own().user + 1, own().process);
        assert_eq!(other_user.listeners(address).unwrap(), Listeners::Foreign);
        let mut child = stranger();
        assert_eq!(Owner::new(own().user, child.id()).listeners(address).unwrap(), Listeners::Foreign);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(listener);
        assert_eq!(own().listeners(address).unwrap(), Listeners::Missing);
    }

    #[test]
    fn a_listener_on_all_addresses_covers_the_loopback() {
        for any in ["0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(any).unwrap();
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port()));
            assert!(matches!(own().listeners(address).unwrap(), Listeners::Own(_)), "{any}");
        }
    }

    #[test]
    fn all_that_share_an_address_must_be_own_and_one_must_last() {
        let open = |port| {
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
            sockopt::set_socket_reuseport(&socket, true).unwrap();
            bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
            listen(&socket, 1).unwrap();
            let port = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap().port();
            (socket, port)
        };
        let (first, port) = open(0);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let before = own().listeners(address).unwrap();
        let (second, _) = open(port);
        let both = own().listeners(address).unwrap();
        assert!(matches!(&both, Listeners::Own(found) if found.len() == 2));
        assert!(before.has_lasted(&both) && both.has_lasted(&before));
        drop(first);
        let after = own().listeners(address).unwrap();
        assert!(both.has_lasted(&after) && !before.has_lasted(&after));
        assert!(!before.has_lasted(&Listeners::Foreign) && !before.has_lasted(&Listeners::Missing));
        drop(second);
    }
}
