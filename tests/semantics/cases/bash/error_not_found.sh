echo before
surely-not-there --option
