echo "to stdout" >/dev/stdout
echo "to stderr" >/dev/stderr
echo "through tee" | tee /dev/fd/1 >/dev/null
