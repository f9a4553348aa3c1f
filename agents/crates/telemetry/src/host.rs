//! Samples the machine's CPU, memory, disk, network and load. Keeps kernel files open; rates are differences of counters.

use std::path::PathBuf;
use std::time::Instant;

use crate::SampleError;
use crate::kernel_file::{KernelFile, field};
use crate::machine::CpuTicks;

/// Sample of the machine. CPU and network values cover the time since the previous sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostSample {
    /// CPU usage of all cores; 1000 = one whole core for the whole time.
    pub cpu_millis: u32,
    /// Memory that is not available to a new program.
    pub memory_used_bytes: u64,
    /// Memory of the machine.
    pub memory_total_bytes: u64,
    /// Used space of the file system that holds the agent's data.
    pub disk_used_bytes: u64,
    /// Size of that file system.
    pub disk_total_bytes: u64,
    /// Bytes received on all interfaces except loopback.
    pub network_received_bytes: u64,
    /// Bytes sent on all interfaces except loopback.
    pub network_sent_bytes: u64,
    /// One-minute load average, times 1000.
    pub load1_millis: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    cpu_busy_ticks: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

/// Keeps the kernel's files open between samples.
#[derive(Debug)]
pub struct HostSampler {
    stat: KernelFile,
    memory: KernelFile,
    network: KernelFile,
    load: KernelFile,
    data_folder: PathBuf,
    ticks_per_second: u64,
    last: Counters,
    last_at: Instant,
}

impl HostSampler {
    /// Opens the files and takes the first reading of the counters. `data_folder` names the file system to report.
    pub fn open(data_folder: impl Into<PathBuf>) -> Result<Self, SampleError> {
        let mut sampler = Self {
            stat: KernelFile::open("/proc/stat")?,
            memory: KernelFile::open("/proc/meminfo")?,
            network: KernelFile::open("/proc/net/dev")?,
            load: KernelFile::open("/proc/loadavg")?,
            data_folder: data_folder.into(),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            last: Counters::default(),
            last_at: Instant::now(),
        };
        sampler.last = sampler.counters()?;
        Ok(sampler)
    }

    pub fn sample(&mut self) -> Result<HostSample, SampleError> {
        let now = Instant::now();
        let counters = self.counters()?;
        let elapsed_ms = now.duration_since(self.last_at).as_millis().max(1) as u64;
        let busy_ms = counters.cpu_busy_ticks.saturating_sub(self.last.cpu_busy_ticks) * 1000 / self.ticks_per_second;
        let memory_total_bytes = self.memory.field("MemTotal")? * 1024;
        let memory_available_bytes = self.memory.field("MemAvailable")? * 1024;
        let disk = rustix::fs::statvfs(&self.data_folder)
            .map_err(|error| SampleError::Read { path: self.data_folder.clone(), source: error.into() })?;
        let sample = HostSample {
            cpu_millis: saturate(busy_ms * 1000 / elapsed_ms),
            memory_used_bytes: memory_total_bytes.saturating_sub(memory_available_bytes),
            memory_total_bytes,
            disk_used_bytes: disk.f_blocks.saturating_sub(disk.f_bfree) * disk.f_frsize,
            // Blocks that are reserved for root are neither used nor usable, as in `df`.
            disk_total_bytes: (disk.f_blocks.saturating_sub(disk.f_bfree) + disk.f_bavail) * disk.f_frsize,
            network_received_bytes: counters.received_bytes.saturating_sub(self.last.received_bytes),
            network_sent_bytes: counters.sent_bytes.saturating_sub(self.last.sent_bytes),
            load1_millis: self.load1_millis()?,
        };
        self.last = counters;
        self.last_at = now;
        Ok(sample)
    }

    fn counters(&mut self) -> Result<Counters, SampleError> {
        let ticks = CpuTicks::parse(self.stat.read()?);
        let ticks = ticks.ok_or_else(|| SampleError::Field { path: self.stat.path().to_path_buf(), field: "cpu" })?;
        let (received_bytes, sent_bytes) = network_bytes(self.network.read()?);
        Ok(Counters { cpu_busy_ticks: ticks.busy(), received_bytes, sent_bytes })
    }

    fn load1_millis(&mut self) -> Result<u32, SampleError> {
        let first = self.load.read()?.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        let load = first.ok_or_else(|| SampleError::Field { path: self.load.path().to_path_buf(), field: "load" })?;
        Ok((load * 1000.0).round() as u32)
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns (received, sent) of all interfaces in /proc/net/dev except loopback.
fn network_bytes(table: &str) -> (u64, u64) {
    let mut total = (0, 0);
    for (name, numbers) in table.lines().filter_map(|line| line.split_once(':')) {
        if name.trim() == "lo" {
            continue;
        }
        let mut numbers = numbers.split_ascii_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
        total.0 += numbers.next().unwrap_or(0);
        total.1 += numbers.nth(7).unwrap_or(0);
    }
    total
}

/// Returns the proportional set size in bytes from /proc/PID/smaps_rollup.
pub(crate) fn pss_bytes(rollup: &str) -> Option<u64> {
    field(rollup, "Pss:").map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_not_network_traffic() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 40 1 0 0 0 0 0 0\n wg0:7 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";
        assert_eq!(network_bytes(table), (107, 42));
    }

    #[test]
    fn this_machine_can_be_sampled() {
        let mut sampler = HostSampler::open("/").unwrap();
        let sample = sampler.sample().unwrap();
        assert!(sample.memory_total_bytes > sample.memory_used_bytes && sample.memory_used_bytes > 0);
        assert!(sample.disk_total_bytes > 0);
    }
}
