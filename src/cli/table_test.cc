#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/progress.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

TEST(Table, AlignsColumnsByWhatIsSeen) {
  Table table({"ID", "NAME", "STATE"});
  table.add({"a", "größe", "running"});
  table.add({"longer", "日本", "-"});
  EXPECT_EQ(table.text(),
            "ID      NAME   STATE\n"
            "a       größe  running\n"
            "longer  日本   -\n");
}

TEST(Table, HasNoSpacesAtTheEnd) {
  Table table({"A", "B"});
  table.add({"long value", ""});
  EXPECT_EQ(table.text(), "A           B\nlong value\n");
}

TEST(Printable, DisarmsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain ä 日"), "plain ä 日");
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
}

TEST(Shorten, CutsBetweenCharacters) {
  EXPECT_EQ(shorten("short", 10), "short");
  EXPECT_EQ(shorten("a longer text", 8), "a longe…");
  EXPECT_EQ(shorten("日本語", 4), "日…");
}

TEST(Times, AreReadAndToldShortly) {
  Time now = *parse_time("2026-11-15T22:40:00.500Z");
  EXPECT_EQ(age("2026-11-15T22:39:50.123Z", now), "10s");
  EXPECT_EQ(age("2026-11-15T21:40:00.000Z", now), "60m");
  EXPECT_EQ(age("2026-11-10T22:40:00.000Z", now), "5d");
  EXPECT_EQ(time_left("2026-11-16T22:40:00.500Z", now), "in 24h");
  EXPECT_EQ(age("", now), "-");
  EXPECT_EQ(age("yesterday", now), "-");
}

TEST(Progress, FitsTheTerminal) {
  std::string line = progress_line("file", 512 << 10, 1 << 20, 1.0, 80);
  EXPECT_EQ(line, "file [##########..........] 50% 512 KiB of 1 MiB, 512 KiB/s");
  EXPECT_EQ(progress_line("file", 1024, std::nullopt, 2.0, 80), "file 1 KiB, 512 B/s");
  EXPECT_LE(display_width(progress_line(std::string(200, 'n'), 1, 2, 1, 60)), 60u);
}

}  // namespace
}  // namespace cove::cli
