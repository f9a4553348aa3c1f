//! Weaknesses of a network that apps share with the server.

use fairlead_base::sandbox::LANDLOCK_PORTS;

/// Features of a server that decide what a shared network leaves open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedNetwork {
    /// Version of the kernel's Landlock.
    pub(crate) landlock: u32,
    /// True if apps can be denied some system calls.
    pub(crate) seccomp: bool,
    /// True if the kernel reports the users of TCP sockets.
    pub(crate) diagnostics: bool,
    /// True if apps have users of their own.
    pub(crate) users: bool,
}

/// Lists what apps and builds can do to each other and to the server because they share its network, in whole sentences.
pub(crate) fn shared_network_weaknesses(server: SharedNetwork) -> Vec<String> {
    let mut found = vec![
        "Apps and builds can connect to other apps and to the server's own services over its loopback interface, because they share the server's network.".to_owned(),
        "Apps and builds can connect to cloud metadata and to private networks of the server, because they share the server's network.".to_owned(),
        "Apps that listen on all addresses can be reached from outside past the proxy, because they share the server's network.".to_owned(),
        "Builds can listen on any free port, because they share the server's network.".to_owned(),
        "Apps and builds can take any free UDP port, because they share the server's network.".to_owned(),
        "Apps and builds can list the sockets of the server, because they share the server's network.".to_owned(),
        "Apps and builds can send broadcasts and multicasts, and use any address of the server as the source, because they share the server's network.".to_owned(),
    ];
    if server.landlock < LANDLOCK_PORTS {
        found.push(
            "Apps can listen on any free port, also on those of other apps, because this kernel is older than Linux 6.7."
                .to_owned(),
        );
    } else if !server.seccomp {
        found.push("Apps can listen on any free port by MPTCP, because this kernel has no seccomp filters.".to_owned());
    }
    if !server.diagnostics {
        found.push(
            "The proxy can't tell whether another program listens on an app's port, because this kernel has no socket diagnostics (CONFIG_INET_DIAG)."
                .to_owned(),
        );
    } else if !server.users {
        found.push(
            "The proxy can't tell apps apart that listen on each other's ports, because the agent does not run as root."
                .to_owned(),
        );
    }
    found
}

/// Lists what apps, builds and containers can do where apps have networks without root, in whole sentences.
pub(crate) fn rootless_weaknesses() -> Vec<String> {
    [
        "Builds can connect to the server's own services over its loopback interface, to cloud metadata and to private networks, because they share the server's network without root.",
        "Builds can connect to apps in their own networks, because builds and apps run as the agent's own user.",
        "Builds can listen on any free port, list the sockets of the server, send broadcasts and multicasts, and use any address of the server as the source, because they share the server's network without root.",
        "Containers can connect to private networks and to what the server offers on all its addresses, because the agent does not run as root.",
        "Apps can list the sockets of the server, because they see all its processes.",
        "Apps and builds can take any free UDP port of the server from 1024 up, because `pasta` binds the port that an app sends from.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_weakness_of_a_shared_network_is_a_sentence_of_its_own() {
        let best = SharedNetwork { landlock: LANDLOCK_PORTS, seccomp: true, diagnostics: true, users: true };
        let always = shared_network_weaknesses(best);
        assert_eq!(always.len(), 7);
        for (server, words) in [
            (SharedNetwork { landlock: LANDLOCK_PORTS - 1, ..best }, "older than Linux 6.7"),
            (SharedNetwork { seccomp: false, ..best }, "by MPTCP"),
            (SharedNetwork { diagnostics: false, ..best }, "CONFIG_INET_DIAG"),
            (SharedNetwork { users: false, ..best }, "does not run as root"),
        ] {
            let found = shared_network_weaknesses(server);
            assert_eq!(found[..7], always);
            assert!(found.len() == 8 && found[7].contains(words), "{found:?}");
        }
    }
}
