print(__name__, __file__, __package__, __spec__, __doc__, type(__loader__).__name__, __loader__.name, __loader__.path)
