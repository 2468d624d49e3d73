sleep 0.05 &
wait $!
echo $?
(exit 9) &
wait $!
echo $?
coproc cat
echo through >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
echo "$line"
