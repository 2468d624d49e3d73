#include "image/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kDigest = concat("sha256:", std::string(64, 'a'));
const std::string kConfig =
    concat(R"({"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":")", kDigest, R"("})");

std::string layers(const std::string& type, size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += concat(i > 0 ? "," : "", R"({"mediaType":")", type, R"(","size":7,"digest":")", kDigest, R"("})");
  return concat(R"({"schemaVersion":2,"config":)", kConfig, R"(,"layers":[)", list, "]}");
}

std::string entry(const std::string& architecture) {
  return concat(R"({"size":7,"digest":")", kDigest, R"(","platform":{"os":"linux","architecture":")", architecture,
                R"("}})");
}

Code code_of(const std::string& text) {
  Result<ManifestDocument> read = parse_manifest(text);
  EXPECT_FALSE(read) << text;
  return read ? Code::Internal : read.error().code();
}

TEST(ParseManifest, TakesWhatOciAndDockerWrite) {
  for (const char* type :
       {"application/vnd.oci.image.layer.v1.tar+zstd", "application/vnd.docker.image.rootfs.diff.tar.gzip"}) {
    Result<ManifestDocument> read = parse_manifest(layers(type, 2));
    ASSERT_TRUE(read) << read.error().message();
    const Manifest& manifest = std::get<Manifest>(*read);
    EXPECT_EQ(manifest.config.digest, kDigest);
    ASSERT_EQ(manifest.layers.size(), 2u);
    EXPECT_EQ(manifest.layers[1].size, 7u);
  }
}

TEST(ParseManifest, RefusesWhatCannotBeRun) {
  EXPECT_EQ(code_of(layers("application/vnd.oci.image.layer.v1.tar+encrypted", 1)), Code::Unsupported);
  EXPECT_EQ(code_of(R"({"schemaVersion":1,"fsLayers":[]})"), Code::Unsupported);
}

TEST(ParseManifest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(code_of(layers("application/vnd.oci.image.layer.v1.tar", kMostLayers + 1)), Code::Invalid);
  EXPECT_EQ(code_of(R"({"schemaVersion":2})"), Code::Invalid);
  EXPECT_EQ(code_of(concat(R"({"schemaVersion":2,"config":)", kConfig, R"(,"layers":[],"manifests":[]})")),
            Code::Invalid);
  EXPECT_EQ(
      code_of(concat(R"({"schemaVersion":2,"config":)", kConfig, R"(,"layers":[{"digest":"sha256:../x","size":1}]})")),
      Code::Invalid);
  EXPECT_EQ(code_of(std::string(kLargestManifest + 1, ' ')), Code::Invalid);
  EXPECT_EQ(code_of(std::string(100, '[')), Code::Invalid);
  EXPECT_EQ(code_of(R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","manifests":[]})"),
            Code::Invalid);
}

TEST(ChooseManifest, GoesByPlatformAndNamesWhatThereIs) {
  Result<ManifestDocument> read =
      parse_manifest(concat(R"({"schemaVersion":2,"manifests":[)", entry("arm64"), ",", entry("s390x"), "]}"));
  ASSERT_TRUE(read) << read.error().message();
  const ManifestIndex& index = std::get<ManifestIndex>(*read);
  Result<Descriptor> found = choose_manifest(index, {"linux", "s390x", ""});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->platform->architecture, "s390x");
  Result<Descriptor> missing = choose_manifest(index, {"linux", "amd64", ""});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::NotFound);
  EXPECT_THAT(missing.error().hint(), HasSubstr("linux/arm64, linux/s390x"));
}

TEST(ParseImageConfig, ReadsHowTheImageIsRun) {
  Result<ImageConfig> config = parse_image_config(concat(
      R"({"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[")", kDigest,
      R"("]},"config":{"Entrypoint":["/bin/sh","-c"],"Cmd":null,"Env":["A=b=c","EMPTY="],"WorkingDir":"/w","User":"web:www"}})"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_THAT(config->entrypoint, ElementsAre("/bin/sh", "-c"));
  EXPECT_TRUE(config->cmd.empty());
  EXPECT_THAT(config->env, ElementsAre(Pair("A", "b=c"), Pair("EMPTY", "")));
  EXPECT_EQ(config->cwd, "/w");
  EXPECT_EQ(config->user, "web:www");
  EXPECT_THAT(config->diff_ids, ElementsAre(kDigest));
}

TEST(ParseImageConfig, RefusesWhatNoProgramCouldBeGiven) {
  EXPECT_FALSE(parse_image_config(R"({"config":{}})"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":["sha256:short"]}})"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":[]},"config":{"Env":["=x"]}})"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":[]},"config":{"Cmd":["a\u0000b"]}})"));
}

TEST(ParsePlatform, WantsTwoOrThreeWords) {
  EXPECT_EQ(to_text(*parse_platform("linux/arm/v7")), "linux/arm/v7");
  for (const char* text : {"linux", "linux/", "/arm64", "linux/a/b/c", "linux/arm 64"})
    EXPECT_FALSE(parse_platform(text)) << text;
}

}  // namespace
}  // namespace cove
