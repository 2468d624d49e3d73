import unittest


class Tests(unittest.TestCase):
    def test_good(self):
        self.assertEqual(1, 1)

    def test_bad(self):
        self.assertEqual([1, 2, 3], [1, 2, 4])

    def test_error(self):
        {}["k"]

    @unittest.skip("not today")
    def test_skipped(self):
        pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
