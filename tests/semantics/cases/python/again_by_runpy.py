import runpy

if __name__ == "__main__":
    print(sorted(runpy.run_path(__file__)), runpy.run_path(__file__, run_name="other")["__name__"])
else:
    print("run as", __name__)
