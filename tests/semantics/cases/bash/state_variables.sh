env | sort
declare -p | sed 's/=.*//' | sort
