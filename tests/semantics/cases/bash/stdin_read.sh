read -r a
read -r b c
echo "$a|$b|$c|"
cat
read -r d
echo "<$?><$d>"
