import json

json.dmups({})
