/etc/passwd
