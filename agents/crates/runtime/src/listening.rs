//! TCP ports that an app's processes listen on, for error messages about a wrong port. Reads /proc only
//! (proc_pid_fd(5), proc_net_tcp(5)).

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::ops::RangeInclusive;

/// State `TCP_LISTEN` of /proc/net/tcp.
const LISTEN: &str = "0A";

/// Lists the ports, ascending. Processes that can't be read (of another user) count as not listening.
pub(crate) fn ports(pids: &[u32]) -> Vec<u16> {
    let sockets = match sockets_of(pids) {
        OpenSockets::Seen(sockets) if !sockets.is_empty() => sockets,
        _ => return Vec::new(),
    };
    let mut found = BTreeSet::new();
    // Read the table of the app's own network: that of a container differs from this process's.
    for table in
        pids.first().into_iter().flat_map(|pid| ["tcp", "tcp6"].map(|table| format!("/proc/{pid}/net/{table}")))
    {
        let text = fs::read_to_string(table).unwrap_or_default();
        found.extend(
            text.lines().filter_map(listener).filter(|(_, inode)| sockets.contains(inode)).map(|(port, _)| port),
        );
    }
    found.into_iter().collect()
}

/// Returns the ports that the kernel gives to programs that name none (ip(7)).
pub(crate) fn picked_by_kernel() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = text.split_whitespace().map(str::parse);
    match (bounds.next(), bounds.next()) {
        (Some(Ok(first)), Some(Ok(last))) => first..=last,
        _ => 32_768..=60_999,
    }
}

/// Lists the process and all its descendants.
pub(crate) fn tree(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(text.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        // A fork bomb must not keep the agent busy.
        if found.len() > 4096 {
            break;
        }
    }
    found
}

/// Returns the parent of a process (proc_pid_stat(5)).
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may contain blanks and brackets.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Sockets that processes have open, by their inodes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OpenSockets {
    /// Inodes of all open sockets.
    Seen(HashSet<u64>),
    /// This process may inspect none of the processes.
    Hidden,
}

pub(crate) fn sockets_of(pids: &[u32]) -> OpenSockets {
    let (mut seen, mut readable) = (HashSet::new(), false);
    for pid in pids {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(descriptors) => {
                readable = true;
                seen.extend(descriptors.flatten().filter_map(inode));
            }
            Err(error) => readable |= error.kind() != io::ErrorKind::PermissionDenied,
        }
    }
    if readable { OpenSockets::Seen(seen) } else { OpenSockets::Hidden }
}

fn inode(entry: fs::DirEntry) -> Option<u64> {
    let target = fs::read_link(entry.path()).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Parses the port and inode of a listening line of /proc/net/tcp.
fn listener(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
    let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
    (*state == LISTEN).then_some(())?;
    Some((port, inode.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ports_of_this_process_are_found_for_both_families_and_connections_are_not() {
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let six = TcpListener::bind("[::1]:0").unwrap();
        let client = std::net::TcpStream::connect(four.local_addr().unwrap()).unwrap();
        let found = ports(&tree(std::process::id()));
        for listener in [&four, &six] {
            assert!(found.contains(&listener.local_addr().unwrap().port()), "{found:?}");
        }
        assert!(!found.contains(&client.local_addr().unwrap().port()));
        assert!(ports(&[0]).is_empty());
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
    }
}
