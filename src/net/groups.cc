#include "net/groups.h"

#include <algorithm>

// The hosts of each group as their projects document them. kReceives: what can be stored there, or shown to others, can
// be data from the sandbox: uploads, publishing, issues, prompts.
namespace cove::net {
namespace {

constexpr bool kReceives = true;
constexpr bool kReadOnly = false;

constexpr GroupHost kAlpine[] = {
    {"dl-cdn.alpinelinux.org", kReadOnly},
};
constexpr GroupHost kConda[] = {
    {"conda.anaconda.org", kReadOnly},
    {"repo.anaconda.com", kReadOnly},
};
constexpr GroupHost kContainers[] = {
    {"registry-1.docker.io", kReceives},
    {"auth.docker.io", kReadOnly},
    {"index.docker.io", kReadOnly},
    {"production.cloudflare.docker.com", kReadOnly},
    {"production.cloudfront.docker.com", kReadOnly},
    {"docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com", kReadOnly},
    {"ghcr.io", kReceives},
    {"pkg-containers.githubusercontent.com", kReadOnly},
    {"quay.io", kReceives},
    {"cdn01.quay.io", kReadOnly},
    {"cdn02.quay.io", kReadOnly},
    {"cdn03.quay.io", kReadOnly},
    {"mcr.microsoft.com", kReadOnly},
    {"*.data.mcr.microsoft.com", kReadOnly},
    {"gcr.io", kReceives},
    {"*.gcr.io", kReceives},
    {"*.pkg.dev", kReceives},
    {"registry.k8s.io", kReadOnly},
    {"public.ecr.aws", kReceives},
};
constexpr GroupHost kDart[] = {
    {"pub.dev", kReceives},
};
constexpr GroupHost kDeno[] = {
    {"deno.land", kReadOnly},  {"dl.deno.land", kReadOnly}, {"jsr.io", kReceives},
    {"npm.jsr.io", kReadOnly}, {"esm.sh", kReadOnly},
};
constexpr GroupHost kDotnet[] = {
    {"api.nuget.org", kReadOnly},
    {"globalcdn.nuget.org", kReadOnly},
    {"www.nuget.org", kReceives},
    {"dot.net", kReadOnly},
    {"builds.dotnet.microsoft.com", kReadOnly},
    {"aka.ms", kReadOnly},
    {"download.visualstudio.microsoft.com", kReadOnly},
};
constexpr GroupHost kElixir[] = {
    {"hex.pm", kReceives},
    {"repo.hex.pm", kReadOnly},
    {"builds.hex.pm", kReadOnly},
};
constexpr GroupHost kGithub[] = {
    {"github.com", kReceives},
    {"api.github.com", kReceives},
    {"gist.github.com", kReceives},
    {"uploads.github.com", kReceives},
    {"codeload.github.com", kReadOnly},
    {"raw.githubusercontent.com", kReadOnly},
    {"objects.githubusercontent.com", kReadOnly},
    {"release-assets.githubusercontent.com", kReadOnly},
    {"media.githubusercontent.com", kReadOnly},
    {"gist.githubusercontent.com", kReadOnly},
    {"github-cloud.githubusercontent.com", kReceives},
    {"github-cloud.s3.amazonaws.com", kReceives},
    {"github.githubassets.com", kReadOnly},
};
constexpr GroupHost kGitlab[] = {
    {"gitlab.com", kReceives},
    {"registry.gitlab.com", kReceives},
    {"*.gitlab-static.net", kReadOnly},
};
constexpr GroupHost kGo[] = {
    {"proxy.golang.org", kReadOnly}, {"sum.golang.org", kReadOnly}, {"go.dev", kReadOnly},
    {"golang.org", kReadOnly},       {"dl.google.com", kReadOnly},
};
constexpr GroupHost kHaskell[] = {
    {"hackage.haskell.org", kReceives},
    {"downloads.haskell.org", kReadOnly},
};
constexpr GroupHost kHuggingface[] = {
    {"huggingface.co", kReceives},
    {"cdn-lfs.huggingface.co", kReadOnly},
    {"*.hf.co", kReceives},
};
constexpr GroupHost kJava[] = {
    {"repo.maven.apache.org", kReadOnly}, {"repo1.maven.org", kReadOnly},
    {"plugins.gradle.org", kReceives},    {"plugins-artifacts.gradle.org", kReadOnly},
    {"services.gradle.org", kReadOnly},   {"downloads.gradle.org", kReadOnly},
    {"api.foojay.io", kReadOnly},         {"maven.google.com", kReadOnly},
    {"dl.google.com", kReadOnly},         {"repo.spring.io", kReadOnly},
};
constexpr GroupHost kJulia[] = {
    {"pkg.julialang.org", kReadOnly},
    {"julialang-s3.julialang.org", kReadOnly},
};
constexpr GroupHost kLlm[] = {
    {"api.anthropic.com", kReceives}, {"api.openai.com", kReceives},   {"generativelanguage.googleapis.com", kReceives},
    {"api.mistral.ai", kReceives},    {"api.groq.com", kReceives},     {"openrouter.ai", kReceives},
    {"api.deepseek.com", kReceives},  {"api.x.ai", kReceives},         {"api.cohere.com", kReceives},
    {"api.together.xyz", kReceives},  {"api.fireworks.ai", kReceives}, {"router.huggingface.co", kReceives},
};
constexpr GroupHost kNode[] = {
    {"nodejs.org", kReadOnly},
};
constexpr GroupHost kPerl[] = {
    {"www.cpan.org", kReadOnly},
    {"cpan.metacpan.org", kReadOnly},
    {"fastapi.metacpan.org", kReadOnly},
};
constexpr GroupHost kPhp[] = {
    {"packagist.org", kReceives},
    {"repo.packagist.org", kReadOnly},
    {"getcomposer.org", kReadOnly},
};
constexpr GroupHost kPlaywright[] = {
    {"cdn.playwright.dev", kReadOnly},
    {"playwright.download.prss.microsoft.com", kReadOnly},
    {"playwright.azureedge.net", kReadOnly},
};
constexpr GroupHost kPython[] = {
    {"pypi.org", kReadOnly},
    {"files.pythonhosted.org", kReadOnly},
};
constexpr GroupHost kR[] = {
    {"cran.r-project.org", kReadOnly},
    {"cloud.r-project.org", kReadOnly},
    {"packagemanager.posit.co", kReadOnly},
};
constexpr GroupHost kRuby[] = {
    {"rubygems.org", kReceives},
    {"index.rubygems.org", kReadOnly},
    {"cache.ruby-lang.org", kReadOnly},
};
constexpr GroupHost kRust[] = {
    {"crates.io", kReceives},
    {"index.crates.io", kReadOnly},
    {"static.crates.io", kReadOnly},
    {"static.rust-lang.org", kReadOnly},
};
constexpr GroupHost kSwift[] = {
    {"swift.org", kReadOnly},
    {"download.swift.org", kReadOnly},
};
constexpr GroupHost kTerraform[] = {
    {"registry.terraform.io", kReadOnly},
    {"releases.hashicorp.com", kReadOnly},
    {"checkpoint-api.hashicorp.com", kReadOnly},
};

constexpr Group kGroups[] = {
    {"alpine", "Alpine Linux packages", kAlpine},
    {"conda", "Conda packages", kConda},
    {"containers", "Container registries", kContainers},
    {"dart", "Dart and Flutter packages", kDart},
    {"debian", "Debian and Ubuntu packages: apt's sources of the image", {}, true, kReadOnly},
    {"deno", "Deno, JSR", kDeno},
    {"dotnet", ".NET packages and SDKs", kDotnet},
    {"elixir", "Hex packages", kElixir},
    {"github", "GitHub", kGithub},
    {"gitlab", "GitLab.com", kGitlab},
    {"go", "Go modules and toolchains", kGo},
    {"haskell", "Haskell packages and compilers", kHaskell},
    {"huggingface", "Hugging Face models and data", kHuggingface},
    {"java", "Maven and Gradle packages, JDKs", kJava},
    {"julia", "Julia packages", kJulia},
    {"llm", "APIs of language models", kLlm},
    {"node", "Node.js; packages from npm's registry of the image", kNode, true, kReceives},
    {"perl", "Perl packages", kPerl},
    {"php", "PHP packages", kPhp},
    {"playwright", "Browsers of Playwright", kPlaywright},
    {"python", "Python packages", kPython},
    {"r", "R packages", kR},
    {"ruby", "Ruby packages", kRuby},
    {"rust", "Rust crates and toolchains", kRust},
    {"swift", "Swift toolchains", kSwift},
    {"terraform", "Terraform providers", kTerraform},
};

}  // namespace

std::span<const Group> groups() { return kGroups; }

const Group* find_group(std::string_view name) {
  auto found = std::ranges::find_if(kGroups, [&](const Group& group) { return name == group.name; });
  return found == std::end(kGroups) ? nullptr : found;
}

}  // namespace cove::net
