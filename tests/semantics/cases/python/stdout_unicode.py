print("é ß 日本語 \U0001f600 \u202eright to left\u202c e\u0301 \x00 \x1b[31mred\x1b[0m \ufeff")
