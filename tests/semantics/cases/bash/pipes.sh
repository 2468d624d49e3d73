false | true | (exit 4)
echo "${PIPESTATUS[@]}"
set -o pipefail
(exit 3) | cat
echo $?
yes | head -n 2
echo "${PIPESTATUS[@]}"
diff <(seq 3) <(seq 4)
