cat < /nowhere/file
