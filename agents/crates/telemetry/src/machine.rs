//! CPU time and clock frequency of the whole machine.

use std::path::Path;
use std::time::Duration;

use crate::SampleError;
use crate::kernel_file::KernelFile;

/// CPU time of all cores since the machine started, in steps of one tick (10 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// Time of processes, in user space and in the kernel. Interrupts are not part of it.
    pub processes: Duration,
    /// Time that the hypervisor gave to other machines.
    pub steal: Duration,
    /// Sum of all time, including idle time.
    pub total: Duration,
}

impl MachineCpu {
    pub fn now() -> Result<Self, SampleError> {
        let mut stat = KernelFile::open("/proc/stat")?;
        let ticks = CpuTicks::parse(stat.read()?);
        let ticks = ticks.ok_or_else(|| SampleError::Field { path: stat.path().to_path_buf(), field: "cpu" })?;
        Ok(Self::of(ticks, rustix::param::clock_ticks_per_second().max(1)))
    }

    fn of(ticks: CpuTicks, ticks_per_second: u64) -> Self {
        let time = |ticks: u64| Duration::from_micros(ticks * 1_000_000 / ticks_per_second);
        Self {
            processes: time(ticks.user + ticks.nice + ticks.system),
            steal: time(ticks.steal),
            total: time(ticks.busy() + ticks.idle + ticks.io_wait),
        }
    }

    /// Returns the time since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            processes: self.processes.saturating_sub(earlier.processes),
            steal: self.steal.saturating_sub(earlier.steal),
            total: self.total.saturating_sub(earlier.total),
        }
    }
}

/// First line of /proc/stat (proc_stat(5)), in ticks. `user` includes the time of guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    user: u64,
    nice: u64,
    system: u64,
    idle: u64,
    io_wait: u64,
    irq: u64,
    soft_irq: u64,
    steal: u64,
}

impl CpuTicks {
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let mut words =
            stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().map(|word| word.parse::<u64>());
        let mut ticks = [0; 8];
        for slot in &mut ticks {
            *slot = words.next()?.ok()?;
        }
        let [user, nice, system, idle, io_wait, irq, soft_irq, steal] = ticks;
        Some(Self { user, nice, system, idle, io_wait, irq, soft_irq, steal })
    }

    /// Returns all but the time that a core was idle or waited for a disk.
    pub(crate) fn busy(self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.soft_irq + self.steal
    }
}

/// Returns the mean clock frequency of the cores in kHz; `None` if the machine does not show it, as most virtual ones.
pub fn cpu_frequency_khz() -> Option<u64> {
    mean_frequency(Path::new("/sys/devices/system/cpu"))
}

fn mean_frequency(folder: &Path) -> Option<u64> {
    let cores = std::fs::read_dir(folder).ok()?.flatten();
    let frequency = |core: std::fs::DirEntry| {
        std::fs::read_to_string(core.path().join("cpufreq/scaling_cur_freq")).ok()?.trim().parse::<u64>().ok()
    };
    let known: Vec<u64> = cores.filter_map(frequency).collect();
    known.iter().sum::<u64>().checked_div(known.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_stolen_time_are_not_time_of_processes() {
        let stat = "cpu  10 20 30 4000 5000 1 2 3 7 0\ncpu0 1 2 3 4\n";
        let ticks = CpuTicks::parse(stat).unwrap();
        assert_eq!(ticks.busy(), 66);
        let at = Duration::from_millis;
        let expected = MachineCpu { processes: at(600), steal: at(30), total: at(90_660) };
        assert_eq!(MachineCpu::of(ticks, 100), expected);
        assert_eq!(CpuTicks::parse("intr 5"), None);
    }

    #[test]
    fn work_of_this_process_is_time_of_processes() {
        let before = MachineCpu::now().unwrap();
        let mut work = MachineCpu::default();
        while work.processes.is_zero() {
            work = MachineCpu::now().unwrap().since(before);
        }
        assert!(work.total >= work.processes);
    }

    #[test]
    fn the_frequency_is_the_mean_of_the_cores_that_show_one() {
        let folder = tempfile::tempdir().unwrap();
        for (core, frequency) in [("cpu0", Some("2000000\n")), ("cpu1", Some("3000000\n")), ("cpuidle", None)] {
            let path = folder.path().join(core).join("cpufreq");
            std::fs::create_dir_all(&path).unwrap();
            if let Some(text) = frequency {
                std::fs::write(path.join("scaling_cur_freq"), text).unwrap();
            }
        }
        assert_eq!(mean_frequency(folder.path()), Some(2_500_000));
        assert_eq!(mean_frequency(&folder.path().join("cpuidle")), None);
    }
}
