//! Noise of the machine during the measured time of a row: stolen time, CPU time of other processes, clock frequency.

use std::time::Duration;

use fairlead_model::MachineNoise;
use fairlead_telemetry::{MachineCpu, cpu_frequency_khz};

/// Counters at the start of the measured time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoiseMeter {
    cpu: MachineCpu,
    frequency_khz: Option<u64>,
}

impl NoiseMeter {
    /// Returns `None` if the kernel does not show the CPU time of the machine.
    pub(crate) fn start() -> Option<Self> {
        match MachineCpu::now() {
            Ok(cpu) => Some(Self { cpu, frequency_khz: cpu_frequency_khz() }),
            Err(error) => {
                tracing::warn!(%error, "the noise of this machine can't be sampled");
                None
            }
        }
    }

    /// `measured`: CPU time of proxy, app and load generator; `None` if one of them is not known.
    pub(crate) fn end(self, measured: Option<Duration>) -> Option<MachineNoise> {
        let cpu = MachineCpu::now().ok()?.since(self.cpu);
        Some(noise(cpu, measured, [self.frequency_khz, cpu_frequency_khz()]))
    }
}

fn noise(cpu: MachineCpu, measured: Option<Duration>, frequencies_khz: [Option<u64>; 2]) -> MachineNoise {
    let known: Vec<u64> = frequencies_khz.into_iter().flatten().collect();
    let mean_khz = known.iter().sum::<u64>().checked_div(known.len() as u64);
    MachineNoise {
        machine_cpu: cpu.total,
        // Ticks are coarser than the time of a process, so the difference may be slightly negative.
        other_cpu: measured.map(|measured| cpu.processes.saturating_sub(measured)),
        steal: cpu.steal,
        frequency_mhz: mean_khz.map(|khz| u32::try_from(khz / 1000).unwrap_or(u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_have_what_proxy_app_and_generator_have_not() {
        let at = Duration::from_millis;
        let cpu = MachineCpu { processes: at(1500), steal: at(20), total: at(2000) };
        let expected =
            MachineNoise { machine_cpu: at(2000), other_cpu: Some(at(300)), steal: at(20), frequency_mhz: Some(2500) };
        assert_eq!(noise(cpu, Some(at(1200)), [Some(2_000_000), Some(3_000_000)]), expected);
        assert_eq!(noise(cpu, Some(at(1503)), [None, None]).other_cpu, Some(Duration::ZERO));
        assert_eq!(noise(cpu, None, [None, None]).other_cpu, None);
    }
}
