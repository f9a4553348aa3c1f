//! Control groups, one for each instance and build, by the kernel's version: v2, v1 or none. Invariant: never changes a group
//! that it did not create.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// Systemd unit of every process that outlives `run`. The kernel moves no process into a group with controllers for child groups,
/// and systemd (before 254) starts a unit's process only there. A unit with apps below it can therefore not be restarted, so apps
/// have a separate unit that is never restarted (docs/servers.md).
pub const APPS_UNIT: &str = "fairlead-apps.service";
/// Systemd unit of `run`.
const AGENT_UNIT: &str = "fairlead-agent.service";
/// Systemd slice of both units.
const SLICE: &str = "system.slice";
/// Group of the agent's own processes, beside those of apps.
const OWN_LEAF: &str = "agent";

/// Default maximum of processes and threads in a group: far above any sane app, far below what a fork bomb needs.
const PIDS_MAX: u32 = 4096;
/// CPU quota period: the kernel's default.
const CPU_PERIOD_US: u64 = 100_000;
/// Minimum CPU quota that the kernel accepts.
const CPU_QUOTA_US_MIN: u64 = 1_000;

/// Limits of a group. Zero means no limit, except for `processes`, which has a default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupLimits {
    /// Memory in bytes, without swap.
    pub memory_bytes: u64,
    /// 1000 = one core.
    pub cpu_millis: u32,
    /// Maximum number of processes and threads; zero: `PIDS_MAX`.
    pub processes: u32,
}

/// Parent groups for new groups; detected once at start.
#[derive(Debug, Clone)]
pub struct Cgroups {
    parents: Parents,
}

#[derive(Debug, Clone)]
enum Parents {
    V2(PathBuf),
    V1(V1),
    Off(String),
}

/// Folder of each controller of version 1; `None` if the kernel or this user lacks the controller.
#[derive(Debug, Clone, Default)]
struct V1 {
    memory: Option<PathBuf>,
    cpuacct: Option<PathBuf>,
    pids: Option<PathBuf>,
    cpu: Option<PathBuf>,
}

impl V1 {
    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.memory, &self.cpuacct, &self.pids, &self.cpu].into_iter().flatten()
    }
}

/// Folders of one instance's group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Folder in the hierarchy of version 2.
    v2: Option<PathBuf>,
    /// Folders of version 1, by controller.
    memory: Option<PathBuf>,
    cpuacct: Option<PathBuf>,
    pids: Option<PathBuf>,
    #[serde(default)]
    cpu: Option<PathBuf>,
}

/// Folders with an instance's CPU time and memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CgroupFolders {
    /// Version 2: one folder for all controllers.
    V2(PathBuf),
    /// Version 1: one folder for each controller.
    V1 {
        /// `cpuacct`.
        cpuacct: PathBuf,
        /// `memory`.
        memory: PathBuf,
    },
}

impl CgroupFolders {
    /// Returns the folders of a process's group; `None` if the process is gone or the kernel counts nothing.
    pub fn of(pid: u32) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let found = parse_hierarchies(&mounts, &own);
        let folder = |controller: Option<&str>| {
            let hierarchy = found.iter().find(|hierarchy| hierarchy.controller.as_deref() == controller)?;
            let folder = hierarchy.mount.join(hierarchy.own.strip_prefix("/").ok()?);
            folder.is_dir().then_some(folder)
        };
        if let Some(folder) = folder(None).filter(|folder| folder.join("memory.current").exists()) {
            return Some(Self::V2(folder));
        }
        Some(Self::V1 { cpuacct: folder(Some("cpuacct"))?, memory: folder(Some("memory"))? })
    }
}

impl Cgroups {
    /// Detects the groups that this process may create. `name` separates two agents on one server.
    pub fn detect(name: &str) -> Self {
        let parents = match hierarchies() {
            Ok(found) => parents(&found, name),
            Err(error) => Parents::Off(format!("control groups can't be read: {error}")),
        };
        Self { parents }
    }

    /// Disables groups, limits and accounting for `reason`.
    pub fn off(reason: &str) -> Self {
        Self { parents: Parents::Off(reason.to_owned()) }
    }

    /// Returns the reason, as a sentence, why there are no groups.
    pub fn off_reason(&self) -> Option<&str> {
        match &self.parents {
            Parents::Off(reason) => Some(reason),
            Parents::V1(V1 { memory: None, .. }) => Some("this kernel has no memory control group"),
            _ => None,
        }
    }

    /// Returns the version of the kernel's control groups; `None` without groups.
    pub fn version(&self) -> Option<u8> {
        match &self.parents {
            Parents::Off(_) => None,
            Parents::V1(_) => Some(1),
            Parents::V2(_) => Some(2),
        }
    }

    /// True if systemd runs the agent, but no group outside of the agent's own unit can be used.
    pub fn lacks_apps_unit(&self) -> bool {
        hierarchies().is_ok_and(|found| v2(&found).is_some_and(|hierarchy| self.lacks_apps_unit_in(hierarchy)))
    }

    fn lacks_apps_unit_in(&self, hierarchy: &Hierarchy) -> bool {
        let Parents::V2(parent) = &self.parents else { return false };
        !parent.starts_with(hierarchy.unit(APPS_UNIT)) && hierarchy.unit(AGENT_UNIT).is_dir()
    }

    /// Lists limits that can't be set although there are groups, as sentences.
    pub fn missing(&self) -> Vec<&'static str> {
        let (cpu, pids) = match &self.parents {
            Parents::Off(_) => return Vec::new(),
            Parents::V2(parent) => {
                let has = |name: &str| {
                    let controllers = fs::read_to_string(parent.join("cgroup.controllers")).unwrap_or_default();
                    controllers.split_whitespace().any(|one| one == name)
                };
                (has("cpu"), has("pids"))
            }
            Parents::V1(v1) => (v1.cpu.is_some(), v1.pids.is_some()),
        };
        let lacks = [(cpu, "Apps have no CPU limit"), (pids, "Apps have no limit of processes")];
        lacks.into_iter().filter(|(has, _)| !has).map(|(_, words)| words).collect()
    }

    /// Removes the groups that `detect` created, once no instance is left in them.
    pub fn remove(&self) -> io::Result<()> {
        let parents: Vec<&PathBuf> = match &self.parents {
            Parents::Off(_) => Vec::new(),
            Parents::V2(parent) => vec![parent],
            Parents::V1(v1) => v1.folders().collect(),
        };
        parents.into_iter().try_for_each(|parent| remove_if_present(parent))
    }

    /// Kills every process in the groups below those that `detect` created, and removes all groups. Killed processes take a
    /// moment to disappear: until then it fails, and the caller repeats it.
    pub fn end_all(&self) -> io::Result<()> {
        let parents: Vec<&PathBuf> = match &self.parents {
            Parents::Off(_) => Vec::new(),
            Parents::V2(parent) => vec![parent],
            Parents::V1(v1) => v1.folders().collect(),
        };
        parents.into_iter().try_for_each(|parent| end_group(parent))
    }

    /// Creates a group with its limits.
    pub fn create(&self, name: &str, limits: GroupLimits) -> io::Result<Option<Cgroup>> {
        let child = |parent: &Option<PathBuf>| -> io::Result<Option<PathBuf>> {
            let Some(path) = parent.as_ref().map(|parent| parent.join(name)) else { return Ok(None) };
            // Creates the parent too: another run of the same data folder may have removed it.
            fs::create_dir_all(&path)?;
            Ok(Some(path))
        };
        let group = match &self.parents {
            Parents::Off(_) => return Ok(None),
            Parents::V2(parent) => {
                let v2 = child(&Some(parent.clone()))?;
                Cgroup { v2, ..Cgroup::default() }
            }
            Parents::V1(V1 { memory, cpuacct, pids, cpu }) => Cgroup {
                v2: None,
                memory: child(memory)?,
                cpuacct: child(cpuacct)?,
                pids: child(pids)?,
                cpu: child(cpu)?,
            },
        };
        group.limit(limits)?;
        Ok(Some(group))
    }
}

impl Cgroup {
    fn limit(&self, limits: GroupLimits) -> io::Result<()> {
        let quota = (limits.cpu_millis > 0)
            .then(|| (u64::from(limits.cpu_millis) * CPU_PERIOD_US / 1000).max(CPU_QUOTA_US_MIN).to_string());
        let memory = (limits.memory_bytes > 0).then(|| limits.memory_bytes.to_string());
        let pids = self.v2.as_ref().or(self.pids.as_ref()).map(|path| path.join("pids.max"));
        // A delegated v2 group may lack a controller. Defaults are set only where the controller exists; requested limits must be
        // set.
        if let Some(pids) = pids.filter(|path| path.exists()) {
            fs::write(pids, if limits.processes == 0 { PIDS_MAX } else { limits.processes }.to_string())?;
        }
        if let Some(folder) = &self.v2 {
            let set = |name: &str, value: &Option<String>| {
                let path = folder.join(name);
                if value.is_none() && !path.exists() {
                    return Ok(());
                }
                fs::write(path, value.as_deref().unwrap_or("max"))
            };
            set("memory.max", &memory)?;
            // Without this limit, memory beyond the limit would go to swap and fill the disk.
            if memory.is_some() && folder.join("memory.swap.max").exists() {
                fs::write(folder.join("memory.swap.max"), "0")?;
            }
            set("cpu.max", &quota.as_ref().map(|quota| format!("{quota} {CPU_PERIOD_US}")))?;
        }
        if let Some(folder) = &self.memory {
            fs::write(folder.join("memory.limit_in_bytes"), memory.as_deref().unwrap_or("-1"))?;
        }
        if let Some(folder) = &self.cpu {
            fs::write(folder.join("cpu.cfs_period_us"), CPU_PERIOD_US.to_string())?;
            fs::write(folder.join("cpu.cfs_quota_us"), quota.as_deref().unwrap_or("-1"))?;
        }
        Ok(())
    }

    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.v2, &self.memory, &self.cpuacct, &self.pids, &self.cpu].into_iter().flatten()
    }

    /// Moves the calling process, and so all its children, into the group.
    pub fn join(&self) -> io::Result<()> {
        for folder in self.folders() {
            fs::write(folder.join("cgroup.procs"), "0")?;
        }
        Ok(())
    }

    /// Opens the files by which a process joins: it writes `0`. For a process that may no longer open files itself.
    pub fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |folder: &PathBuf| fs::OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        self.folders().map(|folder| open(folder).map(OwnedFd::from)).collect()
    }

    /// Sends SIGKILL to all processes in the group; the next call kills processes that were forked meanwhile.
    pub fn kill(&self) -> io::Result<()> {
        if let Some(v2) = &self.v2 {
            let kill = v2.join("cgroup.kill");
            if kill.exists() {
                return fs::write(kill, "1");
            }
        }
        for pid in self.pids()? {
            if let Some(pid) = Pid::from_raw(pid) {
                match kill_process(pid, Signal::KILL) {
                    Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Returns the pids in the group.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        let Some(folder) = self.folders().next() else { return Ok(Vec::new()) };
        let text = match fs::read_to_string(folder.join("cgroup.procs")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }

    /// True if the kernel has killed a process of the group for its memory limit.
    pub fn out_of_memory(&self) -> bool {
        let events = match (&self.v2, &self.memory) {
            (Some(v2), _) => v2.join("memory.events"),
            (None, Some(memory)) => memory.join("memory.oom_control"),
            (None, None) => return false,
        };
        let text = fs::read_to_string(events).unwrap_or_default();
        let killed = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        killed.and_then(|count| count.trim().parse::<u64>().ok()).is_some_and(|count| count > 0)
    }

    /// Removes the group; it must be empty.
    pub fn remove(&self) -> io::Result<()> {
        self.folders().try_for_each(|folder| remove_if_present(folder))
    }

    /// Returns the folders with CPU time and memory; `None` if a controller for them is missing.
    pub fn accounting(&self) -> Option<CgroupFolders> {
        match self {
            Self { v2: Some(v2), .. } if v2.join("memory.current").exists() => Some(CgroupFolders::V2(v2.clone())),
            Self { memory: Some(memory), cpuacct: Some(cpuacct), .. } => {
                Some(CgroupFolders::V1 { cpuacct: cpuacct.clone(), memory: memory.clone() })
            }
            _ => None,
        }
    }

    /// Returns the path of the group, for people and for `ShimStatus`.
    pub fn describe(&self) -> String {
        self.folders().next().map(|path| path.display().to_string()).unwrap_or_default()
    }
}

/// Mounted hierarchy and this process's group in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    /// `None` for version 2, else a controller.
    controller: Option<String>,
    mount: PathBuf,
    own: PathBuf,
}

impl Hierarchy {
    fn unit(&self, name: &str) -> PathBuf {
        self.mount.join(SLICE).join(name)
    }
}

/// Moves the calling process out of the agent's unit: systemd treats processes left there as remains when it starts the unit.
/// Does nothing without systemd's units.
pub fn leave_agent_unit() -> io::Result<()> {
    let found = hierarchies()?;
    let Some(hierarchy) = v2(&found) else { return Ok(()) };
    if hierarchy.own != Path::new("/").join(SLICE).join(AGENT_UNIT) {
        return Ok(());
    }
    let leaf = hierarchy.unit(APPS_UNIT).join(OWN_LEAF);
    if !leaf.is_dir() {
        return Ok(());
    }
    fs::write(leaf.join("cgroup.procs"), "0")
}

fn hierarchies() -> io::Result<Vec<Hierarchy>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    Ok(parse_hierarchies(&mounts, &own))
}

fn parse_hierarchies(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let place = |wanted: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            controllers.split(',').any(|one| one == wanted).then(|| PathBuf::from(path))
        })
    };
    let mut found = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, mount, kind, options, ..] = fields[..] else { continue };
        if kind == "cgroup2"
            && let Some(own) = place("")
        {
            found.push(Hierarchy { controller: None, mount: mount.into(), own });
        }
        for controller in ["memory", "cpuacct", "pids", "cpu"].iter().filter(|_| kind == "cgroup") {
            if options.split(',').any(|option| option == *controller)
                && let Some(own) = place(controller)
            {
                found.push(Hierarchy { controller: Some((*controller).to_owned()), mount: mount.into(), own });
            }
        }
    }
    found
}

fn v2(found: &[Hierarchy]) -> Option<&Hierarchy> {
    found.iter().find(|hierarchy| hierarchy.controller.is_none())
}

fn parents(found: &[Hierarchy], name: &str) -> Parents {
    if let Some(hierarchy) = v2(found)
        && fs::read_to_string(hierarchy.mount.join("cgroup.controllers"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|controller| controller == "memory"))
    {
        return match v2_parent(hierarchy, name) {
            Ok(parent) => Parents::V2(parent),
            Err(error) => Parents::Off(format!("this user may not make control groups ({error})")),
        };
    }
    let v1 = |controller: &str| {
        let hierarchy = found.iter().find(|hierarchy| hierarchy.controller.as_deref() == Some(controller))?;
        v1_parent(hierarchy, name).ok()
    };
    let v1 = V1 { memory: v1("memory"), cpuacct: v1("cpuacct"), pids: v1("pids"), cpu: v1("cpu") };
    if v1.folders().next().is_some() {
        return Parents::V1(v1);
    }
    let why = if found.is_empty() {
        "this kernel has no control groups mounted"
    } else {
        "this user may not make control groups"
    };
    Parents::Off(why.to_owned())
}

fn v1_parent(hierarchy: &Hierarchy, name: &str) -> io::Result<PathBuf> {
    let parent = own_folder(hierarchy).join(name);
    create_if_missing(&parent)?;
    Ok(parent)
}

/// Chooses the parent group: the apps' unit, else the own group if systemd delegated it, else the root group, which needs root.
fn v2_parent(hierarchy: &Hierarchy, name: &str) -> io::Result<PathBuf> {
    let (apps, own) = (hierarchy.unit(APPS_UNIT), own_folder(hierarchy));
    let given = |folder: &PathBuf| delegated(folder) && rustix::fs::access(folder, Access::WRITE_OK).is_ok();
    let at = match [apps, own].into_iter().find(given) {
        Some(unit) => {
            // Child groups with controllers allow no process in the parent (cgroup-v2, "no internal processes").
            let leaf = unit.join(OWN_LEAF);
            create_if_missing(&leaf)?;
            for pid in fs::read_to_string(unit.join("cgroup.procs"))?.lines() {
                fs::write(leaf.join("cgroup.procs"), pid)?;
            }
            unit
        }
        None => hierarchy.mount.clone(),
    };
    let available = fs::read_to_string(at.join("cgroup.controllers"))?;
    let parent = at.join(name);
    create_if_missing(&parent)?;
    for folder in [&at, &parent] {
        for controller in
            ["memory", "pids", "cpu"].iter().filter(|one| available.split_whitespace().any(|c| c == **one))
        {
            fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"))?;
        }
    }
    Ok(parent)
}

fn own_folder(hierarchy: &Hierarchy) -> PathBuf {
    let own = hierarchy.mount.join(hierarchy.own.strip_prefix("/").unwrap_or(&hierarchy.own));
    // In a container the path may belong to another namespace.
    if own.is_dir() { own } else { hierarchy.mount.clone() }
}

fn delegated(folder: &Path) -> bool {
    let mut value = [0u8; 8];
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        rustix::fs::getxattr(folder, *name, &mut value[..]).is_ok_and(|length| length == 1 && value[0] == b'1')
    })
}

fn end_group(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            end_group(&entry.path())?;
        }
    }
    Cgroup { v2: Some(folder.to_owned()), ..Cgroup::default() }.kill()?;
    remove_if_present(folder)
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn create_if_missing(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
