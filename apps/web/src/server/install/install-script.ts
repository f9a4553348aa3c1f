// Install script for servers: downloads the agent, verifies its digest, enrols and starts it; on an enrolled server it
// upgrades the agent. Invariant: embedded values are validated, because root runs the script; the token comes only in
// FAIRLEAD_ENROL_TOKEN.
import type { AgentTarget } from './agent-binaries.ts';

export interface InstallScriptParts {
  /** Base URL of the agent download, without path or trailing slash. */
  readonly downloadBaseUrl: string;
  /** URL that the agent connects to. */
  readonly controlUrl: string;
  readonly digests: readonly { readonly target: AgentTarget; readonly sha256: string }[];
  /** Certificate authority of both URLs in PEM, to trust beside the system's; null if there is none to add. */
  readonly authority: string | null;
}

export class InstallScriptError extends Error {}

const URL_PATTERN = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;
const DIGEST_PATTERN = /^[0-9a-f]{64}$/;
const PEM_PATTERN = /^-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/=]+\n)+-----END CERTIFICATE-----\n$/;

export function installScript({ downloadBaseUrl, controlUrl, digests, authority }: InstallScriptParts): string {
  for (const url of [downloadBaseUrl, controlUrl]) {
    if (!URL_PATTERN.test(url)) throw new InstallScriptError(`not an address that a script may hold: ${url}`);
  }
  for (const { target, sha256 } of digests) {
    if (!DIGEST_PATTERN.test(sha256)) throw new InstallScriptError(`not a digest for ${target}`);
  }
  if (authority !== null && !PEM_PATTERN.test(authority)) {
    throw new InstallScriptError('not a certificate that a script may hold');
  }
  const digestOf = (target: AgentTarget) => digests.find((each) => each.target === target)?.sha256 ?? '';
  return SCRIPT.replace('@DOWNLOAD@', downloadBaseUrl)
    .replace('@CONTROL@', controlUrl)
    .replace('@AUTHORITY@', authority?.trimEnd() ?? '')
    .replace('@DIGEST_X64@', digestOf('linux-x64'))
    .replace('@DIGEST_ARM64@', digestOf('linux-arm64'));
}

// The last line calls one function that holds everything: a truncated download runs nothing.
const SCRIPT = `#!/bin/sh
# Installs the Fairlead agent on this server and enrols it; run again, it replaces the agent, and apps keep running. Run it as
# root for full isolation of apps.
#   FAIRLEAD_ENROL_TOKEN  the single-use token from the dashboard (required; unset before anything else is started)
#   FAIRLEAD_DATA         folder for data (default: /var/lib/fairlead, or ~/.local/share/fairlead without root)
#   FAIRLEAD_HTTPS, FAIRLEAD_HTTP  addresses that the proxy listens on (default: [::]:443 and [::]:80, without root 8443 and 8080)
set -eu
umask 022

say() { printf '%s\\n' "fairlead: $*" >&2; }
stop() { say "$*"; exit 1; }
# What the unit of a former installation says; nothing without one.
former() { sed -n "s/^ExecStart=.* --$1 \\([^ ]*\\).*/\\1/p" "$unit" 2>/dev/null || true; }
need() { command -v "$1" >/dev/null 2>&1 || stop "$1 is missing. Install it, then run this again."; }

unit=/etc/systemd/system/fairlead-agent.service

main() {
  download_url='@DOWNLOAD@'
  control_url='@CONTROL@'
  # The certificate authority of these addresses; empty if it is one that the system trusts.
  authority='@AUTHORITY@'
  token="\${FAIRLEAD_ENROL_TOKEN:-}"
  unset FAIRLEAD_ENROL_TOKEN
  [ -n "$token" ] || stop "FAIRLEAD_ENROL_TOKEN is not set. Copy the whole command from the dashboard under Servers."
  [ "$(uname -s)" = Linux ] || stop "the agent runs on Linux only, this is $(uname -s)."
  need curl
  need sha256sum
  need install

  case "$(uname -m)" in
    x86_64 | amd64) target=linux-x64 digest='@DIGEST_X64@' ;;
    aarch64 | arm64) target=linux-arm64 digest='@DIGEST_ARM64@' ;;
    *) stop "there is no agent for $(uname -m)." ;;
  esac
  [ -n "$digest" ] || stop "this control plane has no agent for $target. Build one there and set FAIRLEAD_AGENT_BINARY."

  if [ "$(id -u)" = 0 ]; then
    program=/usr/local/bin/fairlead-agent
    data="\${FAIRLEAD_DATA:-$(former data)}"
    data="\${data:-/var/lib/fairlead}"
    https="\${FAIRLEAD_HTTPS:-$(former https)}"
    https="\${https:-[::]:443}"
    http="\${FAIRLEAD_HTTP:-$(former http)}"
    http="\${http:-[::]:80}"
  else
    program="$HOME/.local/bin/fairlead-agent"
    data="\${FAIRLEAD_DATA:-$HOME/.local/share/fairlead}"
    https="\${FAIRLEAD_HTTPS:-[::]:8443}"
    http="\${FAIRLEAD_HTTP:-[::]:8080}"
  fi

  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  set --
  if [ -n "$authority" ]; then
    printf '%s\\n' "$authority" >"$temporary/ca.pem"
    set -- --cacert "$temporary/ca.pem"
  fi
  say "fetching the agent for $target"
  curl --fail --silent --show-error --location --proto '=http,https' --retry 3 "$@" \\
    --output "$temporary/fairlead-agent" "$download_url/install/agent/$target"
  printf '%s  %s\\n' "$digest" "$temporary/fairlead-agent" | sha256sum --check --status ||
    stop "the download does not match its digest. Nothing was installed. Try again."

  install -d "$(dirname "$program")"
  install -d -m 0711 "$data"
  install -m 0755 "$temporary/fairlead-agent" "$program"
  # An enrolled server that runs this again trusts the control plane's present authority from then on.
  if [ -n "$authority" ]; then
    install -m 0644 "$temporary/ca.pem" "$data/control-ca.pem"
    set -- --ca "$data/control-ca.pem"
  fi

  if [ -e "$data/agent.toml" ]; then
    say "this server is enrolled already and keeps its place; the token is not used"
  else
    say "enrolling this server"
    printf '%s' "$token" | "$program" enrol --control "$control_url" --data "$data" --token-file - "$@" ||
      stop "the server could not be enrolled. The line above says why."
  fi

  [ "$(id -u)" != 0 ] || need_nftables
  start_agent
}

# Installs the firewall of apps' own networks. Without it apps share the server's network, and the dashboard says so.
need_nftables() {
  PATH="$PATH:/usr/sbin:/sbin" command -v nft >/dev/null 2>&1 && return
  say "installing nftables, the firewall between apps"
  if command -v apt-get >/dev/null 2>&1; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables >&2 ||
      { apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables >&2; } || true
  elif command -v dnf >/dev/null 2>&1; then dnf install -y -q nftables >&2 || true
  elif command -v yum >/dev/null 2>&1; then yum install -y -q nftables >&2 || true
  elif command -v zypper >/dev/null 2>&1; then zypper --non-interactive install nftables >&2 || true
  elif command -v apk >/dev/null 2>&1; then apk add -q nftables >&2 || true
  elif command -v pacman >/dev/null 2>&1; then pacman -S --noconfirm --needed nftables >&2 || true
  fi
  PATH="$PATH:/usr/sbin:/sbin" command -v nft >/dev/null 2>&1 ||
    say "nftables could not be installed, so apps will share the server's network. Install it, then restart the agent."
}

start_agent() {
  if [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
    # The data folder may lie below a home; otherwise homes are nobody's business here.
    case "$data" in
      /home/* | /root/*) homes=read-only ;;
      *) homes=yes ;;
    esac
    cat >/etc/systemd/system/fairlead-apps.service <<UNIT
[Unit]
Description=Control group of Fairlead's apps
# Version 1 needs none of this.
ConditionPathExists=/sys/fs/cgroup/cgroup.controllers

[Service]
# Keeps the group in which the agent puts apps, its proxy and their parents, so that the agent's own unit can be restarted
# while they live. Nothing ever restarts this one, and they outlive it.
Type=exec
ExecStart=sleep infinity
Delegate=yes
KillMode=process
OOMPolicy=continue
OOMScoreAdjust=-1000
TasksMax=infinity
# Only what holds for the sleeper alone: limits, devices and addresses would hold for the apps as well.
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateNetwork=yes
ProtectSystem=strict
ProtectHome=yes
RestrictNamespaces=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
UNIT
    cat >"$unit" <<UNIT
[Unit]
Description=Fairlead agent
After=network-online.target fairlead-apps.service docker.service podman.socket
Wants=network-online.target fairlead-apps.service
# An agent that ends early is started again, however often: without it nothing new is applied.
StartLimitIntervalSec=0

[Service]
ExecStart=$program run --data $data --https $https --http $http
Restart=always
RestartSec=1
# Apps and the proxy outlive a restart of the agent. On version 1 of control groups they live in this unit's.
KillMode=process
Delegate=yes
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=1048576
# What it needs of root: to become the users of apps and to give them files, mounts, devices and limits, and low ports; and to
# take all of it from the proxy (SETPCAP); to make networks for apps and the firewall in front of them (NET_ADMIN).
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL
CapabilityBoundingSet=CAP_SETGID CAP_SETPCAP CAP_SETUID CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_NET_BIND_SERVICE CAP_NET_ADMIN
NoNewPrivileges=yes
# All of this holds for apps and builds as well. No /tmp of the unit's own: each start would have another one, and what
# lives on would have the former.
ProtectSystem=strict
# The settings of the network: forwarding for apps.
ReadWritePaths=$data /tmp /var/tmp /proc/sys/net
ProtectHome=$homes
PrivateDevices=yes
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# User namespaces show an app its release as its own files; without them each instance gets a copy of its release.
RestrictNamespaces=mnt ipc pid net user
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --quiet fairlead-agent.service
    # Starts it too; one that runs becomes the new one.
    systemctl restart fairlead-agent.service
    say "the agent runs as the service fairlead-agent. The dashboard shows it within seconds."
  else
    say "installed. There is no systemd for this user, so start the agent yourself (again), and keep it running:"
    say "  $program run --data $data --https $https --http $http"
  fi
}

main
`;
