//! Samples CPU and memory of one program: of its cgroup if it has one, else of its process tree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::SampleError;
use crate::host::pss_bytes;
use crate::kernel_file::KernelFile;

/// Interval at which a tree's process list and its PSS are read again; for PSS the kernel walks page tables.
const TREE_REFRESH: Duration = Duration::from_secs(5);
/// Maximum number of processes and levels in a tree, against a program that forks without end.
const TREE_MAX: usize = 256;

/// Sample of a program. CPU covers the time since the previous sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// 1000 = one whole core for the whole time.
    pub cpu_millis: u32,
    /// Memory in bytes: of the cgroup, without reclaimable cache; else PSS if readable, else RSS.
    pub memory_bytes: u64,
}

/// Keeps a program's files open between samples.
#[derive(Debug)]
pub struct ProcessSampler {
    source: SampleSource,
    last_cpu_us: u64,
    last_at: Instant,
}

#[derive(Debug)]
enum SampleSource {
    ProcessTree(ProcessTree),
    CgroupV2 { cpu: KernelFile, memory: KernelFile, stat: KernelFile },
    CgroupV1 { cpu: KernelFile, memory: KernelFile, stat: KernelFile },
}

impl ProcessSampler {
    /// Samples a process and its children, listed again every few seconds. Fails if the process is gone.
    pub fn of_tree(pid: u32) -> Result<Self, SampleError> {
        Self::start(SampleSource::ProcessTree(ProcessTree::open(pid)?))
    }

    /// Samples a cgroup of version 2 with the cpu and memory controllers, by its folder.
    pub fn of_cgroup_v2(folder: &Path) -> Result<Self, SampleError> {
        Self::start(SampleSource::CgroupV2 {
            cpu: KernelFile::open(folder.join("cpu.stat"))?,
            memory: KernelFile::open(folder.join("memory.current"))?,
            stat: KernelFile::open(folder.join("memory.stat"))?,
        })
    }

    /// Samples a cgroup of version 1, by its folders in the cpuacct and memory hierarchies.
    pub fn of_cgroup_v1(cpuacct_folder: &Path, memory_folder: &Path) -> Result<Self, SampleError> {
        Self::start(SampleSource::CgroupV1 {
            cpu: KernelFile::open(cpuacct_folder.join("cpuacct.usage"))?,
            memory: KernelFile::open(memory_folder.join("memory.usage_in_bytes"))?,
            stat: KernelFile::open(memory_folder.join("memory.stat"))?,
        })
    }

    fn start(mut source: SampleSource) -> Result<Self, SampleError> {
        let (last_cpu_us, _) = source.read()?;
        Ok(Self { source, last_cpu_us, last_at: Instant::now() })
    }

    /// Takes one sample. An error means that the program is gone or its files are no longer readable.
    pub fn sample(&mut self) -> Result<ProcessSample, SampleError> {
        let now = Instant::now();
        let (cpu_us, memory_bytes) = self.source.read()?;
        let elapsed_us = now.duration_since(self.last_at).as_micros().max(1) as u64;
        // A child that ended reduces a tree's sum; the difference then counts as zero, not negative.
        let used_us = cpu_us.saturating_sub(self.last_cpu_us);
        self.last_cpu_us = cpu_us;
        self.last_at = now;
        Ok(ProcessSample { cpu_millis: u32::try_from(used_us * 1000 / elapsed_us).unwrap_or(u32::MAX), memory_bytes })
    }
}

impl SampleSource {
    /// Returns (CPU time in µs since the program began, memory in bytes).
    fn read(&mut self) -> Result<(u64, u64), SampleError> {
        match self {
            Self::ProcessTree(tree) => tree.read(),
            Self::CgroupV2 { cpu, memory, stat } => {
                Ok((cpu.field("usage_usec")?, memory.number()?.saturating_sub(stat.field("inactive_file")?)))
            }
            Self::CgroupV1 { cpu, memory, stat } => {
                Ok((cpu.number()? / 1000, memory.number()?.saturating_sub(stat.field("total_inactive_file")?)))
            }
        }
    }
}

#[derive(Debug)]
struct ProcessTree {
    root: u32,
    members: HashMap<u32, TreeProcess>,
    refreshed_at: Instant,
    tick_us: u64,
    page_bytes: u64,
}

#[derive(Debug)]
struct TreeProcess {
    stat: KernelFile,
    /// File with the PSS; `None` if it belongs to another user's program and this process is not root.
    rollup: Option<KernelFile>,
    /// PSS at the last refresh; `None` if it is unreadable.
    pss_bytes: Option<u64>,
}

impl ProcessTree {
    fn open(root: u32) -> Result<Self, SampleError> {
        let mut tree = Self {
            root,
            members: HashMap::new(),
            refreshed_at: Instant::now(),
            tick_us: 1_000_000 / rustix::param::clock_ticks_per_second().max(1),
            page_bytes: rustix::param::page_size() as u64,
        };
        tree.members.insert(root, TreeProcess::open(root)?);
        tree.refresh();
        Ok(tree)
    }

    fn read(&mut self) -> Result<(u64, u64), SampleError> {
        if self.refreshed_at.elapsed() >= TREE_REFRESH {
            self.refresh();
        }
        let (mut cpu_us, mut memory_bytes) = (0, 0);
        let mut gone = Vec::new();
        for (pid, member) in &mut self.members {
            match member.read() {
                Ok(usage) => {
                    cpu_us += usage.cpu_ticks * self.tick_us;
                    memory_bytes += member.pss_bytes.unwrap_or(usage.resident_pages * self.page_bytes);
                }
                Err(error) if *pid == self.root => return Err(error),
                Err(_) => gone.push(*pid),
            }
        }
        for pid in gone {
            self.members.remove(&pid);
        }
        Ok((cpu_us, memory_bytes))
    }

    fn refresh(&mut self) {
        self.refreshed_at = Instant::now();
        let found = tree_of(self.root);
        self.members.retain(|pid, _| found.contains(pid));
        for pid in found {
            // Skips a process that ended after the listing.
            if let std::collections::hash_map::Entry::Vacant(slot) = self.members.entry(pid)
                && let Ok(member) = TreeProcess::open(pid)
            {
                slot.insert(member);
            }
        }
        for member in self.members.values_mut() {
            member.pss_bytes = member.rollup.as_mut().and_then(|file| file.read().ok().and_then(pss_bytes));
        }
    }
}

/// Returns the current PSS of one process in bytes. The kernel walks its page tables: too costly for every second.
pub fn pss_bytes_of(pid: u32) -> Result<u64, SampleError> {
    let mut rollup = KernelFile::open(format!("/proc/{pid}/smaps_rollup"))?;
    let found = pss_bytes(rollup.read()?);
    found.ok_or_else(|| SampleError::Field { path: rollup.path().to_path_buf(), field: "Pss" })
}

/// Returns the CPU time of a process's living threads in nanoseconds (/proc/PID/stat counts only in ticks of 10 ms).
pub fn cpu_time_of(pid: u32) -> Result<Duration, SampleError> {
    let folder = PathBuf::from(format!("/proc/{pid}/task"));
    let threads = std::fs::read_dir(&folder).map_err(|source| SampleError::Read { path: folder, source })?;
    let mut total = Duration::ZERO;
    // The time of a thread that ends during the read is not counted.
    for text in threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok()) {
        let on_cpu = text.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        total += Duration::from_nanos(on_cpu.unwrap_or(0));
    }
    Ok(total)
}

/// Returns the CPU time of the living threads of a process and its descendants.
pub fn tree_cpu_time_of(root: u32) -> Result<Duration, SampleError> {
    let own = cpu_time_of(root)?;
    // A descendant that ended meanwhile has no time to add.
    Ok(own + tree_of(root).into_iter().skip(1).filter_map(|pid| cpu_time_of(pid).ok()).sum::<Duration>())
}

/// Returns a process and its descendants, each after its parent. Finds them through /proc/PID/task/*/children; never walks
/// all of /proc.
pub fn tree_of(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() && found.len() < TREE_MAX {
        found.extend(children(found[next]));
        next += 1;
    }
    found.truncate(TREE_MAX);
    found
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(PathBuf::from(format!("/proc/{pid}/task"))) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

struct ProcessUsage {
    cpu_ticks: u64,
    resident_pages: u64,
}

impl TreeProcess {
    fn open(pid: u32) -> Result<Self, SampleError> {
        Ok(Self {
            stat: KernelFile::open(format!("/proc/{pid}/stat"))?,
            rollup: KernelFile::open(format!("/proc/{pid}/smaps_rollup")).ok(),
            pss_bytes: None,
        })
    }

    fn read(&mut self) -> Result<ProcessUsage, SampleError> {
        let parsed = parse_stat(self.stat.read()?);
        let (cpu_ticks, resident_pages) =
            parsed.ok_or_else(|| SampleError::Field { path: self.stat.path().to_path_buf(), field: "stat" })?;
        Ok(ProcessUsage { cpu_ticks, resident_pages })
    }
}

/// Parses (utime + stime + cutime + cstime in ticks, resident pages) of proc_pid_stat(5). The name in brackets may hold any
/// character.
fn parse_stat(stat: &str) -> Option<(u64, u64)> {
    let mut words = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = 0;
    for _ in 0..4 {
        ticks += words.next()?.parse::<i64>().ok()?.max(0) as u64;
    }
    let resident = words.nth(6)?.parse::<i64>().ok()?.max(0) as u64;
    Some((ticks, resident))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat =
            "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 7 5 2 1 20 0 1 0 900 1000000 250 18446744073709551615";
        assert_eq!(parse_stat(stat), Some((15, 250)));
    }

    #[test]
    fn a_childs_memory_counts_and_a_process_that_ended_is_an_error() {
        let mut parent = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        // The shell's child appears a moment after the shell itself.
        while children(parent.id()).is_empty() {
            std::thread::yield_now();
        }
        let mut sampler = ProcessSampler::of_tree(parent.id()).unwrap();
        let SampleSource::ProcessTree(tree) = &sampler.source else { panic!("a tree was opened") };
        assert_eq!(tree.members.len(), 2);
        assert!(tree_cpu_time_of(parent.id()).unwrap() >= cpu_time_of(parent.id()).unwrap());
        assert!(sampler.sample().unwrap().memory_bytes > 0);
        for child in children(parent.id()) {
            Command::new("kill").arg(child.to_string()).status().unwrap();
        }
        parent.wait().unwrap();
        assert!(sampler.sample().is_err());
    }

    #[test]
    fn this_process_has_used_time_and_memory() {
        let own = std::process::id();
        assert!(cpu_time_of(own).unwrap() > Duration::ZERO);
        assert!(pss_bytes_of(own).unwrap() > 0);
        assert!(pss_bytes_of(u32::MAX).is_err());
    }

    #[test]
    fn a_cgroup_of_version_2_is_read_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("cpu.stat", "usage_usec 1000\nuser_usec 600\n");
        write("memory.current", "5000\n");
        write("memory.stat", "anon 10\ninactive_file 1000\n");
        let mut sampler = ProcessSampler::of_cgroup_v2(folder.path()).unwrap();
        write("cpu.stat", "usage_usec 900000000\nuser_usec 600\n");
        let sample = sampler.sample().unwrap();
        assert_eq!(sample.memory_bytes, 4000);
        assert!(sample.cpu_millis > 0);
    }
}
