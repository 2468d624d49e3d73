# Loaded by bash-completion when `cove` is first completed. The script comes from the program, so that it fits it.
source <(cove completion bash)
