echo before
exec sh -c 'echo replaced; exit 6'
