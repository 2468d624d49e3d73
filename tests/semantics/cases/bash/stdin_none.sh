read -r a
echo "$? <$a>"
[ -t 0 ] || echo no terminal
stat -L -c %F /dev/stdin
