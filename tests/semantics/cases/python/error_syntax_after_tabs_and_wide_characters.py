if True:
	text = "日本語 ä" ; x = = 3
