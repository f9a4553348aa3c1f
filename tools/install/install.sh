#!/bin/sh
# Installs, updates and uninstalls a release of Fairlead on Debian 11+ and Ubuntu 20.04+ with systemd. Invariant: unpacks and
# runs nothing that the pinned key has not signed, and never touches apps in an update.
set -eu
umask 022

HELP='Usage: sh install.sh [install] --from DIR|URL [options]
       fairlead update --from DIR|URL [--yes]
       fairlead uninstall [--delete-data]

install     installs the release, or repairs an installation of the same version
update      backs up, installs a newer version, checks it, and rolls back if the check fails
uninstall   stops all apps of this server, removes units and programs; keeps data, settings and backups

  --from DIR|URL             folder with the files of a release, or its https address
  --public-url URL           https address of the dashboard, with a name or an address of this server
  --email ADDRESS            contact for security reports, in security.txt
  --database-url-file FILE   file with the URL of your own PostgreSQL, instead of the embedded one
  --no-start                 with install: start nothing, to restore a backup first
  --delete-data              with uninstall: delete data, settings and backups too; asks first
  --yes                      ask nothing, except before data is deleted
  --help                     show this

docs/install.md describes what it installs and where.'

# Public key of the releases, in the format of minisign. `npm run release` writes it here.
PUBLIC_KEY='@PUBLIC_KEY@'

programs=/opt/fairlead
settings=/etc/fairlead/fairlead.toml
backups=/var/backups/fairlead
log=/var/log/fairlead/start.log
units=/etc/systemd/system
command=/usr/local/bin/fairlead
START_SECONDS=300

say() { printf '%s\n' "fairlead: $*" >&2; }
stop() { say "$*"; exit 1; }
need() { command -v "$1" >/dev/null 2>&1 || stop "$1 is missing. Install it, then run this again."; }

main() {
  verb=install from='' public_url='' email='' database_url_file='' yes='' no_start='' delete_data=''
  case "${1:-}" in install | update | uninstall | write-units) verb=$1 && shift ;; esac
  while [ $# -gt 0 ]; do
    case "$1" in
      --from | --public-url | --email | --database-url-file) [ $# -gt 1 ] || stop "$1 needs a value. See --help" ;;
    esac
    case "$1" in
      --from) from=$2 && shift ;;
      --public-url) public_url=$2 && shift ;;
      --email) email=$2 && shift ;;
      --database-url-file) database_url_file=$2 && shift ;;
      --no-start) no_start=1 ;;
      --delete-data) delete_data=1 ;;
      --yes) yes=1 ;;
      --help | -h) printf '%s\n' "$HELP" && exit ;;
      *) stop "$1 is no option. See --help" ;;
    esac
    shift
  done
  [ "$(id -u)" = 0 ] || stop "this needs root: run it with sudo."
  [ -d /run/systemd/system ] || stop "this server does not run systemd, which Fairlead's units need."
  need systemctl
  data=$(data_folder)
  # The former version's update calls this, and holds the lock.
  if [ "$verb" = write-units ]; then write_units "${0%/tools/install/install.sh}" || true; return; fi
  # One at a time; programs that this starts do not hold the lock.
  exec 9>/run/fairlead-install.lock
  flock -n 9 || stop "another installation or update is running."
  "$verb" 9>&-
}

install() {
  need_supported_system
  [ -n "$from" ] || stop "--from is missing: name the folder or the https address of a release. See --help"
  former=$(current_version)
  check_answers
  fetch
  if [ -n "$former" ] && [ "$former" != "$version" ]; then
    stop "version $former is installed. To install $version, run: fairlead update --from $from"
  fi
  changed=''
  unpack
  make_accounts
  [ -e "$settings" ] || write_settings
  link
  write_units "$programs/$version" || changed=1
  systemctl enable --quiet fairlead.service
  need_nftables
  if [ -n "$no_start" ]; then
    say "version $version is installed, and not started. Restore a backup with fairlead restore, then run this again without --no-start"
    return
  fi
  if [ -n "$changed" ] || ! systemctl is-active --quiet fairlead.service; then
    say "starting"
    start || stop "Fairlead did not start. The end of $log:
$(tail -n 15 "$log")"
  else
    say "version $version runs already, and nothing was missing"
  fi
  report
}

update() {
  former=$(current_version)
  [ -n "$former" ] || stop "Fairlead is not installed. Run install.sh of the release."
  [ -n "$from" ] || stop "--from is missing: name the folder or the https address of a release. See --help"
  fetch
  [ "$version" != "$former" ] || stop "version $version is installed already."
  # A pre-release, such as 1.0.0-rc.1, comes before its release.
  newest=$(printf '%s\n' "$former" "$version" | sed 's/-/~/' | sort -V | tail -n 1 | sed 's/~/-/')
  [ "$newest" = "$version" ] || stop "$version is older than $former, which is installed. An update never goes back."
  [ -d "$data/postgres" ] || [ -n "$yes" ] || stop "$data holds no database: back up your own PostgreSQL, then add --yes."
  changed=''
  unpack
  need_space
  say "stopping $former; apps keep running"
  # A lost terminal must not leave the server between two versions.
  trap '' INT HUP
  systemctl stop fairlead.service
  if ! back_up; then
    systemctl start fairlead.service
    stop "the backup failed, so nothing was changed, and $former runs again. The line above says why."
  fi
  link
  # The units of a version come from its own installer.
  if sh "$programs/$version/tools/install/install.sh" write-units && start; then
    remove_versions
    say "updated from $former to $version. The backup is in $backup"
    return
  fi
  say "$version did not start. The end of $log:
$(tail -n 15 "$log")"
  go_back
}

# Returns to the former version, with the database as it was before the update.
go_back() {
  failed=$version version=$former
  systemctl stop fairlead.service || true
  if [ -d "$backup/postgres" ]; then
    say "going back to $former and its database"
    for folder in postgres secrets; do
      rm -rf "${data:?}/$folder.failed"
      mv "$data/$folder" "$data/$folder.failed"
      cp -a --reflink=auto "$backup/$folder" "$data/$folder"
    done
    rm -rf "$data/postgres.failed" "$data/secrets.failed"
  else
    say "going back to $former. If $failed has changed your PostgreSQL, restore your own backup of it"
  fi
  link
  write_units "$programs/$version" || true
  # Servers may have accepted states of the failed version, and refuse older ones.
  "$programs/$version/bin/fairlead" new-epoch --data "$data" --made-at "$backup_made_at" >>"$log" 2>&1 ||
    stop "$former could not be prepared. The end of $log says why. The backup is in $backup"
  start || stop "$former did not start either. The end of $log says why. The backup is in $backup"
  rm -rf "${programs:?}/$failed"
  stop "the update to $failed failed. $former runs again with its database of $backup_made_at. The backup is in $backup"
}

uninstall() {
  if [ -n "$delete_data" ]; then
    printf 'This deletes all accounts, apps, logs, settings and backups in %s, %s and %s.\nType "delete all data" to go on: ' \
      "$data" "${settings%/*}" "$backups" >&2
    [ "$(answer)" = 'delete all data' ] || stop "nothing was deleted or removed."
  fi
  systemctl disable --quiet fairlead.service 2>/dev/null || true
  systemctl stop fairlead.service 2>/dev/null || true
  # Apps and the proxy stay in its control group where the kernel delegates no limits.
  systemctl kill --signal=SIGKILL fairlead.service 2>/dev/null || true
  # The agent of a server for another control plane has the same unit for its apps.
  if [ ! -e "$units/fairlead-agent.service" ]; then
    systemctl kill --signal=SIGKILL fairlead-apps.service 2>/dev/null || true
    systemctl stop fairlead-apps.service 2>/dev/null || true
    rm -f "$units/fairlead-apps.service"
  fi
  rm -f "$units/fairlead.service" "$command"
  systemctl daemon-reload
  rm -rf "$programs"
  if [ -n "$delete_data" ]; then
    rm -rf "$data" "${settings%/*}" "$backups" "${log%/*}"
    say "uninstalled, and all data is deleted"
  else
    say "uninstalled. Data is in $data, settings in ${settings%/*}, backups in $backups"
  fi
}

need_supported_system() {
  [ "$(uname -s)" = Linux ] || stop "Fairlead runs on Linux only, this is $(uname -s)."
  # shellcheck source=/dev/null
  name=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-0}")
  number=${name#* }
  case "$name" in
    debian\ *) least=11 ;;
    ubuntu\ *) least=20.04 ;;
    *) stop "this installs on Debian and Ubuntu only, this is ${name% *}." ;;
  esac
  # Debian testing has no number.
  [ "$number" = 0 ] || [ "$(printf '%s\n' "$least" "$number" | sort -V | head -n 1)" = "$least" ] ||
    stop "${name% *} $number is too old: Fairlead needs $least or newer."
}

# Asks for what the options do not say, on the first installation only.
check_answers() {
  if [ ! -e "$settings" ] && [ -z "$yes" ]; then
    if [ -z "$public_url" ]; then
      printf 'Domain or IP address of the dashboard, such as %s (empty: only this server reaches it): ' "$(own_address)" >&2
      public_url=$(answer)
    fi
    if [ -z "$email" ]; then
      printf 'E-mail address for security reports (empty: none): ' >&2
      email=$(answer)
    fi
  fi
  case "$public_url" in
    '' | http://* | https://*) ;;
    *) public_url="https://$public_url" ;;
  esac
  is_one_line "$public_url" '(https://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/?)?' ||
    stop "--public-url must be an https address such as https://fairlead.example.com"
  is_one_line "$email" '([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)?' || stop "--email must be an e-mail address"
  [ -z "$database_url_file" ] || [ -r "$database_url_file" ] || stop "$database_url_file cannot be read."
}

own_address() { hostname -I 2>/dev/null | awk '{ address = $1 } END { print (address == "" ? "203.0.113.5" : address) }'; }

# Succeeds if text $1 is one line and matches the pattern $2 as a whole.
is_one_line() { [ "$(printf '%s\n' "$1" | wc -l)" = 1 ] && printf '%s\n' "$1" | grep -Eqx "$2"; }

# Reads one line: from the terminal if this script itself comes through a pipe.
answer() {
  line=''
  if [ -f "$0" ]; then read -r line || true; else read -r line </dev/tty || stop "there is no terminal to ask: add --yes"; fi
  printf '%s' "$line"
}

# Downloads the files of this machine and verifies them. Sets `version` and `archive`.
fetch() {
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) stop "there is no release for $(uname -m)." ;;
  esac
  mkdir -p "$programs"
  work=$(mktemp -d "$programs/.download-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  get SHA256SUMS.minisig
  get SHA256SUMS
  verify_signature "$work/SHA256SUMS" || stop "the signature of SHA256SUMS is wrong. Nothing was installed."
  version=$(sed -n '3s/^trusted comment: fairlead \([0-9][0-9A-Za-z.-]*\) SHA256SUMS$/\1/p' "$work/SHA256SUMS.minisig")
  [ -n "$version" ] || stop "the signature names no version. Nothing was installed."
  name="fairlead-$version-linux-$cpu.tar.gz"
  digest=$(awk -v name="$name" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$digest" ] || stop "this release has no $name."
  say "fetching $name"
  get "$name"
  archive=$work/$name
  printf '%s  %s\n' "$digest" "$archive" | sha256sum --check --status ||
    stop "$name does not have the digest that was signed. Nothing was installed."
}

get() {
  case "$from" in
    https://*)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$work/$1" "${from%/}/$1"
      else
        need wget
        wget --quiet --https-only --tries=3 --output-document="$work/$1" "${from%/}/$1"
      fi || stop "$1 could not be fetched from $from"
      ;;
    *://*) stop "--from must be a folder or an https address." ;;
    # A copy, which only root can change after it is verified.
    *) cp "$from/$1" "$work/$1" || stop "$from has no $1." ;;
  esac
}

# Verifies FILE.minisig with the pinned key: of the file's BLAKE2b-512 digest, and of the comment, which names the version.
verify_signature() {
  printf '%s' "$PUBLIC_KEY" | base64 -d >"$work/key" 2>/dev/null || stop "this installer has no public key."
  sed -n 2p "$1.minisig" | base64 -d >"$work/signature" 2>/dev/null || return 1
  sed -n 4p "$1.minisig" | base64 -d >"$work/comment-signature" 2>/dev/null || return 1
  key=$(hex "$work/key") signature=$(hex "$work/signature") comment_signature=$(hex "$work/comment-signature")
  [ "${#key}" = 84 ] && [ "${#signature}" = 148 ] && [ "${#comment_signature}" = 128 ] || return 1
  # Ed: Ed25519 key; ED: signature of a digest. Then the number of the key.
  [ "${key%"${key#????}"}" = 4564 ] && [ "${signature%"${signature#????}"}" = 4544 ] || return 1
  [ "$(cut_hex "$key" 5 20)" = "$(cut_hex "$signature" 5 20)" ] || return 1
  key=$(cut_hex "$key" 21 84) signature=$(cut_hex "$signature" 21 148)
  digest=$(b2sum "$1") && digest=${digest%% *}
  comment=$(sed -n '3s/^trusted comment: //p' "$1.minisig" | tr -d '\n' | od -An -v -tx1 | tr -d ' \n')
  ed25519 "$key" "$signature" "$digest" && ed25519 "$key" "$comment_signature" "$signature$comment"
}

hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
cut_hex() { printf '%s' "$1" | cut -c "$2-$3"; }

# Verifies an Ed25519 signature (RFC 8032) with key, signature and message in hex. openssl of Debian 11 and Ubuntu 20.04 can't,
# and their base has none; perl-base and coreutils are in every Debian and Ubuntu. The arithmetic is TweetNaCl's.
ed25519() {
  hash=$(perl -e 'print pack("H*", join("", @ARGV))' "$(cut_hex "$2" 1 64)" "$1" "$3" | sha512sum)
  perl - "$1" "$2" "${hash%% *}" <<'PERL'
@ED25519@
PERL
}

# Unpacks the verified archive beside the others, and repairs one that differs from it.
unpack() {
  mkdir "$work/unpacked"
  tar -xzf "$archive" -C "$work/unpacked" --strip-components=1 --no-same-owner || stop "$archive could not be unpacked."
  target=$programs/$version
  [ -d "$target" ] && diff -rq --no-dereference "$work/unpacked" "$target" >/dev/null && return
  changed=1
  if [ -d "$target" ]; then
    say "repairing $target"
    mv "$target" "$work/damaged"
  fi
  mv "$work/unpacked" "$target"
}

# PostgreSQL refuses to run as root, and its unit can't add users. The group may read the settings.
make_accounts() {
  getent group fairlead >/dev/null || groupadd --system fairlead
  getent passwd postgres >/dev/null ||
    useradd --system --user-group --no-create-home --shell /usr/sbin/nologin postgres
}

write_settings() {
  url=''
  if [ -n "$database_url_file" ]; then
    url=$(cat "$database_url_file")
    is_one_line "$url" 'postgres(ql)?://[^"\\[:cntrl:]]+' ||
      stop "$database_url_file must hold one postgresql:// URL without quotes and backslashes."
  fi
  mkdir -p "${settings%/*}"
  (
    umask 077
    {
      echo '# Settings of Fairlead (docs/settings.md). They change with: systemctl restart fairlead'
      [ -z "$public_url" ] || printf 'public_url = "%s"\n' "$public_url"
      [ -z "$email" ] || printf 'security_contact = "mailto:%s"\n' "$email"
      [ -z "$url" ] || printf '\n[database]\nurl = "%s"\n' "$url"
    } >"$settings.new"
  )
  chown root:fairlead "$settings.new"
  chmod 0640 "$settings.new"
  mv "$settings.new" "$settings"
}

data_folder() {
  folder=$(sed -n '/^\[/q; s/^data_dir *= *"\([^"]*\)".*/\1/p' "$settings" 2>/dev/null || true)
  case "$folder" in
    '') folder=/var/lib/fairlead-control-plane ;;
    /*) ;;
    *) stop "data_dir in $settings must be an absolute path for an installed Fairlead." ;;
  esac
  printf '%s' "$folder"
}

current_version() { if [ -L "$programs/current" ]; then basename "$(readlink "$programs/current")"; fi; }

link() {
  ln -sfn "$version" "$programs/current.new"
  mv -T "$programs/current.new" "$programs/current"
  ln -sfn "$programs/current/bin/fairlead" "$command"
}

# Writes the units of the version in folder $1. Returns 0 if they were there already.
write_units() {
  same=0
  mkdir -p "${log%/*}" "$data" "$backups"
  chmod 0711 "$data"
  chmod 0700 "${log%/*}" "$backups"
  # It holds the one-time link for the first account.
  [ -e "$log" ] || (umask 077 && : >"$log")
  for unit in fairlead.service fairlead-apps.service; do
    sed "s|@DATA@|$data|; s|@LOG@|$log|" "$1/tools/install/$unit" >"$units/.$unit"
    if cmp -s "$units/.$unit" "$units/$unit"; then rm "$units/.$unit"; else mv "$units/.$unit" "$units/$unit" && same=1; fi
  done
  [ "$same" = 0 ] || systemctl daemon-reload
  return "$same"
}

# The firewall of apps' own networks. Without it apps share the server's network, and the dashboard says so.
need_nftables() {
  PATH="$PATH:/usr/sbin:/sbin" command -v nft >/dev/null 2>&1 && return
  say "installing Debian's package nftables, the firewall between apps"
  { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables ||
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables; }; } >&2 ||
    say "nftables could not be installed, so apps share the server's network. Install it, then: systemctl restart fairlead"
}

# Starts the current version, and waits until it is up and healthy.
start() {
  before=$(wc -c <"$log" 2>/dev/null || echo 0)
  systemctl restart fairlead.service || return 1
  waited=0
  until said | grep -q 'Fairlead is up'; do
    systemctl is-active --quiet fairlead.service || return 1
    [ "$waited" -lt "$START_SECONDS" ] || return 1
    sleep 1
    waited=$((waited + 1))
  done
  "$programs/current/bin/fairlead" health >>"$log" 2>&1
}

# What the last start printed.
said() { tail -c "+$((before + 1))" "$log" 2>/dev/null; }

report() {
  address=$(sed -n '/^\[/q; s/^public_url *= *"\([^"]*\)".*/\1/p' "$settings")
  # The start writes this summary. The proxy of this server made the authority of its public URL.
  authority=$(summary_of Authority)
  signs="certificates of $address"
  if [ -z "$authority" ]; then authority=$data/agent/ca/ca.pem signs="certificates of https://*.localhost only"; fi
  fingerprint=$(sed '/^-/d' "$authority" | base64 -d | sha256sum | cut -d ' ' -f 1 | tr a-f A-F | sed 's/../&:/g; s/:$//')
  say "version $version is installed"
  printf '\n  Dashboard    %s\n' "${address:-http://localhost:4400 (on this server only)}"
  # There is none once the first account exists.
  setup=$(summary_of Setup)
  [ -z "$setup" ] || printf '  Set up       %s\n               The first account becomes the owner. The link works once.\n' "$setup"
  printf '  Authority    SHA-256 %s\n               of %s, which signs %s\n' "$fingerprint" "$authority" "$signs"
  printf '  Settings     %s\n  Data         %s\n  Log          %s and %s/logs\n' "$settings" "$data" "$log" "$data"
  case "$authority" in
    "$data/agent/ca/"*)
      if [ -z "$address" ]; then
        printf '\n  From your computer:  ssh -L 4400:localhost:4400 root@THIS-SERVER\n'
      else
        printf '\n  Your reverse proxy must serve %s (docs/guide.md#your-own-reverse-proxy).\n' "$address"
      fi
      ;;
    *)
      printf '\n  Browsers warn until they trust the authority: download %s/install/ca.pem,\n' "${address%/}"
      printf '  compare its fingerprint with the one above, and import it. Servers that you add trust it by themselves.\n'
      port=$(printf '%s' "$address" | sed -n 's|.*:\([0-9][0-9]*\)/*$|\1|p')
      printf '  If a firewall is on, open the ports of the dashboard and of apps:\n'
      printf '    ufw:       ufw allow 80,%s/tcp\n' "${port:-443}"
      printf '    nftables:  nft add rule inet filter input tcp dport { 80, %s } accept\n' "${port:-443}"
      ;;
  esac
  echo
}

# First word of a row in the summary of the last start.
summary_of() { awk -v row="$1" '/Fairlead is up/ { word = "" } $1 == row { word = $2 } END { print word }' "$log"; }

need_space() {
  # Copies of the database and the keys, and as much again for a migration.
  needed=0
  if [ -d "$data/postgres" ]; then needed=$(du -sk "$data/postgres" "$data/secrets" | awk '{ sum += $1 } END { print 2 * sum }'); fi
  free=$(df -Pk "$backups" | awk 'NR == 2 { print $4 }')
  [ "$free" -gt "$needed" ] || stop "$backups needs $needed KiB for the backup, and has $free KiB. Nothing was changed."
}

# Copies the embedded database and the keys of the stopped control plane. Sets `backup`.
back_up() {
  backup_made_at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  backup=$backups/before-$version
  rm -rf "$backup" "$backup.partial"
  mkdir -m 0700 "$backup.partial" || return 1
  if [ -d "$data/postgres" ]; then
    # A cluster with this file was not stopped, and a copy of it would be torn.
    if find "$data/postgres" -name postmaster.pid | grep -q .; then say "PostgreSQL did not stop"; return 1; fi
    cp -a --reflink=auto "$data/postgres" "$data/secrets" "$backup.partial/" || return 1
  fi
  mv "$backup.partial" "$backup"
}

# Keeps the current version and the one before it, and the newest backup.
remove_versions() {
  for folder in "$programs"/*; do
    case "${folder##*/}" in current | "$version" | "$former") ;; *) rm -rf "$folder" ;; esac
  done
  for folder in "$backups"/before-*; do [ "$folder" = "$backup" ] || rm -rf "$folder"; done
}

main "$@"
