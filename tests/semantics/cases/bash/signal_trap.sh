trap 'echo got TERM; exit 7' TERM
trap 'echo got USR1' USR1
kill -USR1 $$
kill -TERM $$
echo never printed
