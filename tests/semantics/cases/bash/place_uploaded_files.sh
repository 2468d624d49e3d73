. ./library.sh
greet you
ls
