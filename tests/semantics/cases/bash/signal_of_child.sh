bash -c 'kill -SEGV $$'
echo $?
