echo first
echo "never closed
