echo before
false
