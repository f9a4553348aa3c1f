// Owns another machine of a test's own, a network namespace with a web server: what a container reaches of it and what not. The caller's
// thread must be in a network of the test's own. Never touches the network of the machine.

use std::process::{Child, Command};

/// The server's own address on the way to the other machine.
pub(crate) const SERVER: &str = "203.0.113.2";
/// Addresses at which the other machine answers, on ports 53 and 80.
pub(crate) const INTERNET: &str = "9.9.9.9";
pub(crate) const PRIVATE: &str = "10.1.2.3";
pub(crate) const RESOLVER: &str = "10.9.9.9";
pub(crate) const METADATA: &str = "169.254.169.254";

/// The other machine; it ends with the test.
pub(crate) struct World {
    folder: tempfile::TempDir,
    servers: Vec<Child>,
}

impl World {
    /// Makes the default route of the calling thread's network lead to it.
    pub(crate) fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("index.html"), "reached").unwrap();
        let mut world = Self { folder, servers: Vec::new() };
        world.serve(&["unshare", "-n"], 80);
        let inside = world.servers[0].id().to_string();
        let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        // Its namespace is another one once `unshare` has made it.
        while std::fs::read_link(format!("/proc/{inside}/ns/net")).is_ok_and(|its| its == own) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let enter = ["nsenter", "-t", &inside, "-n"];
        world.serve(&enter, 53);
        run(&["ip", "link", "add", "up0", "type", "veth", "peer", "name", "world", "netns", &inside]);
        run(&["ip", "address", "add", &format!("{SERVER}/24"), "dev", "up0"]);
        run(&["ip", "link", "set", "up0", "up"]);
        run(&["ip", "route", "add", "default", "via", "203.0.113.1"]);
        for address in ["203.0.113.1/24", INTERNET, PRIVATE, RESOLVER, METADATA] {
            run(&[&enter[..], &["ip", "address", "add", address, "dev", "world"]].concat());
        }
        run(&[&enter[..], &["ip", "link", "set", "world", "up"]].concat());
        world
    }

    /// Serves a page on a port, by a program that these words start.
    pub(crate) fn serve(&mut self, starter: &[&str], port: u16) {
        let port = port.to_string();
        let words = [starter, &["busybox", "httpd", "-f", "-p", &port, "-h"]].concat();
        let server = Command::new(words[0]).args(&words[1..]).arg(self.folder.path()).spawn();
        self.servers.push(server.expect("Debian's busybox-static and util-linux must be installed"));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for server in &mut self.servers {
            server.kill().ok();
            server.wait().ok();
        }
    }
}

fn run(words: &[&str]) {
    assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success(), "{words:?}");
}
