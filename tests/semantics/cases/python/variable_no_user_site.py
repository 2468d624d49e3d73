import site
import sys

print(site.ENABLE_USER_SITE, sys.flags.no_user_site)
