echo "$GREETING|${EMPTY-unset}|${EMPTY:-empty}|$LC_ALL"
bash -c 'echo $GREETING'
