import subprocess

child = subprocess.Popen(["sh", "-c", "read line; echo \"$line from the child\""], stdin=subprocess.PIPE, text=True)
child.stdin.write("a line\n")
child.stdin.close()
child.wait()
print("end")
