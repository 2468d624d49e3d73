import site

print(site.getuserbase(), site.getusersitepackages())
