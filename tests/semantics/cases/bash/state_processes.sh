for folder in /proc/[0-9]*; do
  tr '\0' ' ' <"$folder/cmdline"
  echo
done
