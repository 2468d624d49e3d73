# coding: latin-1
text = "é"; 1 / 0
