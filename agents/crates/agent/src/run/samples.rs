//! Samples of the host, of the apps' processes and of the agent itself, once a second. Files stay open between samples.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairlead_base::{Folders, clock, error::chain};
use fairlead_model::{InstanceId, InstanceStatus};
use fairlead_runtime::{CgroupFolders, RunningProcess, RuntimeView};
use fairlead_telemetry::{
    HostSample, HostSampler, ProcessSample, ProcessSampler, SampleError, cpu_time_of, pss_bytes_of,
};
use fairlead_wire::agent;
use fairlead_wire::local::ProxyStats;

use super::frame::{AppUse, FrameClock, app_samples, route_samples};

/// Interval of PSS samples: reading PSS walks a process's page tables, so it is costly.
const MEMORY_INTERVAL: Duration = Duration::from_secs(15);

/// Samplers and their last values.
#[derive(Debug)]
pub(crate) struct Samples {
    host: HostSampler,
    instances: BTreeMap<InstanceId, ProcessSampler>,
    /// Usage in the last second, for the report.
    uses: BTreeMap<InstanceId, ProcessSample>,
    clock: FrameClock,
    last: Instant,
    agent_cpu: BTreeMap<u32, Duration>,
    agent_memory_bytes: u64,
    memory_taken: Option<Instant>,
}

impl Samples {
    /// Opens the host's kernel files.
    pub(crate) fn open(folders: &Folders) -> Result<Self, SampleError> {
        Ok(Self {
            host: HostSampler::open(folders.root())?,
            instances: BTreeMap::new(),
            uses: BTreeMap::new(),
            clock: FrameClock::default(),
            last: Instant::now(),
            agent_cpu: BTreeMap::new(),
            agent_memory_bytes: 0,
            memory_taken: None,
        })
    }

    /// Returns the time of the last frame.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// Returns one frame from the proxy's statistics and the processes' usage since the last frame.
    pub(crate) fn frame(&mut self, stats: &ProxyStats, view: &RuntimeView, proxy_pid: u32) -> agent::Frame {
        let now = Instant::now();
        let elapsed = now.duration_since(self.last);
        self.last = now;
        let host = self.host.sample().unwrap_or_else(|error| {
            tracing::warn!(reason = chain(&error), "the host can't be sampled");
            HostSample::default()
        });
        let agent_pids = [std::process::id(), proxy_pid];
        let agent_cpu_millis = self.agent_cpu_millis(agent_pids, elapsed);
        if self.memory_taken.is_none_or(|taken| now.duration_since(taken) >= MEMORY_INTERVAL) {
            self.memory_taken = Some(now);
            self.agent_memory_bytes = agent_pids.iter().filter_map(|pid| pss_bytes_of(*pid).ok()).sum();
        }
        agent::Frame {
            agent_unix_ms: self.clock.stamp(clock::unix_ms()),
            duration_ms: u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX),
            host: Some(agent::HostSample {
                cpu_millis: host.cpu_millis,
                memory_used_bytes: host.memory_used_bytes,
                memory_total_bytes: host.memory_total_bytes,
                disk_used_bytes: host.disk_used_bytes,
                disk_total_bytes: host.disk_total_bytes,
                network_received_bytes: host.network_received_bytes,
                network_sent_bytes: host.network_sent_bytes,
                load1_millis: host.load1_millis,
                agent_cpu_millis,
                agent_memory_bytes: self.agent_memory_bytes,
                open_connections: stats.open_connections,
            }),
            apps: app_samples(stats, &self.app_uses(view)),
            routes: route_samples(stats),
        }
    }

    fn app_uses(&mut self, view: &RuntimeView) -> BTreeMap<String, AppUse> {
        self.instances.retain(|instance, _| view.processes.iter().any(|process| process.instance == *instance));
        let mut uses: BTreeMap<String, AppUse> = BTreeMap::new();
        self.uses.clear();
        for process in &view.processes {
            let sum = uses.entry(fairlead_wire::app_key(&process.key)).or_default();
            // A process that just ended has no sample; the runtime reports its end.
            let Ok(sample) = self.sample(process) else {
                self.instances.remove(&process.instance);
                continue;
            };
            self.uses.insert(process.instance.clone(), sample);
            sum.cpu_millis = sum.cpu_millis.saturating_add(sample.cpu_millis);
            sum.memory_bytes = sum.memory_bytes.saturating_add(sample.memory_bytes);
        }
        uses
    }

    /// Returns each instance with its usage in the last second.
    pub(crate) fn with_uses(&self, instances: &[InstanceStatus]) -> Vec<InstanceStatus> {
        let with_use = |status: &InstanceStatus| {
            let used = self.uses.get(&status.id);
            InstanceStatus {
                cpu_millis: used.map_or(0, |used| used.cpu_millis),
                memory_bytes: used.map_or(0, |used| used.memory_bytes),
                ..status.clone()
            }
        };
        instances.iter().map(with_use).collect()
    }

    fn sample(&mut self, process: &RunningProcess) -> Result<ProcessSample, SampleError> {
        if !self.instances.contains_key(&process.instance) {
            self.instances.insert(process.instance.clone(), sampler(process)?);
        }
        self.instances.get_mut(&process.instance).map_or_else(|| Ok(Default::default()), ProcessSampler::sample)
    }

    fn agent_cpu_millis(&mut self, pids: [u32; 2], elapsed: Duration) -> u32 {
        let mut used = Duration::ZERO;
        let mut totals = BTreeMap::new();
        for pid in pids {
            if let Ok(total) = cpu_time_of(pid) {
                let before = self.agent_cpu.get(&pid).copied().unwrap_or(total);
                used += total.saturating_sub(before);
                totals.insert(pid, total);
            }
        }
        self.agent_cpu = totals;
        let elapsed = elapsed.as_secs_f64().max(0.001);
        (used.as_secs_f64() * 1000.0 / elapsed).round() as u32
    }
}

fn sampler(process: &RunningProcess) -> Result<ProcessSampler, SampleError> {
    match &process.cgroup {
        Some(CgroupFolders::V2(folder)) => ProcessSampler::of_cgroup_v2(folder),
        Some(CgroupFolders::V1 { cpuacct, memory }) => ProcessSampler::of_cgroup_v1(cpuacct, memory),
        None => ProcessSampler::of_tree(process.pid),
    }
}
