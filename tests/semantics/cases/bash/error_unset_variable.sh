set -u
echo before
echo "$nothing"
