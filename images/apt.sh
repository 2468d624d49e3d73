# How this machine's apt finds packages, for those who build systems out of them. Sourced.

# The machine's own apt sources of a suite, a file a line. None: mmdebstrap takes Debian's default.
apt_sources() {
  local suite=$1 file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    if [[ -f $file ]] && grep -qw -- "$suite" < <(grep -v '^ *#' -- "$file"); then printf '%s\n' "$file"; fi
  done
}

# How its apt reaches them: proxies and the like, as options of apt, one a line.
apt_options() {
  apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until)\b.* "[^"]' || true
}
