for ((i = 0; i < 5; i++)); do head -c 1000000 /dev/zero | tr '\0' "$i"; done
