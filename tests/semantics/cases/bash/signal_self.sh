echo before
kill -TERM $$
echo never printed
