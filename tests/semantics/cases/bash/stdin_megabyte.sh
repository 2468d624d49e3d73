sha256sum
wc -c </dev/null
