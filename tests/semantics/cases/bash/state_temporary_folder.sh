ls -A /tmp | wc -l
find /tmp -type p
