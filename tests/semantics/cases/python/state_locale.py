import codecs
import locale
import time

print(locale.setlocale(locale.LC_ALL), locale.getlocale(), locale.getpreferredencoding(), locale.getencoding())
print(locale.setlocale(locale.LC_ALL, ""), locale.localeconv()["decimal_point"], locale.str(1.5))
print(time.tzname, time.timezone, time.strftime("%A %B", time.gmtime(0)), codecs.lookup("utf8").name)
