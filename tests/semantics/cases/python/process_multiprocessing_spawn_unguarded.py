import multiprocessing


def work():
    print("never printed")


context = multiprocessing.get_context("spawn")
process = context.Process(target=work)
process.start()
process.join()
raise SystemExit(process.exitcode)
