import code

code.interact(banner="", exitmsg="", local={})
