#pragma once

#include <string>

#include "http1/response.h"
#include "net/policy.h"

namespace cove::net {

// How a server's answer goes on to the program inside.
struct AnswerForm {
  bool keeps_alive = true;
  bool chunked = false;
  bool upgraded = false;  // 101
};
std::string forwarded_answer(const http1::ResponseHead& head, std::string_view status_line, AnswerForm form);

// Answers of our own, with a JSON body: {"error", "why", …}.
enum class AfterAnswer { Kept, Closed };
struct OwnAnswer {
  int status = 400;
  std::string code;  // stable: "bad_request", "upstream_failed"; of a denial, the verdict's
  std::string why;
  std::string hint;
};
std::string own_answer(const OwnAnswer& answer, const Target& target, AfterAnswer after, std::string_view method = "");
std::string denial_answer(const Verdict& verdict, const Target& target, AfterAnswer after);

}  // namespace cove::net
