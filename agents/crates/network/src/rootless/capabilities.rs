//! Capabilities of the calling thread in its user namespace (capabilities(7)).

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities,
};

/// Runs `start`. The programs that it starts have this capability.
pub(super) fn with_capability<T>(capability: CapabilitySet, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: before.inheritable | capability, ..before })?;
    configure_capability_in_ambient_set(capability, true)?;
    let started = start();
    clear_ambient_capability_set()?;
    set_capabilities(None, before)?;
    started
}

/// Gives up all capabilities. With `no_new_privs` no program that runs from then on gets one back.
pub fn drop_all() -> io::Result<()> {
    let none = CapabilitySet::empty();
    clear_ambient_capability_set()?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
