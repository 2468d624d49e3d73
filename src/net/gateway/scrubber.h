#pragma once

#include <bitset>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/policy.h"

namespace cove::net {

// The values of secrets in the forms in which answers may have them, each with what is put there instead: the
// placeholder in the same form, and always as long. Forms: as it is; percent-encoded; as in JSON; hexadecimal; base64,
// also of a longer text that has the value in it. Shorter values than kShortest are in none.
class SecretForms {
 public:
  static constexpr size_t kShortest = 4;

  explicit SecretForms(const std::vector<BrokeredSecret>& secrets);
  ~SecretForms();  // wipes the values
  SecretForms(const SecretForms&) = delete;
  SecretForms& operator=(const SecretForms&) = delete;

  struct Form {
    std::string find, put;
  };
  bool empty() const { return forms_.empty(); }
  // Whether a form may begin with what stands at the front of the text.
  bool may_begin(std::string_view text) const;
  const std::vector<Form>& forms() const { return forms_; }

 private:
  void add_forms(const std::string& value, const std::string& stand_in);
  void add(std::string find, std::string put);

  std::vector<Form> forms_;  // the longest first
  std::bitset<65536> pairs_;
  std::bitset<256> firsts_;
};

// Replaces the forms in bytes that come in pieces, at a bounded delay: what may be the beginning of a form is held back
// until more comes, and everything else is put out at once.
class Scrubber {
 public:
  explicit Scrubber(std::shared_ptr<const SecretForms> forms) : forms_(std::move(forms)) {}
  ~Scrubber();

  void feed(std::string_view data, std::string& out);
  void finish(std::string& out);  // nothing more comes
  bool holds() const { return held_.size() > shown_; }
  // Nothing has come for a while: puts out what is held, unless it is more than a quarter of a form. What comes next
  // can still complete the form.
  void release(std::string& out);
  // Another text, which is whole.
  std::string scrubbed(std::string_view text) const;

 private:
  enum class More { Comes, Over };
  // What begins at the front of a text: a form as a whole, or, where more comes, perhaps a longer one.
  struct Match {
    const SecretForms::Form* whole = nullptr;
    const SecretForms::Form* begun = nullptr;
  };
  Match match(std::string_view text, More more) const;
  void scan(std::string_view data, More more, std::string& out);
  void hold(std::string_view text, const SecretForms::Form& form, std::string& out);
  void put(std::string_view text, std::string& out);

  std::shared_ptr<const SecretForms> forms_;
  std::string held_;  // the beginning of a form, perhaps
  size_t shown_ = 0;  // of what is held, how much was put out already
  size_t releasable_ = 0;
};

// The same, of a text that is whole.
std::string scrub(const SecretForms& forms, std::string_view text);

}  // namespace cove::net
