"""Converting whole trees: find the files, convert them in child processes under limits, write and report."""
