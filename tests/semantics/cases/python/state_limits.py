import os
import resource

for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
print(oct(os.umask(0)), os.nice(0), os.cpu_count(), len(os.sched_getaffinity(0)), os.sched_getscheduler(0))
