# The script comes from the program, so that it fits it.
cove completion fish | source
