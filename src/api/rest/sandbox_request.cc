#include "api/rest/sandbox_request.h"

#include "api/rest/values.h"
#include "base/text.h"
#include "model/limit_fields.h"
#include "model/runtime_kind.h"
#include "model/sandbox_fields.h"
#include "net/rule.h"
#include "run/maxima.h"

namespace cove::api {
namespace {

// A result is in the server's memory while it is answered.
constexpr uint64_t kMostRetained = 16 * kMiB;

template <typename T>
void name_if(Limit<T>& limit, const std::optional<T>& value) {
  if (value) limit.name(*value);
}

Result<void> take_limit(Fields& fields, const LimitField& field, Limit<double>& limit) {
  name_if(limit, COVE_TRY(fields.number(api_name(field))));
  return {};
}

Result<void> take_limit(Fields& fields, const LimitField& field, Limit<uint64_t>& limit) {
  const std::string name = api_name(field);
  if (field.kind != LimitKind::Count) {
    name_if(limit, COVE_TRY(fields.size(name)));
  } else if (auto count = COVE_TRY(fields.integer(name, 0, INT64_MAX))) {
    limit.name(static_cast<uint64_t>(*count));
  }
  return {};
}

Result<void> take_limit(Fields& fields, const LimitField& field, Limit<std::chrono::milliseconds>& limit) {
  name_if(limit, COVE_TRY(fields.duration(api_name(field))));
  return {};
}

// Those of the request, not the defaults beside them. 0 is none of its kind, where it is not refused.
Result<void> check_possible(Fields& fields, const Limits& limits) {
  Limits asked = limits;
  auto look = [&](const LimitField& field, auto& limit) {
    limit.named = fields.raw(api_name(field)) && (to_number(limit.value) > 0 || field.zero == LimitZero::Refused);
  };
  visit_limits(look, asked);
  if (!names_capped_limit(asked)) return {};
  std::optional<ImpossibleLimit> impossible = find_impossible(asked, machine_maxima());
  if (!impossible) return {};
  const std::string name = api_name(*find_limit_field(impossible->name));
  return fail(fields.wrong(name, concat("is ", impossible->value, ", ", impossible->bound)));
}

Result<void> take_named_limits(Fields& fields, Limits& limits) {
  auto nested = COVE_TRY(fields.object("limits"));
  if (!nested) return {};
  COVE_TRY(take_limits(*nested, limits));
  return nested->finish();
}

Result<Access> take_access(Fields& fields) {
  auto word = COVE_TRY(fields.choice("access", {"none", "ro", "rw", "review"}));
  return (word ? access_of(*word) : std::nullopt).value_or(Access::ReadOnly);
}

Result<std::optional<std::chrono::milliseconds>> duration_or_none(Fields& fields, const std::string& name) {
  if (fields.is_null(name)) return std::chrono::milliseconds(0);
  return fields.duration(name);
}

// What of a lifecycle is there.
struct LifecycleWishes {
  std::optional<std::chrono::milliseconds> idle;
  std::optional<std::chrono::milliseconds> max;
  std::optional<OnExpire> on_expire;
  std::optional<bool> auto_resume;
};

Result<LifecycleWishes> take_lifecycle(Fields& fields) {
  LifecycleWishes wishes;
  auto nested = COVE_TRY(fields.object("lifecycle"));
  if (!nested) return wishes;
  wishes.idle = COVE_TRY(duration_or_none(*nested, "idle"));
  wishes.max = COVE_TRY(duration_or_none(*nested, "max"));
  auto on_expire = COVE_TRY(nested->choice("on_expire", {"stop", "pause", "delete"}));
  if (on_expire) wishes.on_expire = COVE_TRY(parse_on_expire(*on_expire));
  wishes.auto_resume = COVE_TRY(nested->flag("auto_resume"));
  COVE_TRY(nested->finish());
  return wishes;
}

engine::Lifecycle lifecycle_of(const LifecycleWishes& wishes, const Config& config) {
  return {.idle = wishes.idle.value_or(config.lifecycle.idle),
          .max = wishes.max.value_or(config.lifecycle.max),
          .on_expire = wishes.on_expire.value_or(config.lifecycle.on_expire),
          .auto_resume = wishes.auto_resume.value_or(config.lifecycle.auto_resume)};
}

template <typename Map>
void merge(Map& map, const std::map<std::string, std::optional<std::string>>& patch) {
  for (const auto& [name, value] : patch) {
    if (value)
      map[name] = *value;
    else
      map.erase(name);
  }
}

// A line of git's configuration holds it.
Result<std::string> take_author_word(Fields& fields, const char* name) {
  std::string text = COVE_TRY(fields.text(name)).value_or("");
  if (fits_git_author(text)) return text;
  return fail(fields.wrong(name, "must be a string of at most 256 bytes without control characters"));
}

Result<GitAuthor> take_author(Fields& fields) {
  auto nested = COVE_TRY(fields.object("author"));
  if (!nested) return GitAuthor{};
  GitAuthor author;
  author.name = COVE_TRY(take_author_word(*nested, "name"));
  author.email = COVE_TRY(take_author_word(*nested, "email"));
  COVE_TRY(nested->finish());
  return author;
}

// --- a member of each type; what is not there stays as it is -----------------------------------------------------
Result<std::string> checked(Form form, std::string text) {
  switch (form) {
    case Form::Name:
      return check_name(std::move(text));
    case Form::Image:
      return check_image(std::move(text));
    case Form::Runtime:
      return check_runtime(text);
    case Form::User:
      return check_user(std::move(text));
    default:
      return text;
  }
}

Result<void> take(Fields& fields, const Field& field, std::string& text) {
  const std::string name(field.name);
  if (auto given = COVE_TRY(fields.text(name)))
    text = COVE_TRY(fields.checked(name, checked(field.form, std::move(*given))));
  return {};
}

Result<void> take(Fields& fields, const Field& field, std::vector<std::string>& texts) {
  if (auto given = COVE_TRY(fields.texts(std::string(field.name)))) texts = std::move(*given);
  return {};
}

Result<void> take(Fields& fields, const Field& field, std::map<std::string, std::string>& texts) {
  if (auto given = COVE_TRY(fields.text_map(std::string(field.name)))) texts = std::move(*given);
  return {};
}

Result<void> take(Fields& fields, const Field& field, Environment& environment) {
  const std::string name(field.name);
  if (fields.raw(name)) environment = COVE_TRY(take_environment(fields, name));
  return {};
}

Result<void> take(Fields& fields, const Field& field, bool& flag) {
  flag = COVE_TRY(fields.flag(std::string(field.name))).value_or(flag);
  return {};
}

Result<void> take(Fields& fields, const Field& field, uint64_t& number) {
  const std::string name(field.name);
  if (field.form == Form::Bytes)
    number = COVE_TRY(fields.size(name)).value_or(number);
  else if (auto count = COVE_TRY(fields.integer(name, 0, INT64_MAX)))
    number = static_cast<uint64_t>(*count);
  return {};
}

Result<void> take(Fields& fields, const Field& field, Strictness& strictness) {
  if (COVE_TRY(fields.flag(std::string(field.name))).value_or(false)) strictness = Strictness::Strict;
  return {};
}

Result<std::vector<uint16_t>> take_ports(Fields& fields) {
  std::vector<uint16_t> ports;
  const Json* list = fields.raw("ports");
  if (!list) return ports;
  if (!list->is_array()) return fail(fields.wrong("ports", "must be a list of numbers"));
  for (const Json& port : *list) {
    if (!port.is_number_unsigned() || port.as_uint64() == 0 || port.as_uint64() > UINT16_MAX)
      return fail(fields.wrong("ports", "must be a list of numbers from 1 to 65535"));
    ports.push_back(static_cast<uint16_t>(port.as_uint64()));
  }
  return ports;
}

Result<net::RuleParts> take_rule_parts(Fields& fields) {
  net::RuleParts parts;
  parts.host = COVE_TRY(required(fields, "host", fields.text("host")));
  parts.ports = COVE_TRY(take_ports(fields));
  parts.methods = COVE_TRY(fields.texts("methods")).value_or(std::vector<std::string>());
  parts.paths = COVE_TRY(fields.texts("paths")).value_or(std::vector<std::string>());
  COVE_TRY(fields.finish());
  return parts;
}

// One rule, or several where an object has several paths, in their canonical form.
Result<std::vector<std::string>> take_rule(Fields& fields, const std::string& list, size_t index) {
  const Json& rule = (*fields.raw(list))[index];
  if (rule.is_string())
    return std::vector{net::to_text(COVE_TRY(fields.checked_at(list, index, net::parse_rule(rule.as_string()))))};
  Fields object = COVE_TRY(fields.object_at(list, index));
  return fields.checked_at(list, index, net::rule_texts(COVE_TRY(take_rule_parts(object))));
}

Result<std::optional<std::vector<std::string>>> take_rules(Fields& fields, const std::string& name) {
  const Json* list = fields.raw(name);
  if (!list) return std::nullopt;
  if (!list->is_array()) return fail(fields.wrong(name, "must be a list of rules"));
  std::vector<std::string> rules;
  for (size_t i = 0; i < list->size() && rules.size() <= kMostNetworkRules; ++i)
    for (std::string& rule : COVE_TRY(take_rule(fields, name, i))) rules.push_back(std::move(rule));
  if (rules.size() <= kMostNetworkRules) return rules;
  return fail(fields.wrong(name, concat("has more than ", kMostNetworkRules, " rules")));
}

Result<void> take_budget(Fields& fields, NetworkChange& change) {
  auto nested = COVE_TRY(fields.object("budget"));
  if (!nested) return {};
  change.bytes = COVE_TRY(nested->size("bytes"));
  if (auto connections = COVE_TRY(nested->integer("connections", 0, INT64_MAX)))
    change.connections = static_cast<uint64_t>(*connections);
  return nested->finish();
}

Result<void> take(Fields& fields, const Field&, NetworkPolicy& network) {
  if (auto change = COVE_TRY(take_network_change(fields))) network = changed(std::move(network), *change);
  return {};
}

Result<void> take(Fields& fields, const Field&, Limits& limits) { return take_named_limits(fields, limits); }

Result<void> take(Fields& fields, const Field&, Workspace& workspace) {
  workspace = COVE_TRY(take_workspace(fields));
  return {};
}

template <Listed T>
Result<void> take_listed(Fields& fields, unsigned way, T& value);

template <Listed T>
Result<void> take(Fields& fields, const Field& field, T& value) {
  auto nested = COVE_TRY(fields.object(std::string(field.name)));
  if (!nested) return {};
  COVE_TRY(take_listed(*nested, kRequest, value));
  return nested->finish();
}

template <Listed T>
Result<void> take_listed(Fields& fields, unsigned way, T& value) {
  Result<void> taken;
  auto next = [&](const Field& field, auto& member) {
    if constexpr (requires { take(fields, field, member); })
      if (taken && field.in(way)) taken = take(fields, field, member);
  };
  FieldsOf<T>::visit(next, value);
  return taken;
}

}  // namespace

Result<void> take_fields(Fields& fields, unsigned way, SandboxSpec& spec) { return take_listed(fields, way, spec); }

Result<void> take_network(Fields& fields, NetworkPolicy& network) { return take(fields, {.name = "network"}, network); }

Result<std::optional<NetworkChange>> take_network_change(Fields& fields) {
  auto nested = COVE_TRY(fields.object("network"));
  if (!nested) return std::nullopt;
  NetworkChange change;
  if (auto word = COVE_TRY(nested->choice("tier", tier_names()))) change.tier = parse_tier(*word);
  change.enabled = COVE_TRY(nested->flag("enabled"));
  change.allow = COVE_TRY(take_rules(*nested, "allow"));
  change.block = COVE_TRY(take_rules(*nested, "block"));
  COVE_TRY(take_budget(*nested, change));
  change.learn = COVE_TRY(nested->flag("learn"));
  COVE_TRY(nested->finish());
  return change;
}

Result<Workspace> take_workspace(Fields& fields) {
  auto nested = COVE_TRY(fields.object("workspace"));
  if (!nested) return Workspace{};
  Workspace workspace;
  workspace.path = COVE_TRY(required(*nested, "path", nested->text("path")));
  workspace.access = COVE_TRY(take_access(*nested));
  workspace.author = COVE_TRY(take_author(*nested));
  COVE_TRY(nested->finish());
  if (workspace.access == Access::None) return Workspace{};
  if (!workspace.path.starts_with('/')) return fail(nested->wrong("path", "must be an absolute path"));
  return workspace;
}

Result<std::string> take_runtime(Fields& fields, const Config& config) {
  auto name = COVE_TRY(fields.text("runtime"));
  if (!name) return config.runtime;
  return fields.checked("runtime", check_runtime(*name));
}

Result<void> take_limits(Fields& fields, Limits& limits) {
  Result<void> taken;
  auto take = [&](const LimitField& field, auto& limit) {
    if (taken) taken = take_limit(fields, field, limit);
  };
  visit_limits(take, limits);
  if (!taken) return taken;
  if (limits.retained.named && limits.retained.value > kMostRetained)
    return fail(fields.wrong("retained", concat("is ", format_bytes(limits.retained.value), ", more than the most (",
                                                format_bytes(kMostRetained), ")")));
  return check_possible(fields, limits);
}

Result<Environment> take_environment(Fields& fields, const std::string& name) {
  Environment environment;
  for (auto& [key, value] : COVE_TRY(fields.text_map(name)).value_or(std::map<std::string, std::string>())) {
    if (!is_variable(key)) return fail(fields.wrong_key(name, key, "is not the name of a variable"));
    environment.emplace_back(key, value);
  }
  return environment;
}

Checked<engine::CreateOrder> parse_create(const Json& body, const Config& config) {
  Fields fields(body);
  engine::CreateOrder order;
  order.spec.lifetime = Lifetime::Long;
  order.spec.limits = config.limits;
  order.spec.runtime = config.runtime;
  order.spec.user.clear();  // the image's own
  COVE_TRY(take_fields(fields, kRequest, order.spec));
  if (auto language = COVE_TRY(fields.text("language"))) {
    order.language = COVE_TRY(fields.checked("language", parse_language(config.languages, *language)));
    if (!fields.raw("image")) order.spec.image.clear();
  }
  order.lifecycle = lifecycle_of(COVE_TRY(take_lifecycle(fields)), config);
  order.start = COVE_TRY(fields.flag("start")).value_or(true);
  COVE_TRY(fields.finish());
  return order;
}

Result<engine::UpdateOrder> parse_update(const Json& body, const engine::SandboxInfo& now) {
  Fields fields(body);
  engine::UpdateOrder order;
  if (fields.is_null("name"))
    order.name = "";
  else if (auto name = COVE_TRY(fields.text("name")))
    order.name = COVE_TRY(fields.checked("name", check_name(*name)));
  if (auto patch = COVE_TRY(fields.text_map_patch("labels"))) {
    order.labels = now.spec.labels;
    merge(*order.labels, *patch);
  }
  if (auto patch = COVE_TRY(fields.text_map_patch("env"))) {
    std::map<std::string, std::string> merged(now.spec.env.begin(), now.spec.env.end());
    merge(merged, *patch);
    for (const auto& [name, value] : merged)
      if (!is_variable(name)) return fail(fields.wrong_key("env", name, "is not the name of a variable"));
    order.env = Environment(merged.begin(), merged.end());
  }
  if (fields.raw("limits")) {
    Limits limits = now.spec.limits;
    visit_limits([](const LimitField&, auto& limit) { limit.named = false; }, limits);
    COVE_TRY(take_named_limits(fields, limits));
    order.limits = limits;
  }
  order.network = COVE_TRY(take_network_change(fields));
  LifecycleWishes wishes = COVE_TRY(take_lifecycle(fields));
  order.idle = wishes.idle;
  order.max = wishes.max;
  order.on_expire = wishes.on_expire;
  order.auto_resume = wishes.auto_resume;
  COVE_TRY(fields.finish());
  return order;
}

}  // namespace cove::api
