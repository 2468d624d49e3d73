import subprocess

subprocess.Popen(["sleep", "0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("end")
