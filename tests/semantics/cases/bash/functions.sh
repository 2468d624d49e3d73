f() {
  local x=inner
  echo "$FUNCNAME $LINENO $# $* ${BASH_LINENO[0]}"
  return 4
}
x=outer
f a "b c"
echo "$? $x"
caller
declare -A map=([a]=1 [b]=2)
array=(one "two three" four)
echo "${map[b]} ${#array[@]} ${array[@]:1:1} ${array[*]/o/0}"
cat <<END
here $x $((6 * 7)) $(f q)
END
