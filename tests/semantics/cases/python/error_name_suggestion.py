measure = 3
print(mesure)
