trap 'echo "at exit: $?"' EXIT
echo before
exit 5
