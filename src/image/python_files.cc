#include "image/python_files.h"

#include <sys/stat.h>

#include "base/log.h"
#include "base/text.h"
#include "context_kernels.h"
#include "image/python_library.h"
#include "model/limits.h"
#include "sys/file.h"
#include "sys/program.h"

namespace cove {
namespace {

// A folder of ours would hide a link that the host has there.
bool is_folder_itself(const HostSource& host, const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    auto info = sys::lstat(concat(host.root, "/", path.substr(0, slash)));
    if (!info || !S_ISDIR(info->st_mode)) return false;
  }
  auto info = sys::lstat(concat(host.root, "/", path));
  return info && S_ISDIR(info->st_mode);
}

Result<void> add_figures_backend(const HostSource& host, const TreeWriter& image) {
  for (std::string libraries : kPythonLibraries) {
    auto names = sys::list_folder(concat(host.root, "/", libraries));
    if (!names) continue;
    for (const std::string& name : *names) {
      std::string modules = modules_of_python(concat(libraries, "/", name));
      if (!is_python_library(name) || !is_folder_itself(host, modules)) continue;
      COVE_TRY(image.folder("over/" + modules));
      COVE_TRY(image.file(concat("over/", modules, kFiguresModule), kFiguresProgram));
    }
  }
  return {};
}

// By the host's Python, without any of its settings, and leaving nothing on the host.
Result<std::string> compiled(const std::string& python, const std::string& source, const std::string& name) {
  return sys::output_of({.argv = {python, "-IBS", "-c", std::string(kPythonCompileProgram), source, name},
                         .env = {},
                         .most = kMiB,
                         .patience = std::chrono::seconds(10)});
}

// Beside the library's other compiled files, over the one of the host, which is no longer valid for the changed source.
Result<void> add_compiled_start(const HostSource& host, const TreeWriter& image, const std::string& name,
                                const std::string& start) {
  std::string library = concat("usr/lib/", name);
  std::string folder = library + "/__pycache__";
  std::string module = library + "/sitecustomize.py";
  auto shown = sys::readlink(concat(host.root, "/", module));
  std::string python = concat(host.root, "/usr/bin/", name);
  if (!shown || *shown != "/" + start || !is_folder_itself(host, folder) || !sys::exists(python)) return {};
  auto code = compiled(python, image.path("root/" + start), "/" + module);
  if (!code) {
    log::warning("Python compiles its first file at each start in a sandbox", {{"why", code.error().message()}});
    return {};
  }
  COVE_TRY(image.folder("over/" + folder));
  return image.file(concat("over/", folder, "/sitecustomize.", cache_tag_of_python(name), ".pyc"), *code);
}

Result<void> add_python_start(const HostSource& host, const TreeWriter& image) {
  auto names = sys::list_folder(image.path("root/etc"));
  if (!names) return {};
  for (const std::string& name : *names) {
    std::string start = concat("etc/", name, "/sitecustomize.py");
    if (!is_python_library(name)) continue;
    auto own = sys::read_file(image.path("root/" + start));
    if (!own) continue;
    COVE_TRY(image.file("root/" + start, *own + std::string(kPythonStartProgram)));
    COVE_TRY(add_compiled_start(host, image, name, start));
  }
  return {};
}

}  // namespace

Result<void> add_python_files(const HostSource& host, const TreeWriter& image) {
  COVE_TRY(add_figures_backend(host, image));
  return add_python_start(host, image);
}

}  // namespace cove
