# newest.sh is read by the scripts that build with what is at hand.

# newest NAME: the command with the highest version suffix, or none.
newest() {
  local v
  for v in 22 21 20 19 18 17 16 15 14 ''; do
    command -v "$1${v:+-$v}" && return
  done
  return 1
}
