eval("1 + (2 * nothing)")
