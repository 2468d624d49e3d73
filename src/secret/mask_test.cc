#include "secret/mask.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"
#include "secret/encodings.h"

namespace cove {
namespace {

const std::string kToken = "s3cr3t/Tok+en \"ü\" with=all&signs";
constexpr std::string_view kShown = "[secret TOKEN]";

std::shared_ptr<const MaskPatterns> patterns(std::vector<Masked> values = {{"TOKEN", kToken}}) {
  return MaskPatterns::make(std::move(values));
}

std::string masked(const std::string& text) { return patterns()->mask(text); }

// In pieces: that long each, and then what is held back.
std::string streamed(const std::shared_ptr<const MaskPatterns>& all, std::string_view text, size_t piece) {
  MaskStream stream(all);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) out += stream.feed(text.substr(0, piece));
  return out + stream.finish();
}

std::string wrapped(const std::string& text, size_t width, const std::string& end) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += width) out += text.substr(i, width) + end;
  return out;
}

TEST(Mask, HidesAValueAsItIs) {
  EXPECT_EQ(masked("a" + kToken + "b" + kToken), "a[secret TOKEN]b[secret TOKEN]");
  EXPECT_EQ(masked("nothing here"), "nothing here");
  EXPECT_EQ(masked(""), "");
  EXPECT_EQ(masked(kToken.substr(1)), kToken.substr(1));
}

TEST(Mask, HidesBase64WhereverItBegins) {
  for (size_t before = 0; before < 7; ++before)
    for (size_t after = 0; after < 4; ++after) {
      const std::string text = std::string(before, 'x') + kToken + std::string(after, 'y');
      std::string encoded = to_base64(text);
      const std::string shown = masked(encoded);
      EXPECT_NE(shown.find(kShown), shown.npos) << before << " " << after << " " << shown;
      EXPECT_LE(shown.size(), encoded.size() - to_base64(kToken).size() + kShown.size() + 8);
      std::ranges::replace(encoded, '+', '-');
      std::ranges::replace(encoded, '/', '_');
      EXPECT_NE(masked(encoded).find(kShown), std::string::npos);
    }
}

TEST(Mask, HidesWrappedBase64) {
  const std::string encoded = to_base64("user:" + kToken + " and more");
  for (size_t width : {1, 4, 7, 20, 64})
    for (const char* end : {"\n", "\r\n"}) {
      const std::string shown = masked(wrapped(encoded, width, end));
      EXPECT_NE(shown.find(kShown), shown.npos) << width << shown;
    }
  EXPECT_EQ(masked(wrapped(encoded, 1, "\n\n")), wrapped(encoded, 1, "\n\n"));
}

TEST(Mask, HidesWhatIsEscaped) {
  EXPECT_EQ(masked("q=" + percent_encode(kToken)), "q=[secret TOKEN]");
  EXPECT_EQ(masked("s3cr3t%2fTok%2ben+%22%c3%bc%22+with%3dall%26signs"), kShown);
  EXPECT_EQ(masked("s3cr3t/Tok+en%20%22%C3%BC%22%20with=all&signs"), kShown);
  const std::string json = Json(kToken).dump();
  EXPECT_EQ(masked(json), concat("\"", kShown, "\""));
  EXPECT_EQ(masked("s3cr3t\\/Tok+en \\\"\\u00fc\\\" with=all&signs"), kShown);
  auto lines = patterns({{"KEY", "line one\nline two\n"}});
  EXPECT_EQ(lines->mask("line one\r\nline two\r\n$ "), "[secret KEY]$ ");
  EXPECT_EQ(lines->mask("\"line one\\nline two\\n\""), "\"[secret KEY]\"");
}

TEST(Mask, FindsAValueThatIsSplitAnywhere) {
  const std::vector<std::string> forms = {kToken, to_base64("x" + kToken), percent_encode(kToken), Json(kToken).dump(),
                                          wrapped(to_base64(kToken + kToken), 9, "\r\n")};
  for (const std::string& form : forms) {
    const std::string text = "before " + form + " after";
    const std::string whole = masked(text);
    EXPECT_NE(whole.find(kShown), whole.npos);
    for (size_t at = 0; at <= text.size(); ++at) {
      MaskStream stream(patterns());
      std::string out = stream.feed(std::string_view(text).substr(0, at));
      out += stream.feed(std::string_view(text).substr(at));
      EXPECT_EQ(out + stream.finish(), whole) << "split at " << at << " of " << form;
    }
    for (size_t piece : {1, 2, 3, 7}) EXPECT_EQ(streamed(patterns(), text, piece), whole);
  }
}

TEST(Mask, HoldsBackOnlyWhatBeginsLikeAValue) {
  MaskStream stream(patterns());
  EXPECT_EQ(stream.feed("$ ls\n"), "$ ls\n");
  EXPECT_FALSE(stream.waits());
  EXPECT_EQ(stream.feed("the s3cr"), "the ");
  EXPECT_TRUE(stream.waits());
  EXPECT_EQ(stream.feed("et"), "s3cret");
  EXPECT_FALSE(stream.waits());
}

TEST(Mask, ShowsAShortBeginningAfterAWhileAndStillHidesTheRemainder) {
  MaskStream stream(patterns());
  EXPECT_EQ(stream.feed("> s3c"), "> ");
  EXPECT_EQ(stream.rest(), "s3c");
  EXPECT_FALSE(stream.waits());
  EXPECT_EQ(stream.feed(kToken.substr(3)), kShown) << "though its last letter is its first, too";
  EXPECT_EQ(stream.feed(kToken.substr(0, 20)), "");
  EXPECT_EQ(stream.rest(), "") << "so much of it gives it away";
  EXPECT_TRUE(stream.waits());
  EXPECT_EQ(stream.feed("!"), kToken.substr(0, 20) + "!");
  EXPECT_EQ(stream.rest(), "");
}

TEST(Mask, NeverShowsAWholeShortValueForItsBeingABeginning) {
  MaskStream stream(patterns({{"A", "abcdef"}, {"B", "abcdefghijklmnopqrstuvwxyz"}}));
  EXPECT_EQ(stream.feed("abcdef"), "");
  EXPECT_EQ(stream.rest(), "");
  EXPECT_EQ(stream.feed("!"), "[secret A]!");
  EXPECT_EQ(stream.feed("abcdefghijklmnopqrstuvwxyz"), "[secret B]");
}

TEST(Mask, HidesValuesThatOverlap) {
  auto both = patterns({{"A", "abcdef"}, {"B", "defghi"}});
  EXPECT_EQ(both->mask("xabcdefghix"), "x[secret A][secret B]x");
  for (size_t piece = 1; piece < 12; ++piece) EXPECT_EQ(streamed(both, "xabcdefghix", piece), "x[secret A][secret B]x");
}

TEST(Mask, HoldsBoundedPartsOfAPeriodicValue) {
  auto all = patterns({{"A", "abababab"}});
  std::string text = "<";
  for (int i = 0; i < 5000; ++i) text += "ab";
  text += ">";
  for (size_t piece : {1, 5, 4096}) EXPECT_EQ(streamed(all, text, piece), "<[secret A]>");
}

TEST(Mask, LeavesShortValuesAlone) {
  EXPECT_EQ(patterns({{"PIN", "123"}}), nullptr);
  EXPECT_EQ(patterns({}), nullptr);
  EXPECT_EQ(patterns({{"PIN", "1234"}})->mask("12345"), "[secret PIN]5");
}

TEST(Mask, LeavesTheWordsOfAProtocolAlone) {
  EXPECT_EQ(MaskPatterns::make({{"WORD", "stdout"}}, R"({"type": "stdout"})"), nullptr);
  EXPECT_NE(MaskPatterns::make({{"WORD", "stdout!"}}, R"({"type": "stdout"})"), nullptr);
}

TEST(Mask, TakesTheLargestValue) {
  std::string value;
  for (int i = 0; value.size() < 64 * 1024; ++i) value += concat(i, "-");
  auto all = patterns({{"BIG", value}});
  EXPECT_EQ(streamed(all, "<" + value + ">", 4096), "<[secret BIG]>");
  EXPECT_NE(streamed(all, wrapped(to_base64(value), 76, "\n"), 4096).find("[secret BIG]"), std::string::npos);
}

TEST(Encodings, OfBase64DependOnNothingAround) {
  for (const std::string& value : {std::string("abcdefgh"), std::string("abcdefghi"), std::string("abcdefghij")}) {
    const std::vector<std::string> forms = base64_forms(value);
    for (int before = 0; before < 3; ++before)
      for (char around : {'\0', 'a', '\xff'}) {
        const std::string text = std::string(static_cast<size_t>(before), around) + value + std::string(2, around);
        EXPECT_TRUE(std::ranges::any_of(
            forms, [&](const std::string& form) { return to_base64(text).find(form) != std::string::npos; }))
            << value << before;
      }
  }
}

}  // namespace
}  // namespace cove
