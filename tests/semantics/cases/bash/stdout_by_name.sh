echo "to stdout" >/dev/stdout
echo "to stderr" >/dev/stderr
echo "through tee" | tee /dev/fd/1 >/dev/null
seq 3 | tee >(cat >&2) | cat
