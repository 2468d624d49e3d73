import datetime
import time
import zoneinfo

print(time.tzname, time.localtime(0).tm_hour, datetime.datetime.fromtimestamp(0).isoformat())
print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).isoformat())
print(abs(time.time() - datetime.datetime.now().timestamp()) < 5, time.monotonic() > 0, time.get_clock_info("monotonic").implementation)
