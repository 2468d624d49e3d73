import site
import sysconfig

print(site.getsitepackages(), site.ENABLE_USER_SITE, site.getuserbase(), site.getusersitepackages())
print(sysconfig.get_paths(), sysconfig.get_platform(), sysconfig.get_default_scheme())
