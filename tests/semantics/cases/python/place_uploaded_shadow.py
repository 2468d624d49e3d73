import colorsys
import encodings

print(vars(colorsys).get("mine"), vars(encodings).get("mine"))
