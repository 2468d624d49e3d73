echo "$0 $# $BASH_SOURCE ${#BASH_SOURCE[@]} $- $SHLVL $PWD $HOME $USER $UID_SHOWN"
echo "$BASH_VERSION $POSIXLY_CORRECT $IFS" | od -c | head -5
shopt | sort
set -o
umask
