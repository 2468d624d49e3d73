id
pwd
echo "$HOME $USER"
