import cProfile
import io
import pstats


def work():
    return sum(map(abs, range(100)))


profile = cProfile.Profile()
profile.runcall(work)
stats = pstats.Stats(profile)
print(sorted((function, calls[0]) for function, calls in stats.stats.items()))
