use super::*;

#[test]
fn both_cgroup_versions_are_found_with_the_group_of_this_process() {
    let mounts = "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
        cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
    let own = "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/system.slice/x.service\n";
    let found = parse_hierarchies(mounts, own);
    let place = |controller: Option<&str>| {
        let one = found.iter().find(|hierarchy| hierarchy.controller.as_deref() == controller).unwrap();
        (one.mount.to_str().unwrap().to_owned(), one.own.to_str().unwrap().to_owned())
    };
    assert_eq!(place(Some("memory")), ("/sys/fs/cgroup/memory".into(), "/a/b".into()));
    assert_eq!(place(Some("cpuacct")), ("/sys/fs/cgroup/cpu,cpuacct".into(), "/".into()));
    assert_eq!(place(None), ("/sys/fs/cgroup/unified".into(), "/system.slice/x.service".into()));
}

#[test]
fn apps_live_outside_of_the_agents_unit_where_systemd_gives_them_one() {
    let dir = tempfile::tempdir().unwrap();
    let own = PathBuf::from("/system.slice/fairlead-agent.service");
    let hierarchy = Hierarchy { controller: None, mount: dir.path().to_owned(), own };
    let unit = |name: &str| {
        let folder = hierarchy.unit(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup.procs"), "7\n").unwrap();
        fs::write(folder.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        rustix::fs::setxattr(&folder, "user.delegate", b"1", rustix::fs::XattrFlags::empty()).unwrap();
        folder
    };
    let lacks = |parent: PathBuf| Cgroups { parents: Parents::V2(parent) }.lacks_apps_unit_in(&hierarchy);
    let top = dir.path().join("one");
    assert!(!lacks(top.clone()), "no systemd, no agent of it: nothing is missing");
    let agent = unit(AGENT_UNIT);
    assert_eq!(v2_parent(&hierarchy, "one").unwrap(), agent.join("one"));
    assert!(lacks(agent.join("one")) && lacks(top));
    assert_eq!(fs::read_to_string(agent.join("agent/cgroup.procs")).unwrap(), "7");
    fs::remove_dir_all(agent.join("agent")).unwrap();
    let apps = unit(APPS_UNIT);
    assert_eq!(v2_parent(&hierarchy, "one").unwrap(), apps.join("one"));
    assert!(!lacks(apps.join("one")));
    assert_eq!(fs::read_to_string(apps.join("agent/cgroup.procs")).unwrap(), "7");
    assert_eq!(fs::read_to_string(apps.join("cgroup.subtree_control")).unwrap(), "+cpu");
    assert!(!agent.join("agent").exists());
}

/// Some systems mount version 2 beside version 1, without controllers; killing still works.
#[test]
fn everything_in_a_group_of_version_2_is_killed_and_the_group_removed() {
    let found = hierarchies().unwrap();
    let Some(hierarchy) = found.iter().find(|hierarchy| hierarchy.controller.is_none()) else { return };
    let folder = own_folder(hierarchy).join(format!("fairlead-test-{}", std::process::id()));
    if create_if_missing(&folder).is_err() {
        return;
    }
    let group = Cgroup { v2: Some(folder.clone()), ..Cgroup::default() };
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(folder.join("cgroup.procs"), child.id().to_string()).unwrap();
    assert_eq!(group.pids().unwrap(), [child.id().cast_signed()]);
    group.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    group.remove().unwrap();
    assert!(!folder.exists());
    assert!(group.pids().unwrap().is_empty());
}

/// Needs root and a kernel with controllers: reads the requested limits back from the kernel.
#[test]
fn limits_reach_the_kernel_and_memory_beyond_them_ends_the_process() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let parent = format!("fairlead-test-limits-{}", std::process::id());
    let groups = Cgroups::detect(&parent);
    if groups.off_reason().is_some() {
        return;
    }
    let limits = GroupLimits { memory_bytes: 32 << 20, cpu_millis: 250, processes: 40 };
    let group = groups.create("one", limits).unwrap().unwrap();
    let read = |folder: &Option<PathBuf>, name: &str| {
        folder.as_ref().and_then(|folder| fs::read_to_string(folder.join(name)).ok()).map(|text| text.trim().to_owned())
    };
    let quota = read(&group.v2, "cpu.max").or_else(|| read(&group.cpu, "cpu.cfs_quota_us"));
    assert!(quota.is_none_or(|quota| quota.starts_with("25000")));
    let pids = read(&group.v2, "pids.max").or_else(|| read(&group.pids, "pids.max"));
    assert!(pids.is_none_or(|pids| pids == "40"));
    let memory = read(&group.v2, "memory.max").or_else(|| read(&group.memory, "memory.limit_in_bytes"));
    assert_eq!(memory.as_deref(), Some("33554432"));
    let mut waits = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    for folder in group.folders() {
        fs::write(folder.join("cgroup.procs"), waits.id().to_string()).unwrap();
    }
    group.kill().unwrap();
    assert!(!waits.wait().unwrap().success());
    assert!(!group.out_of_memory());
    assert!(!filled(&group).success() && group.out_of_memory());
    group.remove().unwrap();
    groups.remove().unwrap();
}

/// Runs a program that keeps its input in memory, and feeds it more than the group may use.
fn filled(group: &Cgroup) -> std::process::ExitStatus {
    let mut hungry = std::process::Command::new("dd");
    hungry.args(["of=/dev/null", "bs=100M", "count=1", "iflag=fullblock", "status=none"]);
    let mut hungry = hungry.stdin(std::process::Stdio::piped()).spawn().unwrap();
    for folder in group.folders() {
        fs::write(folder.join("cgroup.procs"), hungry.id().to_string()).unwrap();
    }
    let mut input = hungry.stdin.take().unwrap();
    let zeros = vec![0u8; 1 << 20];
    // The pipe breaks when the kernel kills it.
    let given = (0..100).take_while(|_| std::io::Write::write_all(&mut input, &zeros).is_ok()).count();
    assert!(given < 100, "it was given everything and lives");
    drop(input);
    hungry.wait().unwrap()
}
