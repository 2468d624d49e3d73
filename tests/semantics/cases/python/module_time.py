import datetime
import time

print(time.tzname, time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(0)), datetime.datetime.fromtimestamp(1e9).astimezone())
