set -e
trap 'echo line $LINENO: $BASH_COMMAND' ERR
echo before
(exit 2)
echo never printed
