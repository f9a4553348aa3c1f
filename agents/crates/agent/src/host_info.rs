//! This host in words and numbers, for enrolment, hello and `check`.

mod addresses;

use std::io;

use fairlead_base::Folders;
use fairlead_runtime::Isolation;
use fairlead_telemetry::HostSampler;
use fairlead_wire::agent::HostInfo;

/// Reads the host once; its name, system and sizes rarely change while the agent runs.
pub(crate) fn read(folders: &Folders, isolation: &Isolation) -> io::Result<HostInfo> {
    let sample =
        HostSampler::open(folders.root()).and_then(|mut sampler| sampler.sample()).map_err(io::Error::other)?;
    let system = rustix::system::uname();
    Ok(HostInfo {
        hostname: system.nodename().to_string_lossy().into_owned(),
        os: operating_system(),
        kernel: system.release().to_string_lossy().into_owned(),
        arch: std::env::consts::ARCH.into(),
        cpu_count: cpu_count(),
        memory_bytes: sample.memory_total_bytes,
        disk_bytes: sample.disk_total_bytes,
        isolation_off: isolation.off().to_vec(),
        // Before the first run there is none.
        local_ca_pem: std::fs::read_to_string(folders.authority().join("ca.pem")).unwrap_or_default(),
        addresses: addresses::read().iter().map(ToString::to_string).collect(),
    })
}

pub(crate) fn cpu_count() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The distribution's own name for itself (os-release(5)); "Linux" when it has none.
pub(crate) fn operating_system() -> String {
    let text = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| std::fs::read_to_string(path).ok());
    let name = text.as_deref().and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map(|name| name.trim_matches(['"', '\'']).to_owned())
    });
    name.unwrap_or_else(|| "Linux".into())
}
