#include "net/gateway/scrubber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kValue = "ghp_9f3Kq/\"v+x&Zr71bT";
const std::string kPlaceholder = "ghp_placeholder123456";

std::shared_ptr<const SecretForms> forms(const std::string& value = kValue,
                                         const std::string& placeholder = kPlaceholder) {
  return std::make_shared<SecretForms>(std::vector<BrokeredSecret>{{"T", placeholder, value, {}, {}}});
}

std::string in_pieces(const std::string& text, size_t step) {
  Scrubber scrubber(forms());
  std::string out;
  for (size_t i = 0; i < text.size(); i += step) scrubber.feed(std::string_view(text).substr(i, step), out);
  scrubber.finish(out);
  return out;
}

TEST(Scrubber, PutsThePlaceholderForTheValueHoweverItComesInPieces) {
  const std::string text = concat("a", kValue, kValue, " ghp_9f3 and ", kValue.substr(0, 20), "\n", kValue);
  const std::string clean =
      concat("a", kPlaceholder, kPlaceholder, " ghp_9f3 and ", kValue.substr(0, 20), "\n", kPlaceholder);
  for (size_t step = 1; step <= text.size(); ++step) EXPECT_EQ(in_pieces(text, step), clean) << step;
}

TEST(Scrubber, KeepsLengthsInEveryForm) {
  for (const std::string& form :
       {percent_encode(kValue), std::string("ghp_9f3Kq%2f%22v%2bx%26Zr71bT"), std::string("ghp_9f3Kq/\\\"v+x&Zr71bT"),
        std::string("ghp_9f3Kq\\/\\\"v+x&Zr71bT"), std::string("6768705f3966334b712f22762b78265a7237316254"),
        std::string("6768705F3966334B712F22762B78265A7237316254")}) {
    const std::string text = concat("{\"x\": \"", form, "\"}");
    const std::string clean = in_pieces(text, 5);
    EXPECT_EQ(clean.size(), text.size());
    EXPECT_THAT(clean, Not(HasSubstr(form.substr(8)))) << form;
  }
}

TEST(Scrubber, FindsTheValueWithinBase64OfMore) {
  for (const char* before : {"", "u:", "user:", "x-access-token:", "abc"})
    for (const char* behind : {"", "\n", "zz", "zzz"}) {
      const std::string text = to_base64(concat(before, kValue, behind));
      const std::string clean = in_pieces(text, 7);
      EXPECT_EQ(clean.size(), text.size());
      auto decoded = from_base64(clean);
      ASSERT_TRUE(decoded) << clean;
      EXPECT_THAT(*decoded, Not(HasSubstr(kValue.substr(2, 17)))) << before << behind;
      EXPECT_THAT(*decoded, HasSubstr(kPlaceholder.substr(1, 18)));
    }
}

TEST(Scrubber, HoldsNothingBackThatIsNoBeginning) {
  Scrubber scrubber(forms());
  std::string out;
  scrubber.feed("data: 1\n\n", out);
  EXPECT_EQ(out, "data: 1\n\n");
  EXPECT_FALSE(scrubber.holds());
  scrubber.feed("ghp_", out);  // is the same in both
  EXPECT_EQ(out, "data: 1\n\nghp_");
  EXPECT_FALSE(scrubber.holds());
  scrubber.feed("9", out);
  EXPECT_TRUE(scrubber.holds());
  EXPECT_EQ(out, "data: 1\n\nghp_");
}

TEST(Scrubber, ReleasesALittleAndStillFindsTheValue) {
  Scrubber scrubber(forms());
  std::string out;
  scrubber.feed(kValue.substr(0, 5), out);
  scrubber.release(out);
  EXPECT_EQ(out, kValue.substr(0, 5));
  EXPECT_FALSE(scrubber.holds());
  scrubber.feed(kValue.substr(5, 10), out);
  scrubber.release(out);  // too much of it
  EXPECT_EQ(out, kValue.substr(0, 5));
  scrubber.feed(kValue.substr(15), out);
  EXPECT_EQ(out, concat(kValue.substr(0, 5), kPlaceholder.substr(5)));
  scrubber.finish(out);
  EXPECT_EQ(out.size(), kValue.size());
}

TEST(Scrubber, GoesOnAfterAReleaseThatWasNoBeginning) {
  Scrubber scrubber(forms());
  std::string out;
  scrubber.feed("x ghp_9", out);
  scrubber.release(out);
  scrubber.feed(" and ", out);
  scrubber.feed(kValue, out);
  scrubber.finish(out);
  EXPECT_EQ(out, concat("x ghp_9 and ", kPlaceholder));
}

TEST(Scrubber, TakesTheLongerOfTwoValues) {
  auto both = std::make_shared<SecretForms>(std::vector<BrokeredSecret>{{"A", "AAAAAAAA", "12345678", {}, {}},
                                                                        {"B", "BBBBBBBBBBBB", "123456789abc", {}, {}}});
  Scrubber scrubber(both);
  std::string out;
  for (char c : std::string("123456789abc 123456789 12345678")) scrubber.feed(std::string(1, c), out);
  scrubber.finish(out);
  EXPECT_EQ(out, "BBBBBBBBBBBB AAAAAAAA9 AAAAAAAA");
}

TEST(Scrubber, FitsPlaceholdersOfAnotherLength) {
  EXPECT_EQ(scrub(*forms("secret-value", "short"), "[secret-value]"), "[shortxxxxxxx]");
  EXPECT_EQ(scrub(*forms("secret", "much-longer"), "[secret]"), "[much-l]");
}

TEST(Scrubber, HasNoFormsOfValuesThatAreTooShort) {
  EXPECT_TRUE(forms("abc", "xyz")->empty());
  EXPECT_FALSE(forms("abcd", "wxyz")->empty());
}

}  // namespace
}  // namespace cove::net
