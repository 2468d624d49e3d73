def load():
    import surely_not_there


load()
