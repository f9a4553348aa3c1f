//! Network namespaces of apps and builds: devices and addresses, firewall, and the relay to the server's resolver and ports.
//! Invariant: a namespace leaves nothing behind. Its devices, addresses and routes go when its instance or build ends.

mod firewall;
mod namespace;
mod netlink;
mod other_firewalls;
mod own;
mod relay;
mod resolvers;
mod rootless;
mod tun;

pub use firewall::{Firewall, FirewallError, PublicPorts};
pub use namespace::{DeviceLink, Namespace, NamespaceError, current, join, remove_devices, set_group};
pub use netlink::DeviceCounters;
pub use own::{AppNetwork, OwnNetwork, ServedNamespace};
pub use relay::{RESOLVER, Relay};
pub use resolvers::{remote_resolvers, resolv_conf};
pub use rootless::{RootlessLink, RootlessNamespace, RootlessNetwork, connect, drop_all, join_user_and_network};
pub use tun::{TunNamespace, run_inside};
