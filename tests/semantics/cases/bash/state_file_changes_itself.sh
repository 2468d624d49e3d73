echo first
echo 'echo appended' >>"$0"
rm "$0"
ls /tmp | wc -l
